/*
 * Control flow that generates much trace from few instructions: each turn is an
 * indirect jump and two conditional branches, a TIP packet and TNT bits.
 */
#include "harness/guest/user/actor.h"

typedef void turn(uint64_t n);

static turn *const volatile turns[4];

/* The call is last, so that the compiler makes it a jump. */
static inline __attribute__((always_inline)) void
next_turn(uint64_t n, uint64_t bit, unsigned next)
{
	if ((n & bit) != 0)
		__asm__ volatile("nop");
	if (n != 0)
		turns[next](n - 1);
}

static void
turn_first(uint64_t n)
{
	next_turn(n, 4, 1);
}

static void
turn_second(uint64_t n)
{
	next_turn(n, 8, 2);
}

static void
turn_third(uint64_t n)
{
	next_turn(n, 16, 3);
}

static void
turn_fourth(uint64_t n)
{
	next_turn(n, 64, 0);
}

static turn *const volatile turns[4] = { turn_first, turn_second, turn_third,
	turn_fourth };

void
actor_branch(uint64_t n)
{
	turns[n & 3](n);
}
