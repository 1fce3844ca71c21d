/*
 * Goal: the default driver traces, and every byte is accounted for, when its buffer
 * wraps and when it stops full. Method: whole runs at test size.
 */
#include "emu/profile/profile.h"
#include "tests/whole/whole.h"
#include "traces/verify/delivery/drains.h"
#include "traces/verify/delivery/file_delivery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SMALL_BYTES 65536

static void
a_buffer_that_is_never_full_decodes_to_the_truth(void **state)
{
	struct run_options options = whole_options("insntrace", "default");
	struct verify_result result;

	(void)state;
	options.cpu_count = 2;
	whole_verify(&options, &result);
	whole_assert_match(&result, 2, 100000);
	for (size_t i = 0; i < result.stream_count; i++)
		assert_int_equal(result.streams[i].rows[ACCOUNT_WRITTEN],
		    result.streams[i].rows[ACCOUNT_REPORTED]);
	verify_result_free(&result);
}

static void
a_session_left_without_a_stop_is_all_tail(void **state)
{
	struct run_options options = whole_options("insntrace", "left");
	struct verify_result result;

	(void)state;
	options.cpu_count = 2;
	options.settings = "leave=1";
	whole_verify(&options, &result);
	whole_assert_match(&result, 2, 100000);
	for (size_t i = 0; i < result.stream_count; i++)
		assert_int_equal(result.streams[i].rows[ACCOUNT_WRITTEN],
		    result.streams[i].rows[ACCOUNT_TAIL]);
	verify_result_free(&result);
}

static void
only_the_last_session_is_left_without_a_stop(void **state)
{
	struct run_options options = whole_options("insntrace", "left-last");
	struct verify_result result;

	(void)state;
	options.settings = "leave=1 sessions=2";
	whole_verify(&options, &result);
	whole_assert_match(&result, 1, 100000);
	assert_true(result.streams[0].rows[ACCOUNT_REPORTED] > 0);
	assert_true(result.streams[0].rows[ACCOUNT_TAIL] > 0);
	verify_result_free(&result);
}

/* The second program ends without what the first was asked to do at its end. */
static void
a_thread_is_traced_through_an_exec(void **state)
{
	struct run_options options = whole_options("insntrace", "exec");
	struct verify_result result;

	(void)state;
	options.cpu_count = 2;
	options.mode = RUN_MODE_THREAD;
	options.workload = "hop";
	whole_verify(&options, &result);
	whole_assert_match(&result, 1, 100000);
	verify_result_free(&result);
}

static void
the_run_ends_when_a_workload_dies(void **state)
{
	static const enum run_mode modes[] = { RUN_MODE_CPU, RUN_MODE_THREAD };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(modes); i++) {
		struct run_options options = whole_options("insntrace", "dies");
		struct run_outcome outcome;

		options.cpu_count = 2;
		options.mode = modes[i];
		options.settings = i == 0 ? "pin=7" : "pin=7 linger=1";
		whole_run(&options, &outcome);
		assert_int_equal(run_verdict(&outcome), RUN_FAILED);
		assert_int_equal(outcome.result.end, MACHINE_EXIT);
		assert_non_null(strstr(outcome.console, "no such CPU"));
	}
}

/*
 * The end of the first workload counts once: the trace goes
 * on until the second has ended.
 */
static void
the_trace_waits_for_the_longest_workload(void **state)
{
	struct run_options options = whole_options("insntrace", "longest");
	struct run_outcome outcome;
	const char *ended, *reported;

	(void)state;
	options.cpu_count = 2;
	options.workload = "sort,family";
	whole_run(&options, &outcome);
	assert_int_equal(run_verdict(&outcome), RUN_PASSED);
	ended = strstr(outcome.console, "workload 1: ");
	reported = strstr(outcome.console, "insntrace: CPU 0: ");
	assert_true(ended != NULL && reported != NULL && ended < reported);
}

/* A driver that waits without end must not take hours. */
static void
the_limit_follows_from_the_work(void **state)
{
	struct run_options options = whole_options("insntrace", "limit");

	(void)state;
	options.insns_max = run_defaults().insns_max;
	options.cpu_count = 2;
	options.rounds = 3;
	assert_true(run_limit(&options) == 300000000 + 600000000);
	options.rounds = UINT64_MAX;
	assert_true(run_limit(&options) == INT64_MAX);
	options.rounds = 1;
	options.settings = "heap=pages insns=5000000000";
	assert_true(run_limit(&options) == INT64_MAX);
	options.insns_max = 7;
	assert_true(run_limit(&options) == 7);
}

