/*
 * Goal: the time in traces of whole runs is the machine's, whatever timing packets
 * are on and however fast the core is. Method: runs at test size with IA32_RTIT_CTL
 * chosen by the row; the verdict compares libipt's time and the exact one with what
 * the core clock read; two ways of running give equal traces.
 */
#include "tests/whole/whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* BranchEn, OS, User and what a row adds. */
#define CTL(more)    (0x200cu | (more))
#define CYC          0x2u
#define MTC(freq)    (0x200u | (freq) << 14)
#define TSC          0x400u
#define THRESHOLD(n) ((n) << 19)

struct row {
	uint32_t ctl;
	uint32_t core_cbr;
	bool exact; /* one tick at every packet */
	uint64_t largest, widest;
};

static const struct row rows[] = {
	/* A cycle is a tick: no error at all. */
	{ CTL(TSC | MTC(3u) | CYC), 0, true, 1, 0 },
	{ CTL(TSC | MTC(0u) | CYC), 0, true, 1, 0 },
	{ CTL(TSC | MTC(9u) | CYC), 0, true, 1, 0 },
	{ CTL(TSC | CYC), 0, true, 1, 0 },
	{ CTL(TSC | MTC(3u) | CYC | THRESHOLD(1u)), 0, true, 1, 0 },
	/* What a threshold of 32 cycles hides, before and after. */
	{ CTL(TSC | MTC(3u) | CYC | THRESHOLD(6u)), 0, false, 100, 62 },
	/*
	 * It hides cycles from libipt's measure of the core clock, too.  512 cycles
	 * are 421 ticks, and what PAUSE adds comes on top.
	 */
	{ CTL(TSC | MTC(0u) | CYC | THRESHOLD(5u)), 0, false, 60, 30 },
	{ CTL(TSC | MTC(3u) | CYC | THRESHOLD(8u)), 0, false, 400, 254 },
	{ CTL(TSC | MTC(3u) | CYC | THRESHOLD(10u)), 45, false, 1700, 900 },
	/* A period of MTC: 8 crystal ticks of 154. */
	{ CTL(TSC | MTC(3u)), 0, false, 1233, 1232 },
	/* TSC alone: the time is not before it. */
	{ CTL(TSC), 0, false, 0, 0 },
	/* Another clock: within a tick. */
	{ CTL(TSC | MTC(3u) | CYC), 12, false, 84, 1 },
	{ CTL(TSC | MTC(3u) | CYC), 45, false, 300, 1 },
	{ CTL(TSC | CYC), 12, false, 3000, 1 },
	/* Its ticks a cycle are 49.85 256ths, of which libipt sees 49. */
	{ CTL(TSC | CYC), 190, false, 30000, 1 },
	/* Without MTC nothing but that: it measures no core clock then. */
	{ CTL(TSC | CYC | THRESHOLD(6u)), 12, false, 3000, 200 },
	{ CTL(TSC | CYC | THRESHOLD(10u)), 45, false, 3000, 900 },
};

/* With the cost model: as exact as with a cycle an instruction. */
static const struct row cost_rows[] = {
	{ CTL(TSC | MTC(3u) | CYC), 0, true, 1, 0 },
	{ CTL(TSC | MTC(0u) | CYC), 0, true, 1, 0 },
	{ CTL(TSC | CYC | THRESHOLD(6u)), 0, false, 3000, 200 },
	{ CTL(TSC | MTC(3u) | CYC), 45, false, 600, 1 },
};

static void
check_stream(const struct verify_stream *stream, const struct row *row)
{
	const struct verify_time *time = &stream->time;

	assert_true(time->compared > 5000);
	assert_int_equal(time->wrong, 0);
	assert_false(time->lost);
	assert_in_range(time->largest, 0, row->largest);
	assert_in_range(time->widest, 0, row->widest);
	if (row->exact)
		assert_int_equal(time->exact, time->compared);
}

static void
check_rows(const struct row *row, size_t count, bool cost)
{
	char settings[32];

	for (size_t i = 0; i < count; i++) {
		struct run_options options = whole_options(
		    "insntrace", "timing");
		struct verify_result result;

		snprintf(settings, sizeof(settings), "ctl=0x%x", row[i].ctl);
		options.settings = settings;
		options.core_cbr = row[i].core_cbr;
		options.cost = cost;
		options.cpu_count = i % 2 == 0 ? 1 : 2;
		whole_verify(&options, &result);
		whole_assert_match(&result, options.cpu_count, 50000);
		for (size_t n = 0; n < result.stream_count; n++)
			check_stream(&result.streams[n], &row[i]);
		verify_result_free(&result);
	}
}

