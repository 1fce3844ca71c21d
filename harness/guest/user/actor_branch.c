/* Control flow that makes a trace: each turn has a TIP and a TNT bit. */
#include "harness/guest/user/actor.h"

typedef uint64_t turn(uint64_t x);

__attribute__((noinline)) static uint64_t
turn_add(uint64_t x)
{
	return x + 0x9e37;
}

__attribute__((noinline)) static uint64_t
turn_xor(uint64_t x)
{
	return x ^ x << 7;
}

__attribute__((noinline)) static uint64_t
turn_shift(uint64_t x)
{
	return x ^ x >> 9;
}

__attribute__((noinline)) static uint64_t
turn_multiply(uint64_t x)
{
	return x * 5 + 1;
}

static turn *const volatile turns[] = { turn_add, turn_xor, turn_shift,
	turn_multiply };

void
actor_branch(uint64_t n)
{
	volatile uint64_t odd = 0;
	uint64_t x = n;

	for (uint64_t i = 0; i < n; i++) {
		x = turns[i & 3](x);
		if ((x & 1) != 0)
			odd = x;
	}
	(void)odd;
}