static void
the_console_is_in_the_bundle(void **state)
{
	struct run_options options = whole_options("insntrace", "console");
	char path[WHOLE_PATH_BYTES + 16], text[1024] = "";
	struct run_outcome outcome;
	FILE *file;

	(void)state;
	whole_run(&options, &outcome);
	snprintf(path, sizeof(path), "%s/console.txt", options.output);
	file = fopen(path, "r");
	assert_non_null(file);
	(void)fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	assert_string_equal(text, outcome.console);
	assert_non_null(strstr(text, "insntrace: CPU 0: "));
}

static void
a_circular_buffer_reports_exactly_what_its_wraps_lost(void **state)
{
	struct run_options options = whole_options("insntrace", "circular");
	struct verify_options how = { .rows = VERIFY_ROWS_DEFAULT |
		    1u << ACCOUNT_PREFIX };
	struct run_outcome outcome;
	struct verify_result result;
	struct bundle *bundle;

	(void)state;
	options.cpu_count = 2;
	options.rounds = 20;
	options.buffer_bytes = SMALL_BYTES;
	whole_run(&options, &outcome);
	assert_int_equal(run_verdict(&outcome), RUN_PASSED);
	assert_int_equal(bundle_open(options.output, &bundle, NULL), 0);
	assert_int_equal(verify_bundle(bundle, &how, &result, NULL), 0);
	bundle_close(bundle);
	assert_true(result.match);
	assert_int_equal(result.stream_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct verify_stream *stream = &result.streams[i];

		assert_true(outcome.cpu[i].wraps >= 3);
		assert_int_equal(stream->rows[ACCOUNT_REPORTED] +
			stream->rows[ACCOUNT_PREFIX],
		    SMALL_BYTES);
		assert_int_equal(stream->rows[ACCOUNT_WRITTEN],
		    stream->rows[ACCOUNT_LOST] + SMALL_BYTES);
		assert_true(stream->decoded > 50000);
		assert_int_equal(stream->decoded, stream->matched);
		assert_int_equal(
		    stream->decoded + stream->beyond, stream->expected);
	}
	verify_result_free(&result);
}

static void
a_buffer_that_stops_full_reports_all_of_it(void **state)
{
	struct run_options options = whole_options("insntrace", "full");
	struct verify_result result;

	(void)state;
	options.cpu_count = 2;
	options.rounds = 10;
	options.buffer_bytes = SMALL_BYTES;
	options.settings = "full=1";
	whole_verify(&options, &result);
	assert_true(result.match);
	assert_int_equal(result.stream_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct verify_stream *stream = &result.streams[i];

		assert_int_equal(stream->rows[ACCOUNT_WRITTEN], SMALL_BYTES);
		assert_int_equal(stream->rows[ACCOUNT_REPORTED], SMALL_BYTES);
		assert_true(stream->decoded > 50000);
		assert_true(stream->beyond < 200);
	}
	verify_result_free(&result);
}

/* Where the next bytes of a stream were read, from one page to the next. */
struct place {
	uint64_t pa, bytes;
};

/* Those of STREAM, at most ROOM; what two events read of one stretch counts once. */
static size_t
places_of(const struct event *events, size_t count, uint64_t stream,
    struct place *places, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		struct place *last = &places[used - 1];

		if (events[i].kind != EVENT_DRAIN || events[i].a != stream)
			continue;
		if (used != 0 && last->pa + last->bytes == events[i].b) {
			last->bytes += events[i].c;
			continue;
		}
		assert_true(used < room);
		places[used++] = (struct place){ events[i].b, events[i].c };
	}
	return used;
}

static int
load_trace_off(struct verify_work *work)
{
	int error = 0;

	for (unsigned cpu = 0; cpu < work->bundle->info.cpu_count && error == 0;
	     cpu++)
		error = bundle_read_trace_off(
		    work->bundle, cpu, &work->trace_off[cpu], work->err);
	return error;
}

