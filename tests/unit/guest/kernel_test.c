/*
 * Goal: what the guest kernel promises to whoever explores it: scripts, modules that
 * come and go, no time slices, points of failure, and wrong use of heap and locks
 * that ends the run by name. Method: a driver and a program of the test's own on the
 * whole machine, a misuse a run; notes, events and the panic's text.
 */
#include "tests/unit/guest/fixture.h"
#include "tests/unit/guest/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "emu/guest_abi.h"

#define KE_NOENT 2
#define KE_BADF  9
#define KE_NOMEM 12
#define KE_INVAL 22
#define SYS_OPEN 16

static struct guest_run run;

/* Runs the commands of /dev/probe, 0-terminated, with further WORDS. */
static void
probe(const char *words, const enum probe *commands)
{
	char cmdline[200];
	int length = snprintf(cmdline, sizeof(cmdline), "%s probe=", words);

	for (; *commands != 0; commands++)
		length += snprintf(cmdline + length,
		    sizeof(cmdline) - (size_t)length, "%d,", (int)*commands);
	cmdline[length - 1] = '\0';
	guest_run(&run, 1, cmdline);
}

static void
probe_one(const char *words, enum probe command)
{
	const enum probe commands[] = { command, 0 };

	probe(words, commands);
}

static void
a_script_is_one_zeroed_run_of_frames(void **state)
{
	const struct event *script;

	(void)state;
	guest_run(&run, 1, "what=script slice=0");
	guest_assert_clean(&run);
	assert_int_equal(guest_count(&run, EVENT_SCRIPT), 1);
	script = guest_event(&run, EVENT_SCRIPT);
	assert_int_equal(script->a % 4096, 0);
	assert_int_equal(script->b, 12288);
	assert_true(run.script_was_zero);
	assert_int_equal(run.notes[1], 1);
	assert_int_equal(run.notes[2], 0);
	assert_int_equal(run.notes[3], -KE_INVAL);
}

/* Every schedule pays for it. */
static void
the_end_of_a_program_is_cheap(void **state)
{
	(void)state;
	run.order = 0;
	guest_run(&run, 1, "what=wait slice=0 manual=probe");
	guest_assert_clean(&run);
	print_message("%llu instructions from the script to the end\n",
	    (unsigned long long)(run.insns[1] - run.insns[0]));
	assert_true(run.insns[1] - run.insns[0] < 15000);
}

/* With slices they are what they were: nobody pays for it. */
static void
without_slices_a_program_leaves_cleared_frames(void **state)
{
	static const char *const words[] = { "what=wait slice=0", "what=wait" };

	(void)state;
	run.order = 1000;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t word;

		guest_run(&run, 1, words[i]);
		guest_assert_clean(&run);
		memcpy(&word, run.ram + guest_event(&run, EVENT_SCRIPT)->a + 8,
		    sizeof(word));
		assert_int_equal(word, i == 0 ? 0 : run.order);
	}
	run.order = 0;
}

static void
calls_are_told_with_their_results(void **state)
{
	const struct event *begin, *end;

	(void)state;
	guest_run(&run, 1, "what=script");
	begin = guest_event(&run, EVENT_CALL_BEGIN);
	end = guest_event(&run, EVENT_CALL_END);
	assert_non_null(begin);
	assert_non_null(end);
	assert_int_equal(begin->a, 7);
	assert_int_equal(begin->b, 1);
	assert_int_equal(begin->c, SYS_OPEN);
	assert_int_equal(end->a, 7);
	assert_int_equal((int64_t)end->c, -2);
}

static void
a_module_left_out_loads_afresh_each_time(void **state)
{
	(void)state;
	guest_assert_fresh_module(&run, "other,probe");
	assert_int_equal(run.notes[9], -KE_NOENT);
}

static void
a_module_of_the_boot_cannot_be_unloaded(void **state)
{
	(void)state;
	guest_run(&run, 1, "what=module");
	guest_assert_clean(&run);
	assert_true(run.notes[1] >= 0);
	assert_int_equal(run.notes[2], -KE_NOENT);
	assert_int_equal(run.notes[6], -KE_NOENT);
}

