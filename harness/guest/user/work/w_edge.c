/*
 * Branches with one target either way, or that count: Jcc to the next
 * instruction, LOOP*, JRCXZ, calls to the next instruction, far conditions.
 */
#include "harness/guest/user/work/work.h"

#define PASSES 630

/* Both outcomes of each Jcc lead to the next instruction. */
static uint64_t
jcc_to_next(uint64_t value)
{
	__asm__ volatile("testb $1, %b0\n\t"
			 "jz 1f\n"
			 "1:\ttestb $2, %b0\n\t"
			 "jnz 2f\n"
			 "2:\tcmpq $100, %0\n\t"
			 "jl 3f\n"
			 "3:\tjge 4f\n"
			 "4:\trorq $7, %0\n\t"
			 "jc 5f\n"
			 "5:\tincq %0"
			 : "+r"(value)
			 :
			 : "cc");
	return value;
}

static uint64_t
loops(uint64_t value)
{
	uint64_t count = (value & 31) + 1;

	__asm__ volatile("1:\taddq %1, %0\n\t"
			 "loop 1b\n\t"
			 "movl $40, %%ecx\n"
			 "2:\trorq $1, %0\n\t"
			 "testb $15, %b0\n\t"
			 "loopne 2b\n\t"
			 "movl $9, %%ecx\n"
			 "3:\trorq $1, %0\n\t"
			 "testb $1, %b0\n\t"
			 "loope 3b"
			 : "+a"(value), "+c"(count)
			 :
			 : "cc");
	return value + count;
}

static uint64_t
jrcxz(uint64_t value)
{
	uint64_t count = value & 3;

	__asm__ volatile("jrcxz 1f\n\t"
			 "addq %1, %0\n"
			 "1:\tjecxz 2f\n\t"
			 "leaq 3(%0), %0\n"
			 "2:\tjrcxz 3f\n"
			 "3:\tincq %0"
			 : "+r"(value), "+c"(count)
			 :
			 : "cc");
	return value;
}

/* PT does not treat a call to the next instruction as a call, and no RET uses
 * its return address. */
static uint64_t
call_next(uint64_t value)
{
	uint64_t at;

	__asm__ volatile("call 1f\n"
			 "1:\tpopq %0\n\t"
			 "leaq 1b(%%rip), %%rdx\n\t"
			 "subq %%rdx, %0"
			 : "=&r"(at)
			 :
			 : "rdx", "memory", "cc");
	return value + at;
}

uint64_t
work_edge(uint64_t rounds)
{
	uint64_t sum = 0xfeed;

	while (rounds-- > 0)
		for (unsigned i = 0; i < PASSES; i++) {
			sum = jcc_to_next(sum);
			sum = work_fold(sum, loops(sum));
			sum = jrcxz(sum);
			sum = call_next(sum);
			sum = work_fold(sum, i);
		}
	return sum;
}