/* Finds the streams of BUNDLE again, without its reads; each must be where it was read. */
static void
assert_found_again(const struct bundle *bundle)
{
	static struct place was[4096], is[4096];
	struct verify_result result = { 0 };
	struct verify_work work = { .bundle = bundle, .result = &result };
	struct event *events, *others;
	size_t count, other_count = 0;

	assert_int_equal(bundle_read_events(bundle, &events, &count, NULL), 0);
	assert_false(file_delivery_needed(&work, events, count));
	others = calloc(count, sizeof(*others));
	assert_non_null(others);
	for (size_t i = 0; i < count; i++)
		if (events[i].kind != EVENT_DRAIN)
			others[other_count++] = events[i];
	assert_true(file_delivery_needed(&work, others, other_count));
	assert_int_equal(load_trace_off(&work), 0);
	assert_int_equal(file_delivery_read(&work, &others, &other_count), 0);
	assert_int_equal(result.finding_count, 0);
	for (size_t i = 0; i < bundle->stream_count; i++) {
		const struct bundle_stream *file = &bundle->streams[i];
		uint64_t stream = file->thread ? EVENT_STREAM_THREAD | file->id
					       : file->id;
		size_t places = places_of(events, count, stream, was, 4096);

		assert_true(places != 0);
		assert_int_equal(
		    places_of(others, other_count, stream, is, 4096), places);
		assert_memory_equal(was, is, places * sizeof(*was));
	}
	free(events);
	free(others);
	for (unsigned cpu = 0; cpu < BUNDLE_CPUS_MAX; cpu++)
		trace_off_free(&work.trace_off[cpu]);
	delivery_free(&work.delivery);
}

static void
streams_are_found_again_without_their_reads(void **state)
{
	static const struct {
		const char *name, *settings;
		enum run_mode mode;
	} rows[] = {
		{ "again-cpu", "", RUN_MODE_CPU },
		{ "again-full", "full=1", RUN_MODE_CPU },
		{ "again-thread", "traces=2", RUN_MODE_THREAD },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run_options options = whole_options(
		    "insntrace", rows[i].name);
		struct run_outcome outcome;
		struct bundle *bundle;

		options.cpu_count = 2;
		options.mode = rows[i].mode;
		options.settings = rows[i].settings;
		options.buffer_bytes = SMALL_BYTES;
		options.rounds = 10;
		whole_run(&options, &outcome);
		assert_int_equal(bundle_open(options.output, &bundle, NULL), 0);
		assert_found_again(bundle);
		bundle_close(bundle);
	}
}

/*
 * Every CPU model that has what the driver needs, the families with long TNT and
 * deferred TIPs among them; with and without timing packets.
 */
static void
every_profile_decodes_to_the_truth(void **state)
{
	const struct profile *profile;
	unsigned count = 0;

	(void)state;
	for (size_t i = 0; (profile = profile_at(i)) != NULL; i++) {
		struct run_options options = whole_options("insntrace", "all");
		struct verify_result result;

		if (!profile->pt)
			continue;
		options.profile = profile->name;
		options.cpu_count = 2;
		options.settings = i % 2 != 0 ? "ctl=0xe60e" : "";
		/* One entry is one chunk, of 1 MiB. */
		if (!(profile->pt_ecx & PROFILE_PT_ECX_MENTRY))
			options.settings = "full=1 order=8";
		whole_verify(&options, &result);
		whole_assert_match(&result, 2, 50000);
		verify_result_free(&result);
		count++;
	}
	assert_int_equal(count, 26);
}

/*
 * SDM vol. 3, 33.3.1 "Detection of Intel PT": Broadwell's tables have one entry, and
 * its PMI comes early.  The driver refuses many chunks; of one it looks at the early
 * PMI, goes on, and is full.
 */
static void
one_entry_is_one_chunk(void **state)
{
	struct run_options options = whole_options("insntrace", "single");
	struct run_outcome outcome;
	struct verify_result result;

	(void)state;
	options.profile = "broadwell";
	whole_run(&options, &outcome);
	assert_int_equal(run_verdict(&outcome), RUN_FAILED);
	assert_non_null(
	    strstr(outcome.console, "AllocateBuffer: NOT_SUPPORTED"));
	options.buffer_bytes = 4096;
	options.settings = "full=1";
	whole_run(&options, &outcome);
	assert_int_equal(run_verdict(&outcome), RUN_PASSED);
	assert_int_equal(outcome.cpu[0].counters.pmis, 2);
	whole_verify(&options, &result);
	assert_true(result.match);
	assert_int_equal(result.streams[0].rows[ACCOUNT_REPORTED], 4096);
	verify_result_free(&result);
}

