/*
 * Recursion much deeper than the 64 calls whose returns can be compressed, and
 * returns that match no call.
 */
#include "harness/guest/user/work/work.h"

#define DEPTH 900

__attribute__((noinline)) static uint64_t
descend(uint64_t value, unsigned depth)
{
	uint64_t below;

	if (depth == 0)
		return value;
	below = descend(value * 5 + depth, depth - 1);
	return work_fold(below, value);
}

__attribute__((noinline)) static uint64_t
ackermann(uint64_t m, uint64_t n)
{
	if (m == 0)
		return n + 1;
	if (n == 0)
		return ackermann(m - 1, 1);
	return ackermann(m - 1, ackermann(m, n - 1));
}

/* A return to an address that was pushed, not saved by a call. */
__attribute__((noinline)) static uint64_t
return_unmatched(uint64_t value)
{
	__asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
			 "pushq %%rax\n\t"
			 "ret\n"
			 "1:\tincq %0"
			 : "+r"(value)
			 :
			 : "rax", "memory", "cc");
	return value;
}

uint64_t
work_deep(uint64_t rounds)
{
	uint64_t sum = 1;

	while (rounds-- > 0) {
		for (unsigned i = 0; i < 3; i++)
			sum = descend(sum, DEPTH);
		sum = work_fold(sum, ackermann(2, 27));
		sum = return_unmatched(sum);
	}
	return sum;
}
