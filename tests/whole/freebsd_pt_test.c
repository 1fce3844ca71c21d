/*
 * Goal: the unmodified FreeBSD backend traces on the emulated machine, its trace
 * equals the execution log, and what it is known to do wrong shows. Method: whole runs at
 * test size, from its source to the verdict on the bundle.
 */
#include "tests/whole/whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/guest_abi.h"

#define PAGE_BYTES UINT64_C(4096)
#define SKID_BYTES 256 /* what a PMI's few instructions of skid may write */

static struct run_options
freebsd_options(const char *name)
{
	struct run_options options = whole_options("freebsd-pt", name);

	options.source = whole_driver_source();
	return options;
}

static void
check_cpu_mode(unsigned cpus, const char *name)
{
	struct run_options options = freebsd_options(name);
	struct verify_result result;

	options.cpu_count = cpus;
	whole_verify(&options, &result);
	whole_assert_match(&result, cpus, 100000);
	for (size_t i = 0; i < result.stream_count; i++)
		assert_true(result.streams[i].rows[ACCOUNT_TAIL] <
		    PAGE_BYTES + SKID_BYTES);
	verify_result_free(&result);
}

static void
cpu_mode_on_one_cpu_decodes_to_the_truth(void **state)
{
	(void)state;
	check_cpu_mode(1, "cpu1");
}

static void
cpu_mode_on_two_cpus_decodes_to_the_truth(void **state)
{
	(void)state;
	check_cpu_mode(2, "cpu2");
}

static void
cpu_mode_on_four_cpus_decodes_to_the_truth(void **state)
{
	(void)state;
	check_cpu_mode(4, "cpu4");
}

static void
cpu_mode_on_eight_cpus_decodes_to_the_truth(void **state)
{
	(void)state;
	check_cpu_mode(8, "cpu8");
}

static void
user_only_tracing_decodes_to_the_truth(void **state)
{
	struct run_options options = freebsd_options("user");
	struct verify_result result;

	(void)state;
	options.trace_kernel = false;
	whole_verify(&options, &result);
	whole_assert_match(&result, 1, 50000);
	verify_result_free(&result);
}

static void
kernel_only_tracing_decodes_to_the_truth(void **state)
{
	struct run_options options = freebsd_options("kernel");
	struct verify_result result;

	(void)state;
	options.trace_user = false;
	whole_verify(&options, &result);
	whole_assert_match(&result, 1, 10000);
	verify_result_free(&result);
}

static void
a_driver_without_invariants_decodes_to_the_truth(void **state)
{
	struct run_options options = freebsd_options("release");
	struct verify_result result;

	(void)state;
	options.invariants = false;
	whole_verify(&options, &result);
	whole_assert_match(&result, 1, 100000);
	verify_result_free(&result);
}

static void
a_pinned_thread_decodes_to_the_truth(void **state)
{
	struct run_options options = freebsd_options("thread");
	struct verify_result result;

	(void)state;
	options.mode = RUN_MODE_THREAD;
	options.cpu_count = 2;
	options.workload = "spin";
	options.settings = "pin=1 linger=1 drain=0 ithread_cpu=0";
	options.rounds = 4;
	whole_verify(&options, &result);
	whole_assert_match(&result, 1, 100000);
	/* The record of the last PMI may not have been taken yet. */
	assert_true(
	    result.streams[0].rows[ACCOUNT_TAIL] < 2 * PAGE_BYTES + SKID_BYTES);
	verify_result_free(&result);
}

/* What a thread wrote whose buffer begins at PA, if each stay began there. */
struct rewound {
	uint64_t pa;
	uint64_t written, longest, last; /* bytes: in all, in one stay */
};

