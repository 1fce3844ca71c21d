/*
 * What one worker of an exploration has counted and found, in memory that it shares
 * with the process that joins: no pointers.  Joining depends on no order.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_STATS_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_STATS_H

#include "harness/explore/runner/outcome.h"

#define STATS_GROUPS_MAX 2048
#define STATS_AREAS_MAX  1024

/*
 * The place of a schedule in the order of all: lower is simpler.  A group is
 * represented by its lowest.
 */
struct rank {
	uint32_t area;   /* what was explored, in order */
	uint32_t first;  /* number of the first deviation */
	uint32_t second; /* of the second, or 0 */
};

/*
 * Violations that are taken for the same while exploring: of one row and cause, with
 * the same kinds of deviations.  ../describe/identity.h says later which groups are one finding.
 */
struct stats_group {
	uint64_t cause, own; /* as in struct outcome_violation */
	uint32_t kinds;      /* one bit a deviation_kind */
	struct rank rank;
	struct schedule schedule;
	struct check_violation violation;
	uint64_t failing; /* schedules */
};

/* Counts of one area: one scenario or sequence at one depth. */
struct stats_area {
	uint64_t done, merged, impossible;
	uint64_t failing; /* with a violation that the default schedule does not
			     have */
	uint64_t unjudged;
	uint64_t timed;   /* time decided: nothing to merge with */
	uint64_t decoded; /* and compared with what was executed */
	uint64_t detected, tolerated, silent, broken; /* of faults */
	uint64_t ended;     /* workers that did all of their share */
	uint64_t framework; /* another module's own: ../runner/outcome.h */
	uint64_t base_fails, base_unjudged; /* 1: the default schedule */
};

struct stats {
	uint32_t group_count;
	bool overflow; /* more groups than there is room for */
	struct stats_group group[STATS_GROUPS_MAX];
	struct stats_area area[STATS_AREAS_MAX];
	/* Schedules in which a row was not judged, by reason. */
	uint64_t unjudged[REASON_COUNT][CHECK_COUNT];
};

/* Adds the violations of OUTCOME that BASE does not have; BASE may be NULL. */
void stats_add(struct stats *stats, struct rank rank,
    const struct schedule *schedule, const struct outcome *outcome,
    const struct outcome *base);
/*
 * Counts the run of OUTCOME, done in AREA: whether it fails beyond BASE (NULL: it is
 * the default schedule itself), whether it was judged, and which rows were not.
 */
void stats_count(struct stats *stats, uint32_t area,
    const struct outcome *outcome, const struct outcome *base);
/* Counts a run with a fault as detected, tolerated, silent or broken (faults.h). */
void stats_count_fault(struct stats_area *area, const struct outcome *outcome,
    const struct outcome *base);
/* Adds all of FROM to TO. */
void stats_join(struct stats *to, const struct stats *from);
/* Is one of GROUP's deviations a fault? */
bool stats_needs_fault(const struct stats_group *group);
/* Groups in order of rank; those that need a fault last. */
void stats_sort(struct stats *stats);

int rank_compare(const struct rank *a, const struct rank *b);

#endif
