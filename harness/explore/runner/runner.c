#include "harness/explore/runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "harness/explore/runner/runner_internal.h"
#include "harness/host/stop.h"

static void
relate(const struct runner *runner, uint16_t cpu, uint64_t *insns)
{
	*insns -= runner->insns[cpu];
}

static void
on_event(void *arg, const struct event *event)
{
	struct runner *runner = arg;
	struct event relative = *event;

	if (event->kind == EVENT_SCRIPT && !runner->running) {
		runner->script_pa = event->a;
		runner->script_bytes = event->b;
		machine_pause(runner->machine);
	}
	if (runner->turns) {
		if (event->kind == EVENT_SWITCH)
			machine_pause(runner->machine);
		return;
	}
	check_event(runner->check, event);
	if (!runner->running)
		return;
	runner->now.events++;
	runner->now.calls += event->kind == EVENT_CALL_BEGIN ||
	    event->kind == EVENT_CALL_END;
	if (event->kind == EVENT_CALL_BEGIN)
		runner_note_call_begin(runner, event);
	if (event->kind == EVENT_CALL_END)
		runner_note_call_end(runner, event);
	if (event->kind == EVENT_POINT && event->c != 0)
		runner_note_failure(runner, event);
	if (event->kind == EVENT_LOST)
		runner->now.reports++;
	if (event->kind == EVENT_BUFFER)
		runner_note_buffer(runner, event);
	if (event->kind == EVENT_OUTPUT || event->kind == EVENT_TRACE_OFF)
		runner_note_trace(runner, event);
	if (runner->points &&
	    (event->kind == EVENT_IRET || event->kind == EVENT_CALL_END)) {
		runner->at_point = true;
		machine_pause(runner->machine);
	}
	if (runner->observer.event != NULL) {
		relate(runner, event->cpu, &relative.insns);
		relative.cycles -= runner->cycles;
		runner->observer.event(runner->observer.arg, &relative);
	}
}

static void
on_step(void *arg, const struct machine_step *step)
{
	struct runner *runner = arg;
	struct machine_step relative = *step;

	runner->now.ran_driver |= runner_in_driver(runner, step->rip);
	if (runner->observer.step == NULL || !runner->running)
		return;
	relate(runner, (uint16_t)step->cpu, &relative.insns);
	runner->observer.step(runner->observer.arg, &relative);
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
	return runner->running && runner->now.points++ == runner->fail_index;
}

static bool
on_look(void *arg)
{
	struct runner *runner = arg;

	if (!runner->build_cache->cuts || !stop_requested())
		return false;
	if (stop_is_forked())
		_exit(0);
	runner->cut = true;
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
		runner_restore(runner, runner->ready);
		memcpy(machine_ram(runner->machine) + runner->script_pa, script,
		    sizeof(*script));
		runner->sequence = *sequence;
		check_begin(runner->check);
		runner->running = true;
	}
	free(script);
	return error;
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
	runner->now.deviated = true;
	runner->now.faulty_hardware |= deviation_info(deviation->kind)->class ==
	    DEVIATION_CLASS_FAULT;
	return true;
}

void
runner_limit(struct runner *runner, uint64_t insns)
{
	runner->limit = insns;
}

void
runner_points(struct runner *runner, bool on)
{
	runner->points = on;
}

uint64_t
runner_hash(struct runner *runner)
{
	const struct progress *now = &runner->now;
	/*
	 * The driver's reports so far are part of the outcome, and an outcome is also
	 * judged by which call failed and which module made it.
	 */
	const uint64_t words[] = {
		machine_hash(
		    runner->machine, check_trace_frames(runner->check)),
		check_hash(runner->check),
		now->failed,
		(uint64_t)now->reports << 8 | (uint64_t)now->faulty << 2 |
		    (uint64_t)now->failed_driver << 1 |
		    (uint64_t)now->failed_framework,
		now->failed_site.rip,
		/* Later values that are expected depend on this, too. */
		(uint64_t)now->configuring << 16 |
		    (uint64_t)now->configured << 8 | now->mixed,
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
	runner->observer = observer != NULL
	    ? *observer
	    : (struct runner_observer){ .arg = NULL };
	machine_set_stepping(runner->machine, stepping);
}

void
runner_fail_point(struct runner *runner, uint64_t index)
{
	runner->fail_index = index;
}

bool
runner_is_cut(const struct runner *runner)
{
	return runner->cut;
}

const struct machine_result *
runner_result(const struct runner *runner)
{
	return &runner->result;
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
		counts->insns[i] = cpu.insns - runner->insns[i];
		counts->insns_all += counts->insns[i];
	}
}

void
runner_report(const struct runner *runner, uint64_t *results, unsigned *reports,
    uint64_t *failed, unsigned *faulty)
{
	*results = runner->now.results;
	*reports = runner->now.reports;
	*failed = runner->now.failed;
	*faulty = (unsigned)runner->now.faulty;
}

bool
runner_function_failed(const struct runner *runner)
{
	return runner->now.failed_framework || runner->now.failed_driver;
}

bool
runner_framework_failed(const struct runner *runner)
{
	return runner->now.failed_framework && !runner->now.failed_driver;
}

struct check_site
runner_failed_site(const struct runner *runner)
{
	return runner->now.failed_site;
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
	return insns - runner->insns[cpu];
}

uint64_t
runner_relative_cycles(const struct runner *runner, uint64_t cycles)
{
	return cycles > runner->cycles ? cycles - runner->cycles : 0;
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
	return runner->symbols;
}

const struct build_cache *
runner_workshop(const struct runner *runner)
{
	return runner->build_cache;
}

const char *
runner_layout(const struct runner *runner)
{
	return runner->layout_text;
}

bool
runner_in_driver(const struct runner *runner, uint64_t va)
{
	return va >= runner->driver_begin && va < runner->driver_end;
}

bool
runner_is_driver_data(const struct runner *runner, uint64_t va)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(runner->driver_data); i++) {
		if (va >= runner->driver_data[i].begin &&
		    va < runner->driver_data[i].end)
			return true;
	}
	return false;
}

bool
runner_in_module(const struct runner *runner, uint64_t va)
{
	return va >= runner->modules_begin && va < runner->modules_end;
}

void
runner_watch_modules(struct runner *runner, bool all)
{
	machine_set_watched(runner->machine,
	    all ? runner->modules_begin : runner->driver_begin,
	    all ? runner->modules_end : runner->driver_end);
}

uint64_t
runner_driver_base(const struct runner *runner)
{
	return runner->driver_begin;
}

const char *
runner_console(const struct runner *runner)
{
	char *console = (char *)(uintptr_t)runner->console;

	console[runner->now.console_bytes] = '\0';
	return console;
}