static void
count_stays(const struct bundle *bundle, struct rewound threads[2])
{
	struct event *events;
	size_t count, said = 0;

	assert_int_equal(bundle_read_events(bundle, &events, &count, NULL), 0);
	for (size_t i = count; i-- > 0;) {
		said += events[i].kind == EVENT_TRACED_THREAD &&
		    events[i].b != ABI_THREAD_ANY;
		if (events[i].kind != EVENT_BUFFER)
			continue;
		assert_true((events[i].a & EVENT_STREAM_THREAD) != 0);
		assert_in_range(EVENT_STREAM_ID(events[i].a), 0, 1);
		threads[EVENT_STREAM_ID(events[i].a)].pa = events[i].b;
	}
	/* Check foreign-thread knows whose trace each buffer is. */
	assert_int_equal(said, 2);
	for (size_t i = 0; i < count; i++) {
		uint64_t page = events[i].a & ~(PAGE_BYTES - 1);
		struct rewound *thread = &threads[page == threads[1].pa];

		if (events[i].kind != EVENT_OUTPUT)
			continue;
		assert_int_equal(page, thread->pa);
		if (events[i].a == thread->pa)
			thread->last = 0;
		thread->last += events[i].b;
		thread->written += events[i].b;
		if (thread->longest < thread->last)
			thread->longest = thread->last;
	}
	free(events);
}

static void
check_rewound(const struct verify_stream *stream, const struct rewound *thread)
{
	const uint64_t *rows = stream->rows;

	assert_true(stream->thread);
	assert_false(stream->difference.found);
	assert_true(thread->written > thread->longest);
	assert_int_equal(rows[ACCOUNT_WRITTEN], thread->written);
	assert_int_equal(rows[ACCOUNT_REPORTED], 0);
	assert_int_equal(rows[ACCOUNT_LOST], 0);
	assert_int_equal(rows[ACCOUNT_STALE], 0);
	assert_int_equal(
	    rows[ACCOUNT_OVERWRITTEN], thread->written - thread->longest);
	assert_int_equal(
	    rows[ACCOUNT_UNREPORTED], thread->longest - thread->last);
	assert_int_equal(
	    rows[ACCOUNT_TAIL] + rows[ACCOUNT_PREFIX], thread->last);
}

/* FB-10: each switch-in rewinds the buffer. */
static void
switching_threads_shows_exactly_the_overwritten_bytes(void **state)
{
	struct run_options options = freebsd_options("switching");
	struct verify_options how = { .rows = VERIFY_ROWS_DEFAULT };
	struct rewound threads[2] = { 0 };
	struct run_outcome outcome;
	struct verify_result result;
	struct bundle *bundle;

	(void)state;
	options.mode = RUN_MODE_THREAD;
	options.cpu_count = 2;
	options.workload = "pair";
	options.trace_kernel = false;
	options.settings = "pin=1 slice=5000 drain=0 ithread_cpu=0";
	whole_run(&options, &outcome);
	assert_int_equal(run_verdict(&outcome), RUN_PASSED);
	assert_int_equal(bundle_open(options.output, &bundle, NULL), 0);
	assert_int_equal(verify_bundle(bundle, &how, &result, NULL), 0);
	count_stays(bundle, threads);
	bundle_close(bundle);
	assert_false(result.match);
	assert_int_equal(result.stream_count, 2);
	assert_string_equal(result.streams[0].name, "thread0");
	assert_string_equal(result.streams[1].name, "thread1");
	for (size_t i = 0; i < 2; i++)
		check_rewound(&result.streams[i], &threads[i]);
	for (size_t i = 0; i < result.finding_count; i++)
		assert_null(strstr(result.findings[i].text, "no stream"));
	verify_result_free(&result);
}

/* FB-08: the software interrupt's handler dereferences a context that is gone. */
static void
a_pmi_before_a_switch_out_panics_the_guest(void **state)
{
	struct run_options options = freebsd_options("panic");
	struct run_outcome outcome;

	(void)state;
	options.mode = RUN_MODE_THREAD;
	options.workload = "branch,spin";
	options.settings = "pin=0,0 slice=20000";
	options.rounds = 8;
	whole_run(&options, &outcome);
	assert_int_equal(outcome.result.end, MACHINE_PANIC);
	assert_int_equal(run_verdict(&outcome), RUN_FAILED);
	assert_non_null(strstr(outcome.where, "pt_send_buffer_record"));
	assert_true(outcome.frame_count > 1);
}

