/* Random schedules, as trial.h describes them. */
#include <stdlib.h>

#include "harness/explore/trial/trial.h"

/*
 * Maximum distance of near deviations: NEAR_INSNS, or 2, 4 or 8 times as many
 * instructions.  The largest covers an interrupt handler including the kernel's
 * part.
 */
#define NEAR_INSNS  UINT64_C(256)
#define NEAR_SCALES 4
#define PMI_TRIES   8

static uint64_t
draw(uint64_t *state, uint64_t below)
{
	/* SplitMix64. */
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % below;
}

static int
compare_boundaries(const void *a, const void *b)
{
	const struct boundary *const *x = a, *const *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * A PMI at AT, of the trace or of a counter, or a switch of CPU or task instead;
 * only kinds that the user selected.
 */
static struct deviation
draw_deviation(const struct trial *trial, const struct boundary *at, bool pmi,
    uint64_t *state)
{
	unsigned cpus = runner_cpus(trial->runner);
	uint64_t other = draw(state, cpus);
	uint32_t kinds = trial->options.kinds;
	struct deviation deviation = { .cpu = at->cpu, .insns = at->insns };

	if (pmi && (at->flags & BOUNDARY_TRIGGER) &&
	    (kinds >> DEVIATION_PMI & 1)) {
		deviation.kind = DEVIATION_PMI;
	} else if (pmi && (at->flags & BOUNDARY_COUNTS) &&
	    (kinds >> DEVIATION_COUNTER & 1)) {
		deviation.kind = DEVIATION_COUNTER;
	} else if (cpus > 1 && (kinds >> DEVIATION_SWITCH & 1)) {
		deviation.kind = DEVIATION_SWITCH;
		deviation.param = other == at->cpu ? (other + 1) % cpus : other;
	} else if ((at->flags & BOUNDARY_IF) &&
	    (kinds >> DEVIATION_PREEMPT & 1)) {
		deviation.kind = DEVIATION_PREEMPT;
	} else {
		deviation.kind = (kinds >> DEVIATION_NMI & 1) ? DEVIATION_NMI
							      : DEVIATION_PMI;
	}
	return deviation;
}

static const struct boundary *
draw_boundary(const struct trial *trial, uint64_t *state)
{
	return &trial->list.at[draw(state, trial->list.count)];
}

/* Deviations at random boundaries, in order. */
static void
draw_spread(const struct trial *trial, unsigned changes, uint64_t *state,
    struct schedule *schedule)
{
	const struct boundary *at[SCHEDULE_MAX];
	uint64_t pmi;

	for (unsigned i = 0; i < changes; i++)
		at[i] = draw_boundary(trial, state);
	pmi = draw(state, changes);
	qsort(at, changes, sizeof(at[0]), compare_boundaries);
	for (unsigned i = 0; i < changes; i++)
		schedule->deviation[i] = draw_deviation(
		    trial, at[i], i == pmi, state);
}

/* A PMI, and deviations soon after it, in its handler. */
static void
draw_near(const struct trial *trial, unsigned changes, uint64_t *state,
    struct schedule *schedule)
{
	struct boundary near = *draw_boundary(trial, state);

	for (unsigned i = 0; i < PMI_TRIES &&
	     !(near.flags & (BOUNDARY_TRIGGER | BOUNDARY_COUNTS));
	     i++)
		near = *draw_boundary(trial, state);
	schedule->deviation[0] = draw_deviation(trial, &near, true, state);
	near.flags = 0;
	for (unsigned i = 1; i < changes; i++) {
		uint64_t scale = draw(state, NEAR_SCALES);

		near.insns += 1 + draw(state, NEAR_INSNS << scale);
		schedule->deviation[i] = draw_deviation(
		    trial, &near, false, state);
	}
}

static void
draw_schedule(const struct trial *trial, unsigned changes, uint64_t seed,
    struct schedule *schedule)
{
	uint64_t state = seed;

	schedule->count = changes;
	if (draw(&state, 2) != 0)
		draw_near(trial, changes, &state, schedule);
	else
		draw_spread(trial, changes, &state, schedule);
}

void
trial_random(struct trial *trial, const struct trial_share *share,
    unsigned changes, uint64_t count, struct stats *stats, uint32_t area)
{
	struct schedule schedule;
	struct outcome outcome;

	TZ_ASSERT(changes >= 2 && changes <= SCHEDULE_MAX);
	for (uint64_t i = share->worker;
	     i < count && trial->list.count != 0 && !trial_is_stopped(share);
	     i += share->workers) {
		struct rank rank = { area, (uint32_t)i + 1, 0 };

		/* Every second schedule has CHANGES - 1 deviations: bugs that need
		 * only 2 are common. */
		draw_schedule(trial, changes - (unsigned)(i & 1),
		    share->seed ^ (i + 1) * UINT64_C(0xd1342543de82ef95),
		    &schedule);
		trial_run(trial, &schedule, &outcome);
		trial_count_outcome(trial, rank, &schedule, &outcome, stats);
	}
}
