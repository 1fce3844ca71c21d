/* Indirect calls through a table and a byte-code interpreter's jump table. */
#include "harness/guest/user/work/work.h"

#include <stddef.h>

#define CODE_BYTES 256
#define STEPS      6500

typedef uint64_t binary(uint64_t a, uint64_t b);

__attribute__((noinline)) static uint64_t
op_add(uint64_t a, uint64_t b)
{
	return a + b;
}

__attribute__((noinline)) static uint64_t
op_sub(uint64_t a, uint64_t b)
{
	return a - b;
}

__attribute__((noinline)) static uint64_t
op_xor(uint64_t a, uint64_t b)
{
	return a ^ b;
}

__attribute__((noinline)) static uint64_t
op_rotate(uint64_t a, uint64_t b)
{
	unsigned n = b & 63;

	return n == 0 ? a : a << n | a >> (64 - n);
}

static binary *const operations[] = { op_add, op_sub, op_xor, op_rotate };

static uint8_t code[CODE_BYTES];

/* The switch is dense, so that it becomes a jump through a table. */
__attribute__((noinline)) static uint64_t
interpret(uint64_t accumulator, unsigned steps)
{
	uint64_t other = 0x5555, counter = 0;
	unsigned at = 0;

	while (steps-- > 0) {
		uint8_t op = code[at++ % CODE_BYTES];

		switch (op & 7) {
		case 0:
			accumulator += other;
			break;
		case 1:
			other ^= accumulator >> 3;
			break;
		case 2:
			accumulator = operations[op >> 3 & 3](
			    accumulator, other);
			break;
		case 3:
			counter++;
			break;
		case 4:
			at += op >> 5;
			break;
		case 5:
			accumulator ^= counter;
			break;
		case 6:
			other = operations[op >> 5 & 3](other, accumulator);
			break;
		case 7:
			accumulator = accumulator * 3 + 1;
			break;
		}
	}
	return work_fold(accumulator, other + counter);
}

uint64_t
work_branch(uint64_t rounds)
{
	uint64_t state = 0x89abcdef, sum = 0;

	while (rounds-- > 0) {
		for (size_t i = 0; i < CODE_BYTES; i++)
			code[i] = (uint8_t)(work_random(&state) >> 24);
		sum = interpret(sum, STEPS);
	}
	return sum;
}