static void
without_slices_only_a_timer_interrupt_switches(void **state)
{
	(void)state;
	guest_run(&run, 1, "what=turns slice=0");
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0);
	assert_int_equal(run.notes[2], 1);
}

static bool
is_stack(uint64_t pa)
{
	for (size_t i = 0; i < run.event_count; i++) {
		const struct event *event = &run.events[i];

		if (event->kind == EVENT_STACK && pa >= event->a &&
		    pa - event->a < event->b)
			return true;
	}
	return false;
}

static size_t
count_differences(const char *words)
{
	static uint8_t first[GUEST_RAM_BYTES];
	size_t differences = 0;

	run.order = 1000;
	guest_run(&run, 2, words);
	guest_assert_clean(&run);
	memcpy(first, run.ram, sizeof(first));
	run.order = 2000;
	guest_run(&run, 2, words);
	guest_assert_clean(&run);
	for (size_t i = 0; i < sizeof(first); i++)
		differences += first[i] != run.ram[i] && !is_stack(i);
	return differences;
}

/* With slices the test sees that there is some. */
static void
without_slices_memory_holds_no_time(void **state)
{
	(void)state;
	assert_int_equal(count_differences("what=wait slice=0"), 0);
	assert_int_not_equal(count_differences("what=wait"), 0);
	assert_int_equal(count_differences("what=wait slice=0 heap=guard"), 0);
}

static void
a_cpu_offline_runs_no_task(void **state)
{
	(void)state;
	guest_run(&run, 2, "what=offline");
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], -KE_INVAL);
	assert_int_equal(run.notes[2], 0);
	assert_int_equal(run.notes[3], -KE_INVAL);
	assert_int_equal(run.notes[4], 0);
	assert_int_equal(run.notes[5], -KE_INVAL);
}

static void
the_host_is_told_who_claims_an_nmi(void **state)
{
	(void)state;
	probe_one("", PROBE_NMI);
	guest_assert_clean(&run);
	assert_int_equal(guest_count(&run, EVENT_NMI_DONE), 1);
	assert_int_equal(guest_event(&run, EVENT_NMI_DONE)->a, 0);
	probe_one("", PROBE_NMI_CLAIM);
	guest_assert_clean(&run);
	assert_int_equal(guest_event(&run, EVENT_NMI_DONE)->a, 1);
}

static void
every_kernel_stack_is_told(void **state)
{
	size_t tasks = 0, nmis = 0;

	(void)state;
	guest_run(&run, 2, "what=offline");
	for (size_t i = 0; i < run.event_count; i++) {
		const struct event *event = &run.events[i];

		if (event->kind != EVENT_STACK)
			continue;
		assert_int_equal(event->a % 4096, 0);
		assert_int_equal(event->b % 4096, 0);
		tasks += event->c == ABI_STACK_TASK;
		nmis += event->c == ABI_STACK_NMI;
	}
	assert_int_equal(nmis, 2);
	assert_int_equal(tasks, 2 + 3); /* idle; main, two threads */
}

static void
a_point_fails_its_function_and_only_modules_ask(void **state)
{
	(void)state;
	run.failing = NULL;
	probe_one("", PROBE_ALLOC);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0);
	run.failing = "heap_alloc";
	probe_one("", PROBE_ALLOC);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], -KE_NOMEM);
	run.failing = "frame_alloc"; /* which this module never calls */
	probe_one("", PROBE_ALLOC);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0);
	for (size_t i = 0; i < run.event_count; i++) {
		if (run.events[i].kind == EVENT_POINT)
			assert_true(
			    run.events[i].a == guest_hash("device_create") ||
			    run.events[i].a == guest_hash("heap_alloc"));
	}
	run.failing = NULL;
}

