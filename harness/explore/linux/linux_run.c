#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "harness/explore/linux/linux_console.h"
#include "harness/explore/linux/linux_run_internal.h"
#include "harness/host/stop.h"

struct linux_run_mark {
	struct linux_guest_mark *guest;
	struct linux_progress now;
	char check[];
};

static void
on_event(void *arg, const struct event *event)
{
	struct linux_run *run = arg;

	if (!run->opening)
		linux_perf_event(
		    &run->now.perf, run->machine, run->check, event);
}

static void
on_call(void *arg, const struct audit_call *call)
{
	struct linux_run *run = arg;

	if (!run->opening) {
		linux_perf_call(&run->now.perf, &run->perf_code, run->machine,
		    run->check, call);
	} else if (linux_perf_is_setup(&run->perf_code, call)) {
		if (run->early_count < LINUX_PERF_BUFFERS)
			run->early[run->early_count++] = *call;
	} else if (run->early_count != 0 && !run->at_begin &&
	    linux_perf_is_begin(&run->perf_code, call)) {
		run->early[run->early_count++] = *call;
		run->at_begin = true;
		machine_pause(run->machine);
	}
}

static void
on_access(void *arg, const struct audit_access *access)
{
	(void)arg;
	(void)access;
}

static void
on_step(void *arg, const struct machine_step *step)
{
	struct linux_run *run = arg;
	struct machine_step relative = *step;

	relative.insns -= run->insns[step->cpu];
	if (run->step != NULL)
		run->step(run->step_arg, &relative);
}

static void
on_console(void *arg, char c)
{
	struct linux_run *run = arg;
	struct linux_progress *now = &run->now;

	if (c != '\n') {
		if (now->line_count + 1 < sizeof(now->line))
			now->line[now->line_count++] = c;
		return;
	}
	now->line[now->line_count] = '\0';
	now->line_count = 0;
	if (!run->opening && linux_console_is_deadly(now->line)) {
		now->deadly = true;
		machine_pause(run->machine);
	}
}

void
linux_run_set_observer(struct linux_run *run)
{
	run->observer = (struct machine_observer){ .arg = run,
		.event = on_event,
		.step = on_step,
		.access = on_access,
		.call = on_call,
		.console = on_console };
	linux_guest_observe(run->guest, &run->observer);
}

uint64_t
linux_run_insns_of(struct linux_run *run, unsigned cpu)
{
	struct machine_counters counters;

	machine_counters(run->machine, cpu, &counters);
	return counters.insns - run->insns[cpu];
}

uint64_t
linux_run_insns_all(struct linux_run *run)
{
	uint64_t insns = 0;

	for (unsigned i = 0; i < run->options.guest.cpu_count; i++)
		insns += linux_run_insns_of(run, i);
	return insns;
}

bool
linux_run_has_exited(const struct linux_run *run)
{
	return linux_guest_window(run->guest)->exited;
}

struct linux_run_mark *
linux_run_save(struct linux_run *run)
{
	struct linux_run_mark *mark = malloc(
	    sizeof(*mark) + check_size(run->check));

	if (mark == NULL)
		return NULL;
	mark->now = run->now;
	check_save(run->check, mark->check);
	mark->guest = linux_guest_save(run->guest);
	if (mark->guest == NULL) {
		free(mark);
		return NULL;
	}
	return mark;
}

void
linux_run_restore(struct linux_run *run, const struct linux_run_mark *mark)
{
	linux_guest_restore(run->guest, mark->guest);
	check_restore(run->check, mark->check);
	run->now = mark->now;
}

void
linux_run_mark_free(struct linux_run *run, struct linux_run_mark *mark)
{
	if (mark == NULL)
		return;
	linux_guest_mark_free(run->guest, mark->guest);
	free(mark);
}

void
linux_run_begin(struct linux_run *run)
{
	linux_run_restore(
	    run, run->patched != NULL ? run->patched : run->begin);
}

static bool
is_cut(void)
{
	if (!stop_requested())
		return false;
	if (stop_is_forked())
		_exit(0);
	return true;
}

enum linux_run_end
linux_run_go(struct linux_run *run, unsigned cpu, uint64_t insns)
{
	struct tz_error err;

	if (insns != UINT64_MAX && linux_run_insns_of(run, cpu) >= insns)
		return LINUX_RUN_STOP;
	machine_set_stop(run->machine, cpu,
	    insns == UINT64_MAX ? UINT64_MAX : insns + run->insns[cpu]);
	do {
		/* A bad request is one of a guest that has lost its way. */
		if (linux_guest_run(run->guest, &run->state, &err) != 0)
			return LINUX_RUN_OVER;
	} while (run->state.end == LINUX_GUEST_SLICE &&
	    !linux_run_has_exited(run) &&
	    linux_run_insns_all(run) < run->insns_max);
	machine_set_stop(run->machine, cpu, UINT64_MAX);
	if (run->state.end != LINUX_GUEST_STOPPED || run->now.deadly)
		return LINUX_RUN_OVER;
	return is_cut() ? LINUX_RUN_CUT : LINUX_RUN_STOP;
}

bool
linux_run_inject(struct linux_run *run, const struct deviation *deviation)
{
	if (deviation->cpu >= run->options.guest.cpu_count ||
	    !machine_inject(run->machine, deviation->cpu, deviation->kind,
		deviation->param))
		return false;
	check_note_deviation(run->check, deviation->cpu, deviation->kind);
	return true;
}

void
linux_run_observe(
    struct linux_run *run, enum linux_part part, linux_run_step step, void *arg)
{
	struct linux_range range = linux_code_part(run->code, part);

	run->step = step;
	run->step_arg = arg;
	machine_set_watched(run->machine, range.begin, range.end);
	machine_set_stepping(
	    run->machine, step != NULL ? STEPPING_WATCHED : STEPPING_NONE);
}

const char *
linux_run_console(const struct linux_run *run, size_t *count)
{
	const char *text = linux_guest_console_text(run->guest, count);

	*count -= run->console;
	return text + run->console;
}

uint64_t
linux_run_hash(struct linux_run *run)
{
	return machine_hash(run->machine, NULL);
}

const struct outcome *
linux_run_base(const struct linux_run *run)
{
	return &run->base;
}

uint64_t
linux_run_insns(const struct linux_run *run)
{
	return run->base_insns;
}

uint16_t
linux_run_check(const struct linux_run *run)
{
	return run->token;
}

const struct linux_code *
linux_run_code(const struct linux_run *run)
{
	return run->code;
}

struct machine *
linux_run_machine(struct linux_run *run)
{
	return run->machine;
}

unsigned
linux_run_cpus(const struct linux_run *run)
{
	return run->options.guest.cpu_count;
}
