#include "harness/explore/runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "harness/explore/runner/runner_internal.h"
#include "harness/host/stop.h"
#include "harness/progress.h"

#define RECUR_INSNS UINT64_C(2000000) /* maximum, to detect recurring turns */
/* without an operation, before a check for waiting */
#define SLICE_INSNS UINT64_C(1000000)

struct runner_mark {
	struct machine_snapshot *machine;
	struct runner_progress now;
	struct runner_operations operations;
	char check[]; /* check_size() bytes */
};

static void
on_event(void *arg, const struct event *event)
{
	struct runner *runner = arg;
	enum runner_phase phase = runner->control.phase;
	const struct runner_settings *settings = &runner->settings;
	struct event relative = *event;

	if (event->kind == EVENT_SCRIPT && phase == RUNNER_BOOTS) {
		runner->control.script_pa = event->a;
		runner->control.script_bytes = event->b;
		machine_pause(runner->machine);
	}
	if (phase == RUNNER_PROBES) {
		if (event->kind == EVENT_SWITCH)
			machine_pause(runner->machine);
		return;
	}
	check_event(runner->check, event);
	if (phase == RUNNER_BOOTS)
		return;
	runner->now.events++;
	runner_operations_note(runner, event);
	if (settings->points &&
	    (event->kind == EVENT_IRET || event->kind == EVENT_CALL_END)) {
		if (runner->control.pause != RUNNER_CUT)
			runner->control.pause = RUNNER_AT_POINT;
		machine_pause(runner->machine);
	}
	if (settings->observer.event != NULL) {
		relative.insns -= runner->start.insns[event->cpu];
		relative.cycles -= runner->start.cycles;
		settings->observer.event(settings->observer.arg, &relative);
	}
}

static void
on_step(void *arg, const struct machine_step *step)
{
	struct runner *runner = arg;
	const struct runner_observer *observer = &runner->settings.observer;
	struct machine_step relative = *step;

	runner->now.ran_driver |= runner_in_driver(runner, step->rip);
	if (observer->step == NULL || runner->control.phase == RUNNER_BOOTS)
		return;
	relative.insns -= runner->start.insns[step->cpu];
	observer->step(observer->arg, &relative);
}

static void
on_access(void *arg, const struct audit_access *access)
{
	const struct runner *runner = arg;

	check_access(runner->check, access);
}

static void
on_call(void *arg, const struct audit_call *call)
{
	const struct runner *runner = arg;

	check_call(runner->check, call);
}

static void
on_console(void *arg, char c)
{
	struct runner *runner = arg;

	if (runner->build_cache->config.verbose)
		fputc(c, stderr);
	if (runner->now.console_bytes + 1 < CONSOLE_BYTES)
		runner->console[runner->now.console_bytes++] = c;
}

static bool
on_point(void *arg, unsigned cpu, uint64_t id, uint64_t caller)
{
	struct runner *runner = arg;

	(void)cpu;
	(void)id;
	(void)caller;
	runner->now.points += runner->control.phase != RUNNER_BOOTS;
	return false;
}

static bool
on_look(void *arg)
{
	struct runner *runner = arg;

	if (!runner->build_cache->cuts || !stop_requested())
		return false;
	if (stop_is_forked())
		_exit(0);
	runner->control.pause = RUNNER_CUT;
	return true;
}

struct machine_observer
runner_observer(struct runner *runner)
{
	return (struct machine_observer){
		.arg = runner,
		.event = on_event,
		.console = on_console,
		.step = on_step,
		.access = on_access,
		.call = on_call,
		.point = on_point,
		.stop = on_look,
	};
}

int
runner_begin(struct runner *runner, const struct sequence *sequence,
    struct tz_error *err)
{
	struct script *script = calloc(1, sizeof(*script));
	int error;

