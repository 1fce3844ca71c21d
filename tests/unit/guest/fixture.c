#include "tests/unit/guest/fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/guest_abi.h"
#include "emu/profile/cpu_set.h"
#include "harness/load/boot.h"

#define INSNS_MAX UINT64_C(100000000)
#define TSC_HZ    UINT64_C(3000000000)

static const char *kernel_path, *module_path, *program_path;
static struct machine *machine;

void
guest_init(char **argv)
{
	kernel_path = argv[1];
	module_path = argv[2];
	program_path = argv[3];
}

uint32_t
guest_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	while (*name != '\0')
		hash = (hash ^ (unsigned char)*name++) * 16777619u;
	return hash;
}

static void
look_at_script(struct guest_run *run, const struct event *event)
{
	uint8_t *bytes = machine_ram(machine) + event->a;

	run->insns[0] = event->insns;
	run->script_was_zero = event->a != 0 && event->a < GUEST_RAM_BYTES &&
	    event->b <= GUEST_RAM_BYTES - event->a;
	for (uint64_t i = 0; run->script_was_zero && i < event->b; i++)
		run->script_was_zero = bytes[i] == 0;
	memcpy(bytes, &run->order, sizeof(run->order));
	if (run->order != 0)
		memcpy(bytes + 8, &run->order, sizeof(run->order));
}

static void
on_event(void *arg, const struct event *event)
{
	struct guest_run *run = arg;

	if (event->kind == EVENT_SCRIPT)
		look_at_script(run, event);
	if (event->kind == EVENT_EXIT)
		run->insns[1] = event->insns;
	if (event->kind == EVENT_ALLOC && event->b == 4096 &&
	    event->a >= ABI_DMAP && event->a % 4096 == 0)
		run->page_allocs++;
	if (event->kind == EVENT_FREE && event->a >= ABI_DMAP &&
	    event->a % 4096 == 0)
		run->page_frees++;
	if (event->kind == EVENT_NOTE && event->a < GUEST_NOTES_MAX)
		run->notes[event->a] = (int64_t)event->b;
	if (((event->kind >= EVENT_POINT && event->kind <= EVENT_STACK) ||
		event->kind == EVENT_INTERRUPT ||
		(event->kind == EVENT_ALLOC && event->b > 4096)) &&
	    run->event_count < GUEST_EVENTS_MAX)
		run->events[run->event_count++] = *event;
}

static bool
on_point(void *arg, unsigned cpu, uint64_t id, uint64_t caller)
{
	const struct guest_run *run = arg;

	(void)cpu;
	(void)caller;
	return run->failing != NULL && id == guest_hash(run->failing);
}

static void
on_console(void *arg, char c)
{
	(void)arg;
	fputc(c, stderr);
}

static void
start(struct guest_run *run, unsigned cpus, const char *cmdline)
{
	const struct boot_part module = { "probe", module_path };
	const struct boot_part program = { "probe", program_path };
	const struct boot_request request = {
		.kernel = kernel_path,
		.module = &module,
		.module_count = 1,
		.program = &program,
		.program_count = 1,
		.cmdline = cmdline,
		.cpu_count = cpus,
		.tsc_hz = TSC_HZ,
	};
	struct cpu_set cpu_set;
	const struct machine_config config = {
		.cpu_set = &cpu_set,
		.cpu_count = cpus,
		.ram_bytes = GUEST_RAM_BYTES,
	};
	const struct machine_observer observer = {
		.arg = run,
		.event = on_event,
		.console = on_console,
		.point = on_point,
	};
	struct tz_error err = { "" };
	struct boot boot = { 0 };

	cpu_set_set(&cpu_set, profile_find("skylake"));
	if (machine_create(&config, &observer, &machine, &err) != 0)
		fail_msg("%s", err.text);
	if (boot_load(&request, machine_ram(machine), GUEST_RAM_BYTES, &boot,
		&err) != 0)
		fail_msg("%s", err.text);
	machine_boot(machine, boot.entry, boot.info_va, boot.cr3);
	boot_free(&boot);
}

