/*
 * Goal: Linux's Debug Store driver of 2008, unmodified, records what programs in ring 3
 * branch, and every record that a debugger reads is what was executed; what the driver is
 * known to do wrong shows.  Method: whole runs, from its source to the verdict.
 */
#include "tests/whole/whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct run_options
linux_options(const char *name, const char *workload)
{
	struct run_options options = whole_options("linux-ds", name);

	options.source = whole_driver_source();
	options.workload = workload;
	options.mode = RUN_MODE_THREAD;
	return options;
}

static void
assert_records(const struct run_options *options, uint64_t least)
{
	struct verify_result result;

	whole_verify(options, &result);
	if (!result.match)
		verify_print(&result, stderr);
	assert_true(result.match);
	assert_int_equal(result.record_count, 1);
	assert_true(result.records[0].read >= least);
	assert_int_equal(result.records[0].matched, result.records[0].read);
	verify_result_free(&result);
}

static void
records_equal_the_truth(void **state)
{
	static const char *const workloads[] = { "sort", "edge", "fault",
		"string" };

	(void)state;
	for (unsigned i = 0; i < TZ_ARRAY_LEN(workloads); i++) {
		struct run_options options = linux_options(
		    workloads[i], workloads[i]);

		options.settings = "poll=15000";
		options.cpu_count = 1 + i % 2;
		assert_records(&options, 4000);
	}
}

static void
four_cpus_and_both_compilers_record_the_same(void **state)
{
	struct run_options options = linux_options("four", "mix");

	(void)state;
	options.cpu_count = 4;
	options.settings = "poll=9000";
	assert_records(&options, 10000);
	options.cc = "clang";
	options.invariants = false;
	assert_records(&options, 10000);
}

/* Without a filter by privilege level the kernel's branches are recorded, too. */
static void
a_pentium_m_records_the_kernel(void **state)
{
	struct run_options options = linux_options("pentium", "sort");

	(void)state;
	options.profile = "pentium-m";
	options.settings = "sched=0 poll=15000";
	assert_records(&options, 4000);
}

static void
every_cpu_is_recorded(void **state)
{
	struct run_options options = linux_options("cpus", "mix");
	struct verify_result result;

	(void)state;
	options.mode = RUN_MODE_ANY;
	options.cpu_count = 2;
	options.rounds = 2;
	options.settings = "poll=20000";
	whole_verify(&options, &result);
	if (!result.match)
		verify_print(&result, stderr);
	assert_true(result.match);
	assert_int_equal(result.record_count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_true(result.records[i].matched > 10000);
	verify_result_free(&result);
}

/* BTS and PEBS have a user each, of one save area. */
static void
every_cpu_is_sampled_too(void **state)
{
	struct run_options options = linux_options("pebs", "sort,branch");
	struct verify_result result;

	(void)state;
	options.mode = RUN_MODE_ANY;
	options.cpu_count = 2;
	options.settings = "poll=20000 sample=50";
	whole_verify(&options, &result);
	if (!result.match)
		verify_print(&result, stderr);
	assert_true(result.match);
	assert_int_equal(result.record_count, 4);
	assert_true(result.pebs_records > 20000);
	for (size_t i = 0; i < 4; i++) {
		const struct verify_records *records = &result.records[i];

		assert_true(records->matched > 5000);
		assert_int_equal(records->matched, records->read);
	}
	verify_result_free(&result);
}

static void
a_full_buffer_loses_whole_rounds(void **state)
{
	struct run_options options = linux_options("rounds", "sort");
	struct verify_result result;

	(void)state;
	options.buffer_bytes = 4096;
	whole_verify(&options, &result);
	assert_true(result.match);
	assert_true(result.records[0].overwritten > 10000);
	verify_result_free(&result);
}

/*
 * ds_write() moves the write position although the processor, which records ring 0, has
 * moved it meanwhile.
 */
static void
a_pentium_m_loses_records_at_a_switch(void **state)
{
	struct run_options options = linux_options("switch", "sort");
	struct verify_result result;

	(void)state;
	options.profile = "pentium-m";
	whole_verify(&options, &result);
	assert_false(result.match);
	assert_non_null(strstr(result.findings[0].text, "of a reading of"));
	verify_result_free(&result);
}

/* A thread that is made while its creator is recorded shares the context, and frees it. */
static void
a_new_thread_frees_its_creators_context(void **state)
{
	struct run_options options = linux_options("thread", "migrate");
	struct run_outcome outcome;

	(void)state;
	options.cpu_count = 2;
	whole_run(&options, &outcome);
	assert_int_equal(run_verdict(&outcome), RUN_FAILED);
	assert_int_equal(outcome.result.end, MACHINE_PANIC);
}

static void
an_unknown_processor_is_refused(void **state)
{
	struct run_options options = linux_options("unknown", "sort");
	struct run_outcome outcome;

	(void)state;
	options.profile = "skylake";
	whole_run(&options, &outcome);
	assert_int_equal(run_verdict(&outcome), RUN_FAILED);
	assert_non_null(strstr(outcome.console, "config: error 95"));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_equal_the_truth),
		cmocka_unit_test(four_cpus_and_both_compilers_record_the_same),
		cmocka_unit_test(a_pentium_m_records_the_kernel),
		cmocka_unit_test(every_cpu_is_recorded),
		cmocka_unit_test(every_cpu_is_sampled_too),
		cmocka_unit_test(a_full_buffer_loses_whole_rounds),
		cmocka_unit_test(a_pentium_m_loses_records_at_a_switch),
		cmocka_unit_test(a_new_thread_frees_its_creators_context),
		cmocka_unit_test(an_unknown_processor_is_refused),
	};

	whole_init(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
