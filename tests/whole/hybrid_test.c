/*
 * Goal: on a machine of several CPU models, and with errata that show, a trace
 * decodes to what was executed, each CPU's as that CPU makes it; a driver that takes
 * one CPU's word for all is found out.
 * Method: whole runs at test size.
 */
#include "emu/profile/profile.h"
#include "harness/load/paths.h"
#include "tests/whole/whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CPUS 4

/* BranchEn, TSCEn, User, OS and CYCEn; with the cycle threshold 5 or 8. */
#define CTL_THRESHOLD_5 "ctl=0x28240e"
#define CTL_THRESHOLD_8 "ctl=0x40240e"
/* The first without a threshold, and MTCEn with MTCFreq 3. */
#define CTL_TIMED "ctl=0xe60e"
/* CYCs without a threshold: CYC 32 to 63, CYC 30 occurs where no overflow is. */
#define CTL_CYC "ctl=0x260e"

static struct run_options
hybrid_options(const char *driver, const char *name)
{
	struct run_options options = whole_options(driver, name);

	options.cpu_count = CPUS;
	options.profile = "alderlake-p,alderlake-e";
	return options;
}

static void
expect_match(const struct run_options *options)
{
	struct verify_result result;

	whole_verify(options, &result);
	whole_assert_match(&result, options->cpu_count, 50000);
	verify_result_free(&result);
}

static void
every_core_decodes_to_the_truth(void **state)
{
	struct run_options options = hybrid_options("insntrace", "cores");

	(void)state;
	expect_match(&options);
	options.settings = CTL_TIMED;
	expect_match(&options);
	options.profile = "alderlake-e-old*2,alderlake-p*2";
	options.settings = CTL_THRESHOLD_5;
	expect_match(&options);
}

static void
the_bundle_says_which_cpu_is_what(void **state)
{
	struct run_options options = hybrid_options("insntrace", "models");
	struct run_outcome outcome;
	struct bundle *bundle;

	(void)state;
	options.profile = "alderlake-p*3,alderlake-e";
	options.errata = "apl11";
	whole_run(&options, &outcome);
	assert_int_equal(bundle_open(options.output, &bundle, NULL), 0);
	assert_int_equal(bundle->info.cpu_count, CPUS);
	for (unsigned i = 0; i < CPUS; i++) {
		const struct bundle_model *model = &bundle->info.model[i];

		assert_string_equal(model->profile,
		    i == CPUS - 1 ? "alderlake-e" : "alderlake-p");
		assert_int_equal(model->signature, 0x90672);
		assert_int_equal(
		    model->errata, UINT32_C(1) << PROFILE_ERRATUM_APL11);
	}
	bundle_close(bundle);
}

/* What the E-cores alone could do is refused, not written to the P-cores. */
static void
what_a_core_lacks_is_refused(void **state)
{
	static const char *const orders[] = { "alderlake-e-old,alderlake-p",
		"alderlake-p,alderlake-e-old" };
	struct run_options options = hybrid_options("insntrace", "refused");
	struct run_outcome outcome;

	(void)state;
	options.settings = CTL_THRESHOLD_8;
	for (size_t i = 0; i < TZ_ARRAY_LEN(orders); i++) {
		options.profile = orders[i];
		whole_run(&options, &outcome);
		assert_int_equal(outcome.result.end, MACHINE_EXIT);
		assert_non_null(
		    strstr(outcome.console, "AllocateBuffer: INVALID_ARGS"));
	}
	options.profile = "alderlake-e-old";
	expect_match(&options);
}

/* A copy of the driver in FOLDER that takes CPU 0's CPUID for that of all. */
static void
make_hasty_driver(const char *folder)
{
	char command[4 * WHOLE_PATH_BYTES];
	struct paths paths;
	struct tz_error err;

	assert_int_equal(paths_find(&paths, &err), 0);
	snprintf(command, sizeof(command),
	    "cp -r '%s/insntrace' '%s' && sed -i "
	    "'s/caps_meet(caps, &cpu_caps.i.);/(void)i;/w %s/edited' "
	    "'%s/insntrace/core/hw/hw.c' && test -s '%s/edited'",
	    paths.drivers, folder, folder, folder, folder);
	assert_int_equal(system(command), 0);
	paths_free(&paths);
}

static void
one_cpus_word_for_all_is_a_fault_on_another(void **state)
{
	struct run_options options = hybrid_options("insntrace", "hasty");
	char folder[] = "hasty-XXXXXX", command[64];
	struct run_outcome outcome;

	(void)state;
	assert_non_null(mkdtemp(folder));
	make_hasty_driver(folder);
	options.drivers = folder;
	options.profile = "alderlake-e-old,alderlake-p";
	options.settings = CTL_THRESHOLD_8;
	whole_run(&options, &outcome);
	assert_int_equal(outcome.result.end, MACHINE_PANIC);
	assert_non_null(strstr(outcome.result.text, "general protection"));
	assert_int_equal(outcome.result.cpu % 2, 1);
	assert_non_null(strstr(outcome.where, "hw_start"));
	/* On cores that are alike it is right. */
	options.profile = "alderlake-e-old";
	expect_match(&options);
	snprintf(command, sizeof(command), "rm -rf './%s'", folder);
	assert_int_equal(system(command), 0);
}

