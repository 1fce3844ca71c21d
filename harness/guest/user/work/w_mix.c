/*
 * All workloads in turn, round by round, so that any length contains some of
 * each. Code with indirect branches has the largest share, because it generates
 * the most trace.
 */
#include "harness/guest/user/work/work.h"

#include <stddef.h>

typedef uint64_t work(uint64_t rounds);

struct share {
	work *work;
	uint64_t rounds; /* of one turn */
};

static const struct share shares[] = {
	{ work_branch, 5 },
	{ work_sort, 1 },
	{ work_deep, 1 },
	{ work_fault, 1 },
	{ work_edge, 1 },
	{ work_string, 1 },
	{ work_migrate, 1 },
	{ work_spin, 1 },
};

#define SHARES (sizeof(shares) / sizeof(shares[0]))

static uint64_t
min_rounds(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t
work_mix(uint64_t rounds)
{
	uint64_t sum = 0, done;

	for (size_t i = 0; rounds > 0; i = (i + 1) % SHARES) {
		done = min_rounds(shares[i].rounds, rounds);
		sum = work_fold(sum, shares[i].work(done));
		rounds -= done;
	}
	return sum;
}
