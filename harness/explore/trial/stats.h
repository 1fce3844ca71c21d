/*
 * The counts and groups of one worker of an exploration, without pointers, in memory
 * that it shares with the process that joins them.  The result of joining does not
 * depend on the order.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_TRIAL_STATS_H
#define TOPAZ_HARNESS_EXPLORE_TRIAL_STATS_H

#include "harness/explore/runner/outcome.h"

#define STATS_GROUPS_MAX 2048
#define STATS_AREAS_MAX  1024

/*
 * The rank of a schedule among all schedules: lower is simpler.  A group is represented
 * by its schedule of lowest rank.
 */
struct rank {
	uint32_t area;   /* index of the area, in order of exploration */
	uint32_t first;  /* number of the first deviation */
	uint32_t second; /* of the second, or 0 */
};

/*
 * Violations that are treated as one while exploring: same row and cause, and the same
 * kinds of deviations.  ../describe/identity.h later decides which groups are one
 * finding.
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
	uint64_t insns;   /* retired in schedules that began at a mark */
	uint64_t timed;   /* not merged, because the state depends on time */
	uint64_t decoded; /* decoded and compared with the execution log */
	uint64_t detected, tolerated, silent, broken; /* of faults */
	uint64_t ended; /* parts/campaign_part.h: shares that are completed */
	uint64_t framework; /* crashes of another module: ../runner/outcome.h */
	/* 1: the default schedule fails, or is not judged */
	uint64_t base_fails, base_unjudged;
};

struct stats {
	uint32_t group_count;
	bool overflow; /* some groups did not fit */
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
 * Counts the run of OUTCOME in AREA: whether it fails beyond BASE (NULL: it is the
 * default schedule itself), whether it was judged, and which rows were not.
 */
void stats_count(struct stats *stats, uint32_t area,
    const struct outcome *outcome, const struct outcome *base);
/* Counts a run with a fault as detected, tolerated, silent or broken (faults.h). */
void stats_count_fault(struct stats_area *area, const struct outcome *outcome,
    const struct outcome *base);
/* Adds all of FROM to TO. */
void stats_join(struct stats *to, const struct stats *from);
/* True if one of GROUP's deviations is a fault. */
bool stats_needs_fault(const struct stats_group *group);
/* Sorts groups by rank; those that need a fault last. */
void stats_sort(struct stats *stats);

#endif