	if (script == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = sequence_script(
	    runner->build_cache->manifest, sequence, runner->cpus, script, err);
	if (error == 0) {
		runner_restore(runner, runner->start.mark);
		memcpy(machine_ram(runner->machine) + runner->control.script_pa,
		    script, sizeof(*script));
		runner->sequence = *sequence;
		check_begin(runner->check);
		runner->control.phase = RUNNER_RUNS;
	}
	free(script);
	return error;
}

static uint64_t
insns_left(const struct runner *runner)
{
	uint64_t total = runner->settings.insns_max;

	for (unsigned i = 0; i < runner->cpus; i++)
		total += runner->start.insns[i];
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

	runner->control.phase = RUNNER_PROBES;
	while (states.count < PROGRESS_STATES_MAX &&
	    result.end == MACHINE_STOP &&
	    !progress_meet(&states, runner_hash(runner)))
		machine_run(
		    runner->machine, insns_left(runner) + RECUR_INSNS, &result);
	runner->control.phase = RUNNER_RUNS;
	return states.count < PROGRESS_STATES_MAX && result.end == MACHINE_STOP;
}

/* The machine stopped, at the run's end or at the limit. */
static void
end_run(struct runner *runner, bool waits)
{
	runner->now.over = true;
	if (runner->control.result.end == MACHINE_LIMIT)
		machine_sync_output(runner->machine);
	runner->control.phase = RUNNER_ENDS;
	check_end(runner->check, &runner->control.result, waits);
	runner->control.phase = RUNNER_RUNS;
}

static uint64_t
insns_done(const struct runner *runner)
{
	struct runner_counts counts;

	runner_counts(runner, &counts);
	return insns_left(runner) - runner->settings.insns_max +
	    counts.insns_all;
}

/* Runs ahead to test whether the state recurs, then restores the current state. */
static bool
will_recur(struct runner *runner)
{
	struct machine_result result = runner->control.result;
	struct runner_mark *mark = runner_save(runner);
	bool waits;

	TZ_ASSERT(mark != NULL);
	waits = progress_recurs(
	    runner->machine, &runner->control.result, hash_state, runner);
	if (!waits) {
		/* The end of the run, if it was reached, is handled later. */
		runner_restore(runner, mark);
		waits = recurs_by_turns(runner);
	}
	waits = waits && !runner_is_cut(runner);
	runner_restore(runner, mark);
	runner_mark_free(runner, mark);
	runner->control.result = result;
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
		uint64_t calls = runner->operations.calls;

		end = insns_done(runner) + SLICE_INSNS;
		if (end > limit)
			end = limit;
		machine_run(runner->machine, end, &runner->control.result);
		if (runner->control.result.end != MACHINE_LIMIT)
			return false;
		waits = (end == limit || runner->operations.calls == calls) &&
		    will_recur(runner);
	} while (!waits && !runner_is_cut(runner) && end < limit);
	return waits;
}

enum runner_end
runner_go(struct runner *runner, unsigned cpu, uint64_t insns)
{
	bool waits;

	TZ_ASSERT(!runner->now.over);
	runner->control.pause = RUNNER_NOT_PAUSED;
	machine_set_stop(runner->machine, cpu,
	    insns == UINT64_MAX ? UINT64_MAX
				: insns + runner->start.insns[cpu]);
	waits = run_slices(runner);
	machine_set_stop(runner->machine, cpu, UINT64_MAX);
	if (runner_is_cut(runner)) {
		runner->now.over = true;
		return RUNNER_OVER;
	}
	if (runner->control.result.end == MACHINE_STOP)
		return runner->control.pause == RUNNER_AT_POINT ? RUNNER_POINT
								: RUNNER_STOP;
	end_run(runner, waits);
	return RUNNER_OVER;
}

bool
runner_reach(struct runner *runner, unsigned cpu, uint64_t insns)
{
	struct runner_counts counts;

	runner_counts(runner, &counts);
	return counts.insns[cpu] == insns ||
	    (counts.insns[cpu] < insns &&
		runner_go(runner, cpu, insns) == RUNNER_STOP);
}

bool
runner_inject(struct runner *runner, const struct deviation *deviation)
{
	if (deviation->cpu >= runner->cpus ||
	    !machine_inject(runner->machine, deviation->cpu, deviation->kind,
		deviation->param))
		return false;
	check_note_deviation(runner->check, deviation->cpu, deviation->kind);
	if (deviation_info(deviation->kind)->class == DEVIATION_CLASS_FAULT)
		runner->now.deviated = DEVIATED_FAULT;
	else if (runner->now.deviated == DEVIATED_NOT)
		runner->now.deviated = DEVIATED_SCHEDULE;
	return true;
}

void
runner_limit(struct runner *runner, uint64_t insns)
{
	runner->settings.insns_max = insns;
}

void
runner_points(struct runner *runner, bool on)
{
	runner->settings.points = on;
}

