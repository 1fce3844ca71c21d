/*
 * The exploration of a booted kernel: from the state at the mark, one deviation before
 * every instruction that the default schedule executes in the explored functions and in
 * handlers of NMIs.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_EXPLORE_H
#define TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_EXPLORE_H

#include "harness/explore/linux/linux_run.h"
#include "harness/explore/trial/boundary.h"
#include "harness/explore/trial/stats.h"

struct linux_explore_options {
	uint32_t kinds;  /* one bit for each deviation_kind */
	uint64_t budget; /* schedules; 0: by .insns */
	/* What all schedules together may execute, approximately; UINT64_MAX: anything. */
	uint64_t insns;
	uint64_t seed;
	unsigned jobs;
	/* Reports progress; NULL: none. */
	void (*progress)(void *arg, const char *what, uint64_t done,
	    uint64_t total, uint64_t findings);
	void *progress_arg;
};

/* The schedules of one kind of deviation: an area of the statistics. */
struct linux_area {
	enum deviation_kind kind;
	uint64_t total, kept;
	unsigned visits; /* of each instruction: how many of them were all kept */
};

struct linux_explore {
	struct linux_run *run;
	struct linux_explore_options options;
	struct boundary_list list;
	struct linux_candidate *candidate; /* kept, by place */
	size_t candidates;
	struct linux_area area[DEVIATION_COUNT];
	unsigned areas;
	struct stats *stats;
	bool interrupted;
};

/* -TZ_EIO, -TZ_EBUG: as of workers_run().  EXPLORE must be closed, also after an error. */
int linux_explore(struct linux_explore *explore, struct linux_run *run,
    const struct linux_explore_options *options, struct tz_error *err);
void linux_explore_close(struct linux_explore *explore);

/* The boundary of DEVIATION, or NULL. */
const struct boundary *linux_explore_boundary(
    const struct linux_explore *explore, const struct deviation *deviation);

#endif
