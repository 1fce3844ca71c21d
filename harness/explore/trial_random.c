/* Random schedules: what is drawn, trial.h says. */
#include <stdlib.h>

#include "harness/explore/trial.h"

#define NEAR_INSNS 600 /* about an interrupt handler's length */

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

/* A PMI at AT, or else a change of who runs; of the kinds that are wanted. */
static struct deviation
draw_act(const struct trial *trial, const struct boundary *at, bool pmi,
    uint64_t *state)
{
	unsigned cpus = runner_cpus(trial->runner);
	uint64_t other = draw(state, cpus);
	uint32_t kinds = trial->options.kinds;
	struct deviation deviation = { .cpu = at->cpu, .insns = at->insns };

	if (pmi && (at->flags & BOUNDARY_TRIGGER)) {
		deviation.act = ACT_PMI;
	} else if (cpus > 1 && (kinds >> ACT_SWITCH & 1)) {
		deviation.act = ACT_SWITCH;
		deviation.param = other == at->cpu ? (other + 1) % cpus : other;
	} else if ((at->flags & BOUNDARY_IF) && (kinds >> ACT_PREEMPT & 1)) {
		deviation.act = ACT_PREEMPT;
	} else {
		deviation.act = (kinds >> ACT_NMI & 1) ? ACT_NMI : ACT_PMI;
	}
	return deviation;
}

/*
 * Random boundaries in their order; see trial.h.  Where the points after the first
 * are near it, they are in the handler of a PMI there.
 */
static void
draw_schedule(const struct trial *trial, unsigned changes, uint64_t seed,
    struct schedule *schedule)
{
	const struct boundary *at[SCHEDULE_MAX];
	struct boundary near;
	uint64_t state = seed;
	bool is_near = draw(&state, 2) != 0;
	uint64_t pmi;

	for (unsigned i = 0; i < changes; i++)
		at[i] = &trial->list.at[draw(&state, trial->list.count)];
	pmi = is_near ? 0 : draw(&state, changes);
	qsort(at, changes, sizeof(at[0]), compare_boundaries);
	near = *at[0];
	schedule->count = 0;
	for (unsigned i = 0; i < changes; i++) {
		if (is_near && i != 0) {
			near.insns += 1 + draw(&state, NEAR_INSNS);
			near.flags = 0;
		}
		schedule->deviation[schedule->count++] = draw_act(
		    trial, is_near ? &near : at[i], i == pmi, &state);
	}
}

void
trial_random(struct trial *trial, const struct trial_share *share,
    unsigned changes, uint64_t count, struct tally *tally, uint32_t area)
{
	struct schedule schedule;
	struct outcome outcome;

	TZ_ASSERT(changes >= 2 && changes <= SCHEDULE_MAX);
	for (uint64_t i = share->worker;
	     i < count && trial->list.count != 0 && !trial_is_stopped(share);
	     i += share->workers) {
		struct rank rank = { area, (uint32_t)i + 1, 0 };

		/* With 2 changes every other time: those bugs are common. */
		draw_schedule(trial, changes - (unsigned)(i & 1),
		    share->seed ^ (i + 1) * UINT64_C(0xd1342543de82ef95),
		    &schedule);
		trial_run(trial, &schedule, &outcome);
		trial_count_outcome(trial, rank, &schedule, &outcome, tally);
	}
}