uint64_t
runner_hash(struct runner *runner)
{
	const struct runner_operations *now = &runner->operations;
	const struct runner_report *report = &now->report;
	/*
	 * The driver's reports so far are part of the outcome, and an outcome is also
	 * judged by which call failed and which module made it.
	 */
	const uint64_t words[] = {
		machine_hash(
		    runner->machine, check_trace_frames(runner->check)),
		check_hash(runner->check),
		report->failed,
		(uint64_t)report->reports << 8 |
		    (uint64_t)report->fault.step << 2 |
		    (uint64_t)report->fault.driver << 1 |
		    (uint64_t)report->fault.framework,
		report->fault.site.rip,
		/* Later values that are expected depend on this, too. */
		(uint64_t)now->configuring << 16 |
		    (uint64_t)now->configured << 8 |
		    (uint64_t)now->contested << 2 | (uint64_t)now->late << 1 |
		    (uint64_t)now->mixed,
	};

	runner->timed |= machine_is_timed(runner->machine);
	return XXH3_64bits(words, sizeof(words));
}

bool
runner_take_timed(struct runner *runner)
{
	bool timed = runner->timed;

	runner->timed = false;
	return timed;
}

struct runner_mark *
runner_save(struct runner *runner)
{
	struct runner_mark *mark = malloc(
	    sizeof(*mark) + check_size(runner->check));
	struct tz_error err;

	if (mark == NULL)
		return NULL;
	mark->now = runner->now;
	mark->operations = runner->operations;
	mark->machine = machine_snapshot_take(runner->machine, &err);
	if (mark->machine == NULL) {
		free(mark);
		return NULL;
	}
	check_save(runner->check, mark->check);
	return mark;
}

void
runner_restore(struct runner *runner, const struct runner_mark *mark)
{
	machine_snapshot_apply(runner->machine, mark->machine);
	check_restore(runner->check, mark->check);
	runner->now = mark->now;
	runner->operations = mark->operations;
}

void
runner_mark_free(struct runner *runner, struct runner_mark *mark)
{
	if (mark == NULL)
		return;
	machine_snapshot_free(runner->machine, mark->machine);
	free(mark);
}

void
runner_observe(struct runner *runner, const struct runner_observer *observer,
    enum machine_stepping stepping)
{
	runner->settings.observer = observer != NULL
	    ? *observer
	    : (struct runner_observer){ .arg = NULL };
	machine_set_stepping(runner->machine, stepping);
}

bool
runner_is_cut(const struct runner *runner)
{
	return runner->control.pause == RUNNER_CUT;
}

const struct machine_result *
runner_result(const struct runner *runner)
{
	return &runner->control.result;
}

const struct check *
runner_check(const struct runner *runner)
{
	return runner->check;
}

void
runner_counts(const struct runner *runner, struct runner_counts *counts)
{
	struct machine_counters cpu;

	*counts = (struct runner_counts){ .events = runner->now.events,
		.points = runner->now.points };
	for (unsigned i = 0; i < runner->cpus; i++) {
		machine_counters(runner->machine, i, &cpu);
		counts->insns[i] = cpu.insns - runner->start.insns[i];
		counts->insns_all += counts->insns[i];
	}
}

const struct runner_report *
runner_report(const struct runner *runner)
{
	return &runner->operations.report;
}

bool
runner_ran_driver(const struct runner *runner)
{
	return runner->now.ran_driver;
}

void
runner_explain(struct runner *runner, bool on)
{
	check_explain(runner->check, on);
}

const char *
runner_step_name(const struct runner *runner, unsigned step)
{
	return step >= runner->sequence.count
	    ? ""
	    : manifest_op_name(runner->build_cache->manifest,
		  runner->sequence.step[step].op);
}

uint64_t
runner_relative(const struct runner *runner, unsigned cpu, uint64_t insns)
{
	return insns - runner->start.insns[cpu];
}

uint64_t
runner_relative_cycles(const struct runner *runner, uint64_t cycles)
{
	return cycles > runner->start.cycles ? cycles - runner->start.cycles
					     : 0;
}

const struct boot *
runner_boot(const struct runner *runner)
{
	return &runner->boot;
}

struct machine *
runner_machine(struct runner *runner)
{
	return runner->machine;
}

const struct cpu_set *
runner_cpu_set(const struct runner *runner)
{
	return &runner->cpu_set;
}

unsigned
runner_cpus(const struct runner *runner)
{
	return runner->cpus;
}

struct symbols *
runner_symbols(struct runner *runner)
{
	return runner->code.symbols;
}

const char *
runner_console(const struct runner *runner)
{
	char *console = (char *)(uintptr_t)runner->console;

	console[runner->now.console_bytes] = '\0';
	return console;
}