static void
a_file_is_closed_once_and_not_within_an_operation(void **state)
{
	(void)state;
	guest_run(&run, 2, "what=files");
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0); /* closed when this has ended */
	assert_int_equal(run.notes[2], 0);
	assert_int_equal(run.notes[3], -KE_BADF);
	assert_int_equal(run.notes[4], 0);
	assert_int_equal(run.notes[5], -1); /* a number of an ioctl's own */
	assert_int_equal(run.notes[10], 2);
}

static const struct event *
find_alloc(uint64_t bytes)
{
	for (size_t i = 0; i < run.event_count; i++) {
		if (run.events[i].kind == EVENT_ALLOC &&
		    run.events[i].b == bytes)
			return &run.events[i];
	}
	return NULL;
}

static void
memory_of_a_module_is_aligned_reported_and_can_fail(void **state)
{
	(void)state;
	run.failing = NULL;
	probe_one("", PROBE_RUN);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0);
	assert_non_null(find_alloc(4 * 4096));
	run.failing = "module_frames_alloc";
	probe_one("", PROBE_RUN);
	assert_int_equal(run.notes[1], -KE_INVAL);
	run.failing = "module_alloc";
	probe_one("", PROBE_RUN);
	assert_int_equal(run.notes[1], -KE_NOMEM);
	run.failing = NULL;
	probe_one("", PROBE_RUN_TWICE);
	guest_assert_panic(&run, "free of frame ");
}

static void
trace_registers_are_stale_on_request(void **state)
{
	(void)state;
	probe_one("", PROBE_STOPPED);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0);
	probe_one("stale_rtit=1", PROBE_STOPPED);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], -1);
}

static void
a_task_that_has_ended_is_joined(void **state)
{
	(void)state;
	probe_one("", PROBE_JOIN);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0);
}

static void
switch_hooks_of_a_module_come_and_go(void **state)
{
	(void)state;
	probe_one("", PROBE_HOOKS);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0);
}

static void
a_soft_event_fires_until_it_is_removed(void **state)
{
	(void)state;
	probe_one("", PROBE_SOFT);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0);
	probe_one("", PROBE_SOFT_TWICE);
	guest_assert_panic(&run, "soft event ");
}

static void
a_driver_whose_device_fails_does_not_load(void **state)
{
	(void)state;
	run.failing = "device_create";
	probe_one("", PROBE_NOTHING);
	guest_assert_clean(&run);
	assert_true(run.notes[1] < 0);
	run.failing = NULL;
}

static void
the_guard_heap_names_what_was_done(void **state)
{
	static const struct {
		enum probe command;
		const char *text;
	} rows[] = {
		{ PROBE_FREED, "use after free: " },
		{ PROBE_TWICE, "double free: " },
		{ PROBE_BEHIND, "heap overrun: " },
		{ PROBE_BEFORE, "heap underrun: " },
		{ PROBE_MARGIN, "heap overrun: " },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		probe_one("heap=guard", rows[i].command);
		guest_assert_panic(&run, rows[i].text);
	}
}

static void
the_guard_heap_works_where_it_is_used_well(void **state)
{
	const enum probe commands[] = { PROBE_FILLED, PROBE_CONTIGUOUS,
		PROBE_ALLOC, PROBE_FILLED, 0 };

	(void)state;
	probe("heap=guard", commands);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0);
	assert_int_equal(run.notes[2], -KE_INVAL);
	assert_int_equal(run.notes[3], 0);
	assert_int_equal(run.notes[4], 0);
}

static void
the_heap_of_pages_gives_whole_pages(void **state)
{
	const enum probe commands[] = { PROBE_BEGINS, PROBE_FILLED, 0 };

	(void)state;
	probe("heap=pages", commands);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], 0);
	assert_int_equal(run.notes[2], 0);
	probe("", commands);
	guest_assert_clean(&run);
	assert_int_equal(run.notes[1], -KE_INVAL);
}

static void
an_unknown_heap_is_refused(void **state)
{
	(void)state;
	probe_one("heap=other", PROBE_NOTHING);
	guest_assert_panic(&run, "heap=other");
}