/* A thread that runs on two CPUs, and the bytes that wraps overwrote. */
static void
a_thread_is_traced_on_each_of_its_cpus(void **state)
{
	static const struct {
		const char *workload, *settings;
		uint64_t buffer_bytes;
	} runs[] = {
		{ "migrate", "slice=20000", 65536 },
		{ "mix", "slice=20000", 32768 },
		{ "mix", "slice=20000 full=1", 32768 },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(runs); i++) {
		struct run_options options = whole_options(
		    "insntrace", "thread");
		struct run_outcome outcome;
		struct verify_result result;
		uint64_t lost;

		options.mode = RUN_MODE_THREAD;
		options.cpu_count = 2;
		options.rounds = 6;
		options.workload = runs[i].workload;
		options.settings = runs[i].settings;
		options.buffer_bytes = runs[i].buffer_bytes;
		whole_run(&options, &outcome);
		assert_int_equal(run_verdict(&outcome), RUN_PASSED);
		whole_verify(&options, &result);
		assert_true(result.match);
		assert_int_equal(result.stream_count, 1);
		assert_true(result.streams[0].thread);
		lost = result.streams[0].rows[ACCOUNT_LOST];
		assert_int_equal(lost != 0, i == 1);
		assert_int_equal(result.streams[0].rows[ACCOUNT_REPORTED] +
			result.streams[0].rows[ACCOUNT_PREFIX] + lost,
		    result.streams[0].rows[ACCOUNT_WRITTEN]);
		/* Of the first one, both CPUs wrote into one buffer. */
		if (i == 0)
			assert_true(outcome.cpu[0].counters.trace_bytes != 0 &&
			    outcome.cpu[1].counters.trace_bytes != 0);
		verify_result_free(&result);
	}
}

static void
threads_of_one_process_have_buffers_of_their_own(void **state)
{
	struct run_options options = whole_options("insntrace", "threads");
	struct verify_result result;

	(void)state;
	options.mode = RUN_MODE_THREAD;
	options.cpu_count = 2;
	options.workload = "pair";
	options.settings = "traces=2 slice=5000";
	whole_verify(&options, &result);
	assert_true(result.match);
	assert_int_equal(result.stream_count, 2);
	for (size_t i = 0; i < result.stream_count; i++)
		assert_true(
		    result.streams[i].thread && result.streams[i].matched != 0);
	verify_result_free(&result);
}

/* Broadwell has no XSAVES.  CR3 filtering and one ring alone are not of a thread. */
static void
what_a_thread_cannot_have_is_refused(void **state)
{
	static const struct {
		const char *profile, *settings, *says;
	} runs[] = {
		{ "broadwell", "", "Initialize: NOT_SUPPORTED" },
		{ "skylake", "kernel=0", "AllocateBuffer: INVALID_ARGS" },
		{ "skylake", "user=0", "AllocateBuffer: INVALID_ARGS" },
		{ "skylake", "cr3=0x200000", "AllocateBuffer: INVALID_ARGS" },
		{ "skylake", "traces=65", "Initialize: INVALID_ARGS" },
		{ "skylake", "traces=0", "Initialize: INVALID_ARGS" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(runs); i++) {
		struct run_options options = whole_options(
		    "insntrace", "refused");
		struct run_outcome outcome;

		options.mode = RUN_MODE_THREAD;
		options.profile = runs[i].profile;
		options.settings = runs[i].settings;
		whole_run(&options, &outcome);
		assert_int_equal(run_verdict(&outcome), RUN_FAILED);
		assert_non_null(strstr(outcome.console, runs[i].says));
	}
}

static void
two_runs_give_the_same_bundle(void **state)
{
	struct run_options options = whole_options("insntrace", "once");
	struct run_outcome outcome;

	(void)state;
	options.cpu_count = 4;
	whole_run(&options, &outcome);
	options.output = whole_options("insntrace", "twice").output;
	whole_run(&options, &outcome);
	assert_true(whole_equal("once", "twice"));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_buffer_that_is_never_full_decodes_to_the_truth),
		cmocka_unit_test(a_session_left_without_a_stop_is_all_tail),
		cmocka_unit_test(only_the_last_session_is_left_without_a_stop),
		cmocka_unit_test(a_thread_is_traced_through_an_exec),
		cmocka_unit_test(the_run_ends_when_a_workload_dies),
		cmocka_unit_test(the_trace_waits_for_the_longest_workload),
		cmocka_unit_test(the_limit_follows_from_the_work),
		cmocka_unit_test(the_console_is_in_the_bundle),
		cmocka_unit_test(
		    a_circular_buffer_reports_exactly_what_its_wraps_lost),
		cmocka_unit_test(a_buffer_that_stops_full_reports_all_of_it),
		cmocka_unit_test(every_profile_decodes_to_the_truth),
		cmocka_unit_test(one_entry_is_one_chunk),
		cmocka_unit_test(a_thread_is_traced_on_each_of_its_cpus),
		cmocka_unit_test(
		    threads_of_one_process_have_buffers_of_their_own),
		cmocka_unit_test(what_a_thread_cannot_have_is_refused),
		cmocka_unit_test(streams_are_found_again_without_their_reads),
		cmocka_unit_test(two_runs_give_the_same_bundle),
	};

	whole_init(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