/* FB-12: a small table is not aligned as the hardware wants it. */
static void
a_buffer_of_64_kib_is_an_operational_error(void **state)
{
	struct run_options options = freebsd_options("small");
	struct run_outcome outcome;

	(void)state;
	options.buffer_bytes = 65536;
	whole_run(&options, &outcome);
	assert_int_equal(outcome.cpu[0].pt_errors, 1);
	assert_non_null(strstr(outcome.cpu[0].pt_error, "not aligned"));
	assert_int_equal(outcome.cpu[0].counters.trace_bytes, 0);
	assert_int_equal(run_verdict(&outcome), RUN_FAILED);
}

/* DisTNT, which the model does not have; FreeBSD drops the backend's error. */
static void
a_refused_configuration_is_a_failure(void **state)
{
	struct run_options options = freebsd_options("distnt");
	struct run_outcome outcome;

	(void)state;
	options.settings = "ctl=0x8000000000200c";
	whole_run(&options, &outcome);
	assert_int_equal(outcome.refused_count, 1);
	assert_int_equal(outcome.refused_error, 6); /* ENXIO */
	assert_int_equal(outcome.cpu[0].counters.trace_bytes, 0);
	assert_int_equal(run_verdict(&outcome), RUN_FAILED);
}

/* FB-09: the backend has no stop operation. */
static void
stopping_jumps_to_null(void **state)
{
	struct run_options options = freebsd_options("stop");
	struct run_outcome outcome;

	(void)state;
	options.settings = "stop=1";
	whole_run(&options, &outcome);
	assert_int_equal(outcome.result.end, MACHINE_PANIC);
	assert_int_equal(outcome.result.rip, 0);
}

/* Broadwell has no XSAVES, by which the backend saves PT's state. */
static void
a_processor_without_xsaves_is_refused(void **state)
{
	struct run_options options = freebsd_options("refused");
	struct run_outcome outcome;

	(void)state;
	options.profile = "broadwell";
	whole_run(&options, &outcome);
	assert_int_equal(run_verdict(&outcome), RUN_FAILED);
	assert_int_equal(outcome.result.end, MACHINE_EXIT);
	assert_non_null(strstr(outcome.console,
	    "pt: CPU does not support managing PT state using XSAVE"));
	assert_int_equal(outcome.cpu[0].counters.trace_bytes, 0);
}

static void
two_runs_and_one_instruction_at_a_time_give_the_same_bundle(void **state)
{
	struct run_options options = freebsd_options("first");
	struct run_outcome outcome;

	(void)state;
	options.cpu_count = 2;
	options.workload = "edge,string";
	whole_run(&options, &outcome);
	options.output = freebsd_options("second").output;
	whole_run(&options, &outcome);
	assert_true(whole_equal("first", "second"));
	options.output = freebsd_options("stepped").output;
	options.single_step = true;
	whole_run(&options, &outcome);
	assert_int_equal(run_verdict(&outcome), RUN_PASSED);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_mode_on_one_cpu_decodes_to_the_truth),
		cmocka_unit_test(cpu_mode_on_two_cpus_decodes_to_the_truth),
		cmocka_unit_test(cpu_mode_on_four_cpus_decodes_to_the_truth),
		cmocka_unit_test(cpu_mode_on_eight_cpus_decodes_to_the_truth),
		cmocka_unit_test(user_only_tracing_decodes_to_the_truth),
		cmocka_unit_test(kernel_only_tracing_decodes_to_the_truth),
		cmocka_unit_test(
		    a_driver_without_invariants_decodes_to_the_truth),
		cmocka_unit_test(a_pinned_thread_decodes_to_the_truth),
		cmocka_unit_test(
		    switching_threads_shows_exactly_the_overwritten_bytes),
		cmocka_unit_test(a_pmi_before_a_switch_out_panics_the_guest),
		cmocka_unit_test(a_buffer_of_64_kib_is_an_operational_error),
		cmocka_unit_test(a_refused_configuration_is_a_failure),
		cmocka_unit_test(stopping_jumps_to_null),
		cmocka_unit_test(a_processor_without_xsaves_is_refused),
		cmocka_unit_test(
		    two_runs_and_one_instruction_at_a_time_give_the_same_bundle),
	};

	whole_init(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
