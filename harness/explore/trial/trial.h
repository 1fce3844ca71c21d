/*
 * One sequence of operations under every placement of one or two deviations.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_TRIAL_TRIAL_H
#define TOPAZ_HARNESS_EXPLORE_TRIAL_TRIAL_H

#include "harness/explore/trial/boundary.h"
#include "harness/explore/trial/stats.h"

struct visited;

/* One of this many schedules is decoded, selected by its rank. */
#define TRIAL_DECODE_EVERY 512

struct trial_options {
	uint32_t kinds;  /* of the first deviation, one bit a deviation_kind */
	uint32_t kinds2; /* of the second */
	bool merge, reduce;
	bool decode;   /* decodes one in TRIAL_DECODE_EVERY schedules */
	bool must_run; /* a run that executes no driver code is not judged */
	bool bare;     /* no deviation will be placed: .list stays empty */
	uint64_t insns_max; /* limit of a run; 0: the default */
	/* Places deviations where calls to the kernel return, while steps [FIRST,
	 * LAST] run. */
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
	struct visited *visited; /* states of earlier runs and their outcomes */
	/* up to this boundary states are in .visited */
	uint64_t known_insns;
	unsigned known_cpu;
	/* states after which each deviation was tried */
	struct visited *explored;
	/* retired in trial_from() since the last trial_count_outcome() */
	uint64_t insns;
};

/*
 * Runs SEQUENCE in the default schedule.  -TZ_EUSAGE, -TZ_EIO as of runner_begin().
 * TRIAL must be closed after success only.
 */
int trial_open(struct trial *trial, struct runner *runner,
    const struct sequence *sequence, const struct trial_options *options,
    struct tz_error *err);
void trial_close(struct trial *trial);

/* The number of schedules of one deviation. */
uint64_t trial_count(const struct trial *trial);

/* Which schedules of one failing call of the kernel are selected: there are few. */
enum trial_calls {
	TRIAL_CALLS_DRAWN, /* as all others */
	TRIAL_CALLS_ALL,
	TRIAL_CALLS_NONE,
};

/*
 * The share of a worker: every WORKERS-th part of the boundaries, from its own number
 * on.  Of all schedules, those that KEEP of 2^32 selects with SEED, without those that
 * FROM of 2^32 would select.  For pairs, KEEP of 2^32 first deviations are selected,
 * and about EACH_MAX second ones after each: half of them among the next boundaries (as
 * many as a handler has), half among all later ones, both drawn evenly.
 */
struct trial_share {
	unsigned worker, workers;
	uint64_t from, keep, seed;
	enum trial_calls calls;    /* for trial_one() */
	uint64_t each_max;         /* for trial_two(); 0: all */
	const volatile bool *stop; /* a request to end early, or NULL */
};
#define TRIAL_KEEP_ALL (UINT64_C(1) << 32)

/*
 * Runs all schedules with one deviation, or with two, and counts them in AREA of
 * STATS.
 */
void trial_one(struct trial *trial, const struct trial_share *share,
    struct stats *stats, uint32_t area);
void trial_two(struct trial *trial, const struct trial_share *share,
    struct stats *stats, uint32_t area);
/*
 * COUNT random schedules, alternately with CHANGES deviations (2 to SCHEDULE_MAX) and
 * with one less.  All random choices are uniform.
 *
 * Half of the schedules of either length are spread: each deviation is at a random
 * boundary of the default schedule, and a random one of them is a PMI (or, where there
 * is no trace, a counter's: pmc).  The other half
 * are near: the first deviation is a PMI at a random boundary where one is possible;
 * each further one is 1 to 256, 512, 1024 or 2048 instructions after the one before, on
 * the same CPU.
 *
 * Deviations other than the PMI switch to a random CPU, or to the next one if that is
 * the current one.  On one CPU, spread ones preempt where interrupts are enabled; all
 * others are an NMI.  A PMI that is not possible, or not among .kinds, is replaced in
 * the same way.
 */
void trial_random(struct trial *trial, const struct trial_share *share,
    unsigned changes, uint64_t count, struct stats *stats, uint32_t area);

/*
 * Moves MARK forward, in its run, to BOUNDARY, and frees the previous mark unless it is
 * the run's start.  False: BOUNDARY is not reached.  A mark is never later than the
 * boundaries that follow it in the list.
 */
bool trial_move(struct trial *trial, const struct boundary *boundary,
    struct runner_mark **mark);
/*
 * Runs from MARK with DEVIATION, to the end or to a merge point.  IN_BASE: MARK is of
 * the default schedule.
 */
void trial_from(struct trial *trial, const struct runner_mark *mark,
    const struct deviation *deviation, bool in_base, struct outcome *outcome);

/* Runs SCHEDULE from the start; the runner stays at the end of that run. */
void trial_run(struct trial *trial, const struct schedule *schedule,
    struct outcome *outcome);

/*
 * As trial_run(), with OBSERVER (or NULL) attached; decodes the run's trace and adds
 * decoding differences to OUTCOME (../runner/decode_check.h).  True if the trace was
 * compared.
 */
bool trial_run_decoded(struct trial *trial, const struct schedule *schedule,
    const struct runner_observer *observer, enum machine_stepping stepping,
    struct outcome *outcome);

/*
 * Counts OUTCOME of SCHEDULE, with RANK, in STATS, with the causes that the default
 * schedule does not have.
 */
void trial_count_outcome(struct trial *trial, struct rank rank,
    const struct schedule *schedule, const struct outcome *outcome,
    struct stats *stats);
/* True if the caller of SHARE requests an end. */
bool trial_is_stopped(const struct trial_share *share);

#endif