/* A machine that is about to boot; RUN is empty. */
static void
begin(struct guest_run *run, unsigned cpus, const char *words)
{
	const char *failing = run->failing;
	uint64_t order = run->order;
	char cmdline[256];

	if (machine != NULL)
		machine_destroy(machine);
	machine = NULL;
	memset(run, 0, sizeof(*run));
	run->failing = failing;
	run->order = order;
	for (unsigned i = 0; i < GUEST_NOTES_MAX; i++)
		run->notes[i] = GUEST_NO_NOTE;
	snprintf(cmdline, sizeof(cmdline), "init=probe %s", words);
	start(run, cpus, cmdline);
	run->ram = machine_ram(machine);
}

void
guest_run(struct guest_run *run, unsigned cpus, const char *words)
{
	begin(run, cpus, words);
	machine_run(machine, INSNS_MAX, &run->result);
}

/* From SNAPSHOT on; false: interrupts are off at AT. */
static bool
preempt_at(
    struct guest_run *run, const struct machine_snapshot *snapshot, uint64_t at)
{
	machine_snapshot_apply(machine, snapshot);
	machine_set_stop(machine, 0, at);
	machine_run(machine, INSNS_MAX, &run->result);
	assert_int_equal(run->result.end, MACHINE_STOP);
	if (!machine_inject(machine, 0, DEVIATION_PREEMPT, 0))
		return false;
	machine_run(machine, INSNS_MAX, &run->result);
	return true;
}

unsigned
guest_preempt_everywhere(struct guest_run *run, const char *words)
{
	struct machine_snapshot *snapshot;
	const struct event *begins, *ends;
	struct tz_error err = { "" };
	char cmdline[200];
	uint64_t at, end;
	unsigned runs = 0;

	snprintf(cmdline, sizeof(cmdline), "slice=0 %s", words);
	guest_run(run, 1, cmdline);
	guest_assert_clean(run);
	begins = guest_event(run, EVENT_CALL_BEGIN);
	ends = guest_event(run, EVENT_CALL_END);
	if (begins == NULL || ends == NULL)
		fail_msg("no operation");
	at = begins->insns + 1; /* the event comes from within one */
	end = ends->insns;
	begin(run, 1, cmdline);
	machine_set_stop(machine, 0, at);
	machine_run(machine, INSNS_MAX, &run->result);
	snapshot = machine_snapshot_take(machine, &err);
	assert_non_null(snapshot);
	while (++at < end) {
		if (!preempt_at(run, snapshot, at))
			continue;
		guest_assert_clean(run);
		runs++;
	}
	machine_snapshot_free(machine, snapshot);
	return runs;
}

size_t
guest_count(const struct guest_run *run, enum event_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < run->event_count; i++)
		count += run->events[i].kind == kind;
	return count;
}

const struct event *
guest_event(const struct guest_run *run, enum event_kind kind)
{
	for (size_t i = 0; i < run->event_count; i++) {
		if (run->events[i].kind == kind)
			return &run->events[i];
	}
	return NULL;
}

void
guest_assert_clean(const struct guest_run *run)
{
	if (run->result.end != MACHINE_EXIT)
		fail_msg("ended with %d: %s", (int)run->result.end,
		    run->result.text);
	assert_int_equal(run->result.code, 0);
}

void
guest_assert_panic(const struct guest_run *run, const char *prefix)
{
	if (run->result.end != MACHINE_PANIC ||
	    strncmp(run->result.text, prefix, strlen(prefix)) != 0)
		fail_msg("not a panic \"%s\" but %d: %s", prefix,
		    (int)run->result.end, run->result.text);
}

void
guest_assert_fresh_module(struct guest_run *run, const char *left_out)
{
	/*
	 * In the order of program.c: open without the driver; load, and once
	 * more; how often its data say that they were loaded, in each of two
	 * lives; unload, in each; unload once more.
	 */
	static const int64_t notes[] = { -ENOENT, 0, -EEXIST, -1, -1, 0, 0,
		-ENOENT };
	char words[64];

	snprintf(words, sizeof(words), "what=module manual=%s", left_out);
	guest_run(run, 1, words);
	guest_assert_clean(run);
	for (size_t i = 0; i < TZ_ARRAY_LEN(notes); i++)
		assert_int_equal(run->notes[1 + i], notes[i]);
}
