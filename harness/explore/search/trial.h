/*
 * One sequence of operations under every placement of one deviation, or of two.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_TRIAL_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_TRIAL_H

#include "harness/explore/search/boundary.h"
#include "harness/explore/search/stats.h"

struct visited;

struct trial_options {
	uint32_t kinds;  /* of the first deviation, one bit a deviation_kind */
	uint32_t kinds2; /* of the second */
	bool merge, reduce;
	bool decode;   /* some of one deviation: ../runner/decode_check.h */
	bool must_run; /* not judged unless the driver executes something */
	bool bare;     /* no deviation will be placed: .list stays empty */
	uint64_t insns_max; /* of a run; 0: the default */
	/* Placed where calls to the kernel return, while steps [FIRST, LAST] run. */
	bool calls;
	unsigned first, last;
};

struct trial {
	struct runner *runner;
	struct sequence sequence;
	struct trial_options options;
	struct outcome base;         /* of the default schedule */
	struct runner_counts counts; /* of the default schedule */
	struct boundary_list list;   /* of the default schedule */
	struct runner_mark *begin;
	struct visited *visited; /* states, and what becomes of them */
	uint64_t known_insns;    /* the boundary whose state is in it */
	unsigned known_cpu;
	struct visited *explored; /* those after which each deviation is tried */
};

/*
 * Runs SEQUENCE in the default schedule.  -TZ_EUSAGE, -TZ_EIO as of runner_begin().
 * PLACE is to be closed after success only.
 */
int trial_open(struct trial *trial, struct runner *runner,
    const struct sequence *sequence, const struct trial_options *options,
    struct tz_error *err);
void trial_close(struct trial *trial);

/* How many schedules of one deviation there are. */
uint64_t trial_count(const struct trial *trial);

/*
 * Which of them a worker does: every WORKERS-th part of the boundaries from its own
 * number on; and of all schedules those that KEEP of 2^32 keep, drawn by SEED, without
 * those that FROM of 2^32 would keep.  Of pairs KEEP of 2^32 first deviations are
 * kept, and after each of them about EACH_MAX second ones: half of them at the places that
 * come next, as many as a handler has, half at those that follow, drawn evenly of either.
 */
struct trial_share {
	unsigned worker, workers;
	uint64_t from, keep, seed;
	uint64_t each_max;         /* trial_two(); 0: all */
	const volatile bool *stop; /* end early, or NULL */
};
#define TRIAL_KEEP_ALL (UINT64_C(1) << 32)

/* All with one deviation, or two, into AREA of TALLY. */
void trial_one(struct trial *trial, const struct trial_share *share,
    struct stats *stats, uint32_t area);
void trial_two(struct trial *trial, const struct trial_share *share,
    struct stats *stats, uint32_t area);
/*
 * COUNT random schedules.  Every other one has CHANGES deviations (2 to
 * SCHEDULE_MAX), the ones between have one less.  Half of either sort are spread: each
 * deviation at a boundary of the default schedule, drawn evenly, one of them, drawn evenly, a
 * PMI.  The other half are near: the first is a PMI at a boundary, drawn evenly, of those
 * where one is possible; each of the rest is 1 to 256, 512, 1024 or 2048 instructions,
 * drawn evenly, after the one before, on the same CPU.  All but the PMI give the turn to
 * a CPU drawn evenly, the next one where that is the same; on one CPU the spread ones
 * preempt where interrupts are let in; what is left, and near ones, are an NMI.  A PMI
 * that is not possible, or not among .kinds, becomes one of these.
 */
void trial_random(struct trial *trial, const struct trial_share *share,
    unsigned changes, uint64_t count, struct stats *stats, uint32_t area);

/*
 * Moves MARK, of the run that it is in, along to BOUNDARY, and frees what was there
 * before, unless it is the begin; false: it is not reached.  A mark of a boundary
 * that follows lies in the past of no later one.
 */
bool trial_move(struct trial *trial, const struct boundary *boundary,
    struct runner_mark **mark);
/*
 * Runs from MARK, IN_BASE: of the base run, on with DEVIATION, up to the end or to
 * where runs merge.
 */
void trial_from(struct trial *trial, const struct runner_mark *mark,
    const struct deviation *deviation, bool in_base, struct outcome *outcome);

/* Runs SCHEDULE from the begin; the runner then stands at its end. */
void trial_run(struct trial *trial, const struct schedule *schedule,
    struct outcome *outcome);

/*
 * Counts OUTCOME of SCHEDULE, which has RANK, in TALLY, and those causes that the base
 * order has not.
 */
void trial_count_outcome(struct trial *trial, struct rank rank,
    const struct schedule *schedule, const struct outcome *outcome,
    struct stats *stats);
/* Whether who gave SHARE wants an end. */
bool trial_is_stopped(const struct trial_share *share);

#endif
