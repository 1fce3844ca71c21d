/*
 * Goal: the unmodified hwpmc(4) counts and samples on the emulated counters, and what its
 * owner reads is what was executed. Method: whole runs at test size; the bundle is
 * verified, and what the owner read is on the guest's console. A program's own
 * instructions are the same number whatever the CPUs, the counters, the compiler and the
 * other processes are; the log names each process that comes and goes.
 */
#include "tests/whole/whole.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Of the source that topaz was developed with. */
#define SHA256 \
 "43d1629e417f6292abb5221932b3921ce2636bdaee7537ecaf1afccc34a3a010"

static struct run_options
hwpmc_options(const char *name)
{
	struct run_options options = whole_options("freebsd-hwpmc", name);

	options.source = whole_driver_source();
	options.insns_max = 300000000; /* a wait without end ends, too */
	options.workload = "spin";
	return options;
}

static void
run(const struct run_options *options, struct run_outcome *outcome)
{
	whole_run(options, outcome);
	if (run_verdict(outcome) != RUN_PASSED)
		fail_msg("%s: %s\n%s", run_reason(outcome),
		    outcome->result.text, outcome->console);
	for (unsigned i = 0; i < outcome->cpu_count; i++)
		assert_int_equal(outcome->cpu[i].counters.trace_bytes, 0);
}

/* Runs, and demands that all that was read is as executed.  To be freed. */
static void
verify(const struct run_options *options, struct verify_result *result)
{
	whole_verify(options, result);
	if (!result->match && result->finding_count != 0)
		fail_msg("%s", result->findings[0].text);
	assert_true(result->match);
	assert_false(result->nothing);
	for (size_t i = 0; i < result->counter_count; i++) {
		const struct verify_counter *counter = &result->counters[i];

		assert_false(counter->unknown);
		assert_int_equal(counter->values, counter->equal);
		assert_int_equal(counter->read, counter->matched);
		assert_int_equal(counter->entries, counter->entries_equal);
		assert_int_equal(counter->missed, 0);
		assert_int_equal(counter->overflows,
		    counter->read + counter->no_room + counter->lost +
			counter->discarded + counter->off);
	}
}