static void
wrong_locking_ends_the_run_by_name(void **state)
{
	static const struct {
		enum probe command[3];
		const char *text;
	} rows[] = {
		{ { PROBE_ORDER_AB, PROBE_ORDER_BA }, "lock order: \"a\"" },
		{ { PROBE_ORDER_AB, PROBE_ORDER_CYCLE }, "lock order: \"a\"" },
		{ { PROBE_ORDER_SPIN }, "lock order: \"s\"" },
		{ { PROBE_KEEP_SPIN }, "lock: spin lock \"s\" held at return" },
		{ { PROBE_KEEP_MUTEX }, "lock: mutex \"a\" held at return" },
		{ { PROBE_KEEP_CRITICAL }, "lock: critical section at return" },
		{ { PROBE_SLEEP_SPIN }, "sleep: sleep with spin lock \"s\"" },
		{ { PROBE_SLEEP_NO_SLEEP }, "sleep: sleep with mutex \"c\"" },
		{ { PROBE_UNLOCK }, "lock: mutex \"a\": unlock" },
		{ { PROBE_EXIT_MUTEX }, "lock: mutex \"a\" held at thread" },
		{ { PROBE_NMI_LOCK }, "lock: spin lock \"s\" in an NMI" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		probe("", rows[i].command);
		guest_assert_panic(&run, rows[i].text);
	}
}

static void
one_order_of_locks_is_fine(void **state)
{
	const enum probe commands[] = { PROBE_ORDER_AB, PROBE_ORDER_AB, 0 };

	(void)state;
	probe("", commands);
	guest_assert_clean(&run);
}

/* What a task holds is looked at by whoever preempts it, too. */
static void
a_mutex_is_taken_and_given_back_in_one_piece(void **state)
{
	char words[32];

	(void)state;
	snprintf(
	    words, sizeof(words), "what=company probe=%d", PROBE_ORDER_CROSS);
	assert_true(guest_preempt_everywhere(&run, words) > 100);
	assert_int_equal(run.notes[1], 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_script_is_one_zeroed_run_of_frames),
		cmocka_unit_test(the_end_of_a_program_is_cheap),
		cmocka_unit_test(
		    without_slices_a_program_leaves_cleared_frames),
		cmocka_unit_test(calls_are_told_with_their_results),
		cmocka_unit_test(a_module_left_out_loads_afresh_each_time),
		cmocka_unit_test(a_module_of_the_boot_cannot_be_unloaded),
		cmocka_unit_test(
		    without_slices_only_a_timer_interrupt_switches),
		cmocka_unit_test(without_slices_memory_holds_no_time),
		cmocka_unit_test(a_cpu_offline_runs_no_task),
		cmocka_unit_test(the_host_is_told_who_claims_an_nmi),
		cmocka_unit_test(every_kernel_stack_is_told),
		cmocka_unit_test(
		    a_point_fails_its_function_and_only_modules_ask),
		cmocka_unit_test(
		    a_file_is_closed_once_and_not_within_an_operation),
		cmocka_unit_test(
		    memory_of_a_module_is_aligned_reported_and_can_fail),
		cmocka_unit_test(trace_registers_are_stale_on_request),
		cmocka_unit_test(a_task_that_has_ended_is_joined),
		cmocka_unit_test(switch_hooks_of_a_module_come_and_go),
		cmocka_unit_test(a_soft_event_fires_until_it_is_removed),
		cmocka_unit_test(a_driver_whose_device_fails_does_not_load),
		cmocka_unit_test(the_guard_heap_names_what_was_done),
		cmocka_unit_test(the_guard_heap_works_where_it_is_used_well),
		cmocka_unit_test(the_heap_of_pages_gives_whole_pages),
		cmocka_unit_test(an_unknown_heap_is_refused),
		cmocka_unit_test(wrong_locking_ends_the_run_by_name),
		cmocka_unit_test(one_order_of_locks_is_fine),
		cmocka_unit_test(a_mutex_is_taken_and_given_back_in_one_piece),
	};

	if (argc < 4)
		return 2;
	guest_init(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