static void
every_kind_of_timing_tells_the_time(void **state)
{
	(void)state;
	check_rows(rows, TZ_ARRAY_LEN(rows), false);
}

static void
so_it_does_with_the_cost_model(void **state)
{
	(void)state;
	check_rows(cost_rows, TZ_ARRAY_LEN(cost_rows), true);
}

static void
an_untimed_trace_has_no_time_to_compare(void **state)
{
	struct run_options options = whole_options("insntrace", "untimed");
	struct verify_result result;

	(void)state;
	whole_verify(&options, &result);
	assert_int_equal(result.streams[0].time.compared, 0);
	verify_result_free(&result);
}

/*
 * A bounded buffer: what was not lost to overflows is compared to the instruction,
 * and the time of what follows the next TSC.
 */
static void
overflows_are_accounted_for(void **state)
{
	static const struct {
		const char *settings;
		struct pt_cycles cycles;
		bool overflows;
	} buffers[] = {
		{ NULL, { 512, 8, 1, 50, 100 }, false },
		{ NULL, { 256, 1, 8, 100, 500 }, true },
		{ "ctl=0xe60e", { 256, 1, 8, 3000, 0 }, true },
		{ "ctl=0xe20c", { 256, 1, 16, 0, 0 }, true },
		{ "ctl=0x240c", { 300, 2, 13, 5, 5 }, true },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(buffers); i++) {
		struct run_options options = whole_options("insntrace", "ovf");
		struct verify_result result;

		if (buffers[i].settings != NULL)
			options.settings = buffers[i].settings;
		options.pt_cycles = buffers[i].cycles;
		options.cpu_count = 2;
		whole_verify(&options, &result);
		assert_true(result.match);
		assert_int_equal(result.stream_count, 2);
		for (size_t n = 0; n < result.stream_count; n++) {
			const struct verify_stream *stream = &result.streams[n];

			assert_int_equal(
			    stream->overflows > 5, buffers[i].overflows);
			assert_int_equal(stream->expected,
			    stream->matched + stream->overflown);
			assert_true(stream->matched > 5000);
		}
		verify_result_free(&result);
	}
}

/* A core that ran at 36 instead of 37: neither decoder can be right. */
static void
time_that_is_wrong_is_a_finding(void **state)
{
	struct run_options options = whole_options("insntrace", "wrong");
	struct verify_options how = { .rows = VERIFY_ROWS_DEFAULT };
	struct run_outcome outcome;
	struct verify_result result;
	struct bundle *bundle;

	(void)state;
	options.settings = "ctl=0xe60e";
	options.core_cbr = 36;
	whole_run(&options, &outcome);
	assert_int_equal(bundle_open(options.output, &bundle, NULL), 0);
	assert_int_equal(bundle->info.core_cbr, 36);
	assert_int_equal(verify_bundle(bundle, &how, &result, NULL), 0);
	assert_true(result.match);
	verify_result_free(&result);
	bundle->info.core_cbr = 0;
	assert_int_equal(verify_bundle(bundle, &how, &result, NULL), 0);
	bundle_close(bundle);
	assert_false(result.match);
	assert_false(result.streams[0].difference.found);
	assert_int_equal(result.finding_count, 1);
	assert_true(result.streams[0].time.wrong > 5000);
	assert_non_null(strstr(result.findings[0].text, "the time was"));
	verify_result_free(&result);
}

/* The same instructions, one by one. */
static void
time_depends_on_the_instructions_alone(void **state)
{
	struct run_options options = whole_options("insntrace", "blocks");
	struct run_outcome outcome;

	(void)state;
	options.settings = "ctl=0xe60e";
	options.cpu_count = 2;
	whole_run(&options, &outcome);
	assert_int_equal(run_verdict(&outcome), RUN_PASSED);
	options = whole_options("insntrace", "steps");
	options.settings = "ctl=0xe60e";
	options.cpu_count = 2;
	options.single_step = true;
	whole_run(&options, &outcome);
	assert_int_equal(run_verdict(&outcome), RUN_PASSED);
	assert_true(whole_equal("blocks/cpu0.pt", "steps/cpu0.pt"));
	assert_true(whole_equal("blocks/cpu1.pt", "steps/cpu1.pt"));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_timing_tells_the_time),
		cmocka_unit_test(so_it_does_with_the_cost_model),
		cmocka_unit_test(an_untimed_trace_has_no_time_to_compare),
		cmocka_unit_test(overflows_are_accounted_for),
		cmocka_unit_test(time_that_is_wrong_is_a_finding),
		cmocka_unit_test(time_depends_on_the_instructions_alone),
	};

	whole_init(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