static struct run_options
thread_options(const char *name)
{
	struct run_options options = hybrid_options("freebsd-pt", name);

	options.source = whole_driver_source();
	options.mode = RUN_MODE_THREAD;
	return options;
}

static void
a_thread_on_a_core_of_either_kind_decodes_to_the_truth(void **state)
{
	(void)state;
	for (unsigned cpu = 1; cpu <= 2; cpu++) {
		struct run_options options = thread_options("pinned");
		struct verify_result result;

		options.workload = "spin";
		options.rounds = 4;
		options.settings = cpu == 1
		    ? "pin=1 linger=1 drain=0 ithread_cpu=0"
		    : "pin=2 linger=1 drain=0 ithread_cpu=0";
		whole_verify(&options, &result);
		whole_assert_match(&result, 1, 100000);
		verify_result_free(&result);
	}
}

/*
 * FB-10: each switch-in rewinds the buffer, so bytes are lost, here as anywhere; what
 * is left of a thread that went from kind to kind is right.
 */
static void
a_thread_that_goes_from_core_to_core_is_right_where_it_is_left(void **state)
{
	struct run_options options = thread_options("migrating");
	struct verify_options how = { .rows = UINT32_MAX };
	struct run_outcome outcome;
	struct verify_result result;
	struct bundle *bundle;

	(void)state;
	options.workload = "migrate";
	/* With this slice no PMI is followed by a switch-out at once, as in FB-08. */
	options.settings = "slice=300000";
	whole_run(&options, &outcome);
	assert_int_equal(run_verdict(&outcome), RUN_PASSED);
	for (unsigned i = 0; i < CPUS; i++)
		assert_true(outcome.cpu[i].counters.trace_bytes > 0);
	assert_int_equal(bundle_open(options.output, &bundle, NULL), 0);
	assert_int_equal(verify_bundle(bundle, &how, &result, NULL), 0);
	bundle_close(bundle);
	assert_true(result.streams[0].decoded > 100000);
	for (size_t i = 0; i < result.stream_count; i++)
		assert_false(result.streams[i].difference.found);
	verify_result_free(&result);
}

/* A small internal buffer that overflows. */
#define SMALL_BUFFER \
 {                   \
  256, 1, 8, 100, 0  \
 }

/*
 * Errata that a whole run can show; libipt minds what the bundle says.  With SKD010
 * it goes on at the next TIP, or not, or wrongly, and what is lost by that is counted.
 */
static const struct flawed {
	const char *errata, *profile, *settings;
	struct pt_cycles cycles;
	bool misleads;
} flawed[] = {
	{ "bdm70", "skylake", "", { 0 }, false },
	{ "bdm70", "alderlake-p,alderlake-e", CTL_TIMED, { 0 }, false },
	{ "skd007", "skylake", CTL_TIMED, SMALL_BUFFER, false },
	{ "skd007", "skylake", CTL_CYC, SMALL_BUFFER, false },
	{ "skd010", "skylake", CTL_TIMED, SMALL_BUFFER, true },
};

/* Have two bundles the same trace of CPU 0? */
static bool
is_same_trace(const char *a, const char *b)
{
	char command[3 * WHOLE_PATH_BYTES];

	snprintf(
	    command, sizeof(command), "cmp -s '%s/cpu0.pt' '%s/cpu0.pt'", a, b);
	return system(command) == 0;
}

static void
what_errata_show_is_minded_by_the_decoder(void **state)
{
	const char *sound = whole_options("insntrace", "sound").output;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(flawed); i++) {
		struct run_options options = whole_options(
		    "insntrace", "flawed");
		const char *output = options.output;
		struct verify_result result;
		struct run_outcome outcome;

		options.cpu_count = 2;
		options.profile = flawed[i].profile;
		options.settings = flawed[i].settings;
		options.pt_cycles = flawed[i].cycles;
		options.output = sound;
		whole_run(&options, &outcome);
		options.output = output;
		options.errata = flawed[i].errata;
		whole_verify(&options, &result);
		assert_false(is_same_trace(sound, output));
		if (!result.match) {
			verify_print(&result, stderr);
			fail_msg("%s", flawed[i].errata);
		}
		for (size_t j = 0; j < result.stream_count; j++) {
			const struct verify_stream *stream = &result.streams[j];

			assert_true(stream->decoded > 5000);
			assert_int_equal(
			    stream->misled > 0, flawed[i].misleads);
			assert_int_equal(stream->expected,
			    stream->matched + stream->overflown);
		}
		verify_result_free(&result);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_core_decodes_to_the_truth),
		cmocka_unit_test(the_bundle_says_which_cpu_is_what),
		cmocka_unit_test(what_a_core_lacks_is_refused),
		cmocka_unit_test(one_cpus_word_for_all_is_a_fault_on_another),
		cmocka_unit_test(
		    a_thread_on_a_core_of_either_kind_decodes_to_the_truth),
		cmocka_unit_test(
		    a_thread_that_goes_from_core_to_core_is_right_where_it_is_left),
		cmocka_unit_test(what_errata_show_is_minded_by_the_decoder),
	};

	whole_init(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
