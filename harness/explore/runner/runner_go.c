/*
 * Runs to a stop, to the run's end or to its limit, and detects a run that does not end
 * because it waits for an event that cannot occur.
 */
#include "harness/explore/runner/runner_internal.h"
#include "harness/progress.h"

#define RECUR_INSNS UINT64_C(2000000) /* maximum, to detect recurring turns */
/* without an operation, before a check for waiting */
#define SLICE_INSNS UINT64_C(1000000)

static uint64_t
insns_left(const struct runner *runner)
{
	uint64_t total = runner->limit;

	for (unsigned i = 0; i < runner->cpus; i++)
		total += runner->insns[i];
	return total;
}

static uint64_t
hash_state(void *arg)
{
	return runner_hash(arg);
}

/* True if the state recurs from one turn of a CPU to another. */
static bool
recurs_by_turns(struct runner *runner)
{
	struct progress_states states = { .count = 0 };
	struct machine_result result = { .end = MACHINE_STOP };

	runner->turns = true;
	while (states.count < PROGRESS_STATES_MAX &&
	    result.end == MACHINE_STOP &&
	    !progress_meet(&states, runner_hash(runner)))
		machine_run(
		    runner->machine, insns_left(runner) + RECUR_INSNS, &result);
	runner->turns = false;
	return states.count < PROGRESS_STATES_MAX && result.end == MACHINE_STOP;
}

/* The machine stopped, at the run's end or at the limit. */
static void
end_run(struct runner *runner, bool waits)
{
	runner->now.over = true;
	if (runner->result.end == MACHINE_LIMIT)
		machine_sync_output(runner->machine);
	runner->ending = true;
	check_end(runner->check, &runner->result, waits);
	runner->ending = false;
}

static uint64_t
insns_done(const struct runner *runner)
{
	struct runner_counts counts;

	runner_counts(runner, &counts);
	return insns_left(runner) - runner->limit + counts.insns_all;
}

/* Runs ahead to test whether the state recurs, then restores the current state. */
static bool
will_recur(struct runner *runner)
{
	struct machine_result result = runner->result;
	struct runner_mark *mark = runner_save(runner);
	bool waits;

	TZ_ASSERT(mark != NULL);
	waits = progress_recurs(
	    runner->machine, &runner->result, hash_state, runner);
	if (!waits) {
		/* The end of the run, if it was reached, is handled later. */
		runner_restore(runner, mark);
		waits = recurs_by_turns(runner);
	}
	waits = waits && !runner->cut;
	runner_restore(runner, mark);
	runner_mark_free(runner, mark);
	runner->result = result;
	return waits;
}

/*
 * Runs to a stop, the end or the limit; true: the state recurs.  Tests for that when no
 * operation has begun or ended for SLICE_INSNS.
 */
static bool
run_slices(struct runner *runner)
{
	uint64_t limit = insns_left(runner), end;
	bool waits = false;

	do {
		uint64_t calls = runner->now.calls;

		end = insns_done(runner) + SLICE_INSNS;
		if (end > limit)
			end = limit;
		machine_run(runner->machine, end, &runner->result);
		if (runner->result.end != MACHINE_LIMIT)
			return false;
		waits = (end == limit || runner->now.calls == calls) &&
		    will_recur(runner);
	} while (!waits && !runner->cut && end < limit);
	return waits;
}

enum runner_end
runner_go(struct runner *runner, unsigned cpu, uint64_t insns)
{
	bool waits;

	TZ_ASSERT(!runner->now.over);
	runner->at_point = false;
	runner->cut = false;
	machine_set_stop(runner->machine, cpu,
	    insns == UINT64_MAX ? UINT64_MAX : insns + runner->insns[cpu]);
	waits = run_slices(runner);
	machine_set_stop(runner->machine, cpu, UINT64_MAX);
	if (runner->cut) {
		runner->now.over = true;
		return RUNNER_OVER;
	}
	if (runner->result.end == MACHINE_STOP)
		return runner->at_point ? RUNNER_POINT : RUNNER_STOP;
	end_run(runner, waits);
	return RUNNER_OVER;
}