/* The number before the first AFTER on the console. */
static uint64_t
number_before(const struct run_outcome *outcome, const char *after)
{
	const char *at = strstr(outcome->console, after);

	if (at == NULL)
		fail_msg("no \"%s\" in:\n%s", after, outcome->console);
	while (at > outcome->console && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return strtoull(at, NULL, 10);
}

/* The events that the first counter counted. */
static uint64_t
count(const struct run_options *options)
{
	struct run_outcome outcome;

	run(options, &outcome);
	return number_before(&outcome, " events");
}

static void
the_source_is_the_one_that_is_described(void **state)
{
	struct run_options options = hwpmc_options("source");
	struct run_outcome outcome;

	(void)state;
	run(&options, &outcome);
	assert_string_equal(outcome.sha256, SHA256);
}

static void
a_process_is_counted_alike_everywhere(void **state)
{
	struct run_options options = hwpmc_options("process");
	uint64_t events;

	(void)state;
	options.mode = RUN_MODE_THREAD;
	options.settings =
	    "kernel=0 pin=0"; /* the CPU is an argument of the program */
	options.rounds = 2;
	events = count(&options);
	assert_in_range(
	    events, 100000, 300000); /* by the compiler of the program */
	options.cpu_count = 2;
	assert_int_equal(count(&options), events);
	options.workload = "spin,sort,deep";
	options.settings = "kernel=0 pin=1,1,1 slice=20000";
	assert_int_equal(count(&options), events);
	options.profile = "pentium-m";
	assert_int_equal(count(&options), events);
	options.profile = "icelake";
	options.invariants = false;
	assert_int_equal(count(&options), events);
	options.cc = "clang";
	assert_int_equal(count(&options), events);
}

/* The program and what else ring 3 of its CPU does. */
static void
a_cpu_is_counted(void **state)
{
	static const char *const profiles[] = { "skylake", "pentium-m" };
	struct run_options options = hwpmc_options("cpu");

	(void)state;
	options.cpu_count = 2;
	options.settings = "kernel=0";
	for (size_t i = 0; i < TZ_ARRAY_LEN(profiles); i++) {
		options.profile = profiles[i];
		assert_in_range(count(&options), 50000, 200000);
	}
}

/* As many samples as periods; each is an interrupt of its own. */
static void
a_cpu_is_sampled(void **state)
{
	static const char *const profiles[] = { "skylake", "pentium-m" };
	struct run_options options = hwpmc_options("sample");
	struct run_outcome outcome;
	uint64_t samples;

	(void)state;
	options.cpu_count = 2;
	options.settings = "kernel=0 period=1000";
	for (size_t i = 0; i < TZ_ARRAY_LEN(profiles); i++) {
		options.profile = profiles[i];
		run(&options, &outcome);
		samples = number_before(&outcome, " samples");
		assert_in_range(samples, 50, 300);
		/* A PMI may come when ring 3 has just been left. */
		assert_in_range(number_before(&outcome, " of ring 3"),
		    samples - samples / 10, samples);
		assert_true(number_before(&outcome, " interrupts") >= samples);
		assert_int_equal(number_before(&outcome, " ignored"), 0);
		assert_int_equal(number_before(&outcome, " drop\n"), 0);
	}
}

/* A ring of two samples for each tick: the rest are stalls, and no sample is made up. */
static void
a_full_ring_stalls_the_counter(void **state)
{
	struct run_options options = hwpmc_options("stall");
	struct run_outcome outcome;

	(void)state;
	options.settings = "kernel=0 period=1000 kern.hwpmc.nsamples=2";
	run(&options, &outcome);
	assert_true(number_before(&outcome, " without room") > 0);
	assert_true(number_before(&outcome, " samples") > 0);
}

/* The family's two children run three programs; a program's code is mapped and unmapped. */
static void
the_log_has_children_and_execs(void **state)
{
	struct run_options options = hwpmc_options("family");
	struct run_outcome outcome;

	(void)state;
	options.mode = RUN_MODE_THREAD;
	options.cpu_count = 2;
	options.workload = "family";
	options.settings = "logexit=1";
	run(&options, &outcome);
	assert_int_equal(number_before(&outcome, " exec,"), 3);
	assert_int_equal(number_before(&outcome, " fork,"), 2);
	assert_int_equal(number_before(&outcome, " process exit,"), 3);
	options.settings = "period=20000";
	run(&options, &outcome);
	assert_int_equal(number_before(&outcome, " exec,"), 3);
	assert_int_equal(number_before(&outcome, " unmap,"), 1);
}

static void
a_migrating_process_is_sampled(void **state)
{
	struct run_options options = hwpmc_options("migrate");
	struct run_outcome outcome;

	(void)state;
	options.mode = RUN_MODE_THREAD;
	options.cpu_count = 4;
	options.workload = "migrate";
	options.rounds = 10;
	options.settings = "kernel=0 period=1000";
	run(&options, &outcome);
	assert_true(number_before(&outcome, " samples") > 500);
}

/* Values are equal to the execution log's count, also those of counters that run. */
static void
counts_are_as_executed(void **state)
{
	static const char *const profiles[] = { "skylake", "pentium-m",
		"icelake" };
	struct run_options options = hwpmc_options("counts");
	struct verify_result result;

	(void)state;
	options.cpu_count = 2;
	for (size_t i = 0; i < TZ_ARRAY_LEN(profiles); i++) {
		options.profile = profiles[i];
		options.settings = "reads=1 event=0xc0,0xc4";
		options.mode = RUN_MODE_CPU;
		verify(&options, &result);
		assert_int_equal(result.counter_count, 4);
		assert_true(result.counters[0].values > 1);
		assert_true(result.counters[0].events > 100000);
		verify_result_free(&result);
		options.mode = RUN_MODE_THREAD;
		options.settings = "event=0xc0,0xc4 logexit=1 logswitch=1";
		options.workload = "family";
		verify(&options, &result);
		assert_int_equal(result.counter_count, 2);
		assert_true(result.counters[0].entries >= 3);
		assert_true(result.process_entries >= 6);
		verify_result_free(&result);
		options.workload = "spin";
	}
}

/* Samples too: their address, CPU, ring and process, and what was lost. */
static void
samples_are_as_executed(void **state)
{
	static const char *const profiles[] = { "skylake", "pentium-m" };
	struct run_options options = hwpmc_options("samples");
	struct verify_result result;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(profiles); i++) {
		options.profile = profiles[i];
		options.cpu_count = 4;
		options.mode = RUN_MODE_THREAD;
		options.workload = "migrate";
		options.settings = "kernel=0 period=1000";
		options.rounds = 5;
		verify(&options, &result);
		assert_true(result.counters[0].read > 100);
		verify_result_free(&result);
		options.cpu_count = 2;
		options.mode = RUN_MODE_CPU;
		options.workload = "spin";
		options.settings = "period=1000 kern.hwpmc.nsamples=2";
		options.rounds = 1;
		verify(&options, &result);
		assert_true(result.counters[0].no_room > 0);
		verify_result_free(&result);
	}
}

/*
 * Callers of ring 3, also of samples in functions without a frame and between PUSH RBP and
 * MOV RBP, RSP, which the walk from frame to frame passes over.
 */
static void
callchains_are_as_executed(void **state)
{
	struct run_options options = hwpmc_options("callchain");
	struct verify_result result;

	(void)state;
	options.cpu_count = 2;
	options.mode = RUN_MODE_THREAD;
	options.workload = "mix";
	options.settings = "kernel=0 callchain=1 period=1000";
	verify(&options, &result);
	assert_true(result.counters[0].chains > 20);
	verify_result_free(&result);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_source_is_the_one_that_is_described),
		cmocka_unit_test(a_process_is_counted_alike_everywhere),
		cmocka_unit_test(a_cpu_is_counted),
		cmocka_unit_test(a_cpu_is_sampled),
		cmocka_unit_test(a_full_ring_stalls_the_counter),
		cmocka_unit_test(the_log_has_children_and_execs),
		cmocka_unit_test(a_migrating_process_is_sampled),
		cmocka_unit_test(counts_are_as_executed),
		cmocka_unit_test(samples_are_as_executed),
		cmocka_unit_test(callchains_are_as_executed),
	};

	whole_init(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
