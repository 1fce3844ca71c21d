/*
 * What one worker of an exploration has counted and found, in memory that it shares
 * with the one that joins it: no pointers.  Joining depends on no order.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_TALLY_H
#define TOPAZ_HARNESS_EXPLORE_TALLY_H

#include "harness/explore/outcome.h"

#define TALLY_GROUPS_MAX 1024
#define TALLY_AREAS_MAX  1024

/*
 * The place of a schedule in the order of all: lower is simpler.  A finding is
 * shown by its lowest.
 */
struct rank {
	uint32_t area;   /* what was explored, in order */
	uint32_t first;  /* number of the first deviation */
	uint32_t second; /* of the second, or 0 */
};

struct tally_group {
	uint64_t cause;
	uint32_t kinds; /* one bit an enum act */
	struct rank rank;
	struct schedule schedule;
	struct check_violation violation;
	uint64_t failing; /* schedules */
};

/* Counts of one area: one scenario or sequence at one depth. */
struct tally_area {
	uint64_t done, merged, impossible, failing, unmodelled;
	uint64_t timed;   /* time decided: nothing to merge with */
	uint64_t decoded; /* and compared with what was executed */
	uint64_t detected, tolerated, silent, broken; /* of faults */
	uint64_t ended;     /* workers that did all of their share */
	uint64_t framework; /* another module's own: outcome.h */
};

struct tally {
	uint32_t group_count;
	bool overflow; /* more groups than there is room for */
	struct tally_group group[TALLY_GROUPS_MAX];
	struct tally_area area[TALLY_AREAS_MAX];
};

/* Adds the violations of OUTCOME that BASE lacks. */
void tally_add(struct tally *tally, struct rank rank,
    const struct schedule *schedule, const struct outcome *outcome,
    const struct outcome *base);
/* Counts a run with a fault as detected, tolerated, silent or broken (faults.h). */
void tally_count_fault(struct tally_area *area, const struct outcome *outcome,
    const struct outcome *base);
/* Adds all of FROM to TO. */
void tally_join(struct tally *to, const struct tally *from);
/* Without the groups whose cause needs fewer kinds of acts, or none. */
void tally_drop_larger(struct tally *tally);
/* Groups in order of rank. */
void tally_sort(struct tally *tally);

int rank_compare(const struct rank *a, const struct rank *b);

#endif
