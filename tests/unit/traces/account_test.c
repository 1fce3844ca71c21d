/*
 * The byte accounting on events made up for the purpose: clean, wrapped,
 * rewound, reported lost, tail, stale, named but never read.  The rows always
 * add up to what was written.
 */
#include "fixture.h"

#include "emu/guest_abi.h"
#include "traces/verify/account/account.h"

#define PA         UINT64_C(0x10000)
#define THREAD(id) (EVENT_STREAM_THREAD | (id))

struct log {
	bool files;
	struct event events[64];
	size_t count;
	struct account account;
};

static void
add(struct log *log, enum event_kind kind, unsigned cpu, uint64_t a, uint64_t b,
    uint64_t c)
{
	assert_true(log->count < TZ_ARRAY_LEN(log->events));
	log->events[log->count++] = (struct event){
		.kind = (uint16_t)kind,
		.cpu = (uint16_t)cpu,
		.a = a,
		.b = b,
		.c = c,
	};
}

static void
replay(struct log *log)
{
	struct tz_error err;

	if (account_replay(
		log->events, log->count, log->files, &log->account, &err) != 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < log->account.stream_count; i++) {
		const uint64_t *rows = log->account.streams[i].rows;

		assert_int_equal(rows[ACCOUNT_WRITTEN],
		    rows[ACCOUNT_REPORTED] + rows[ACCOUNT_LOST] +
			rows[ACCOUNT_TAIL] + rows[ACCOUNT_OVERWRITTEN] +
			rows[ACCOUNT_UNREPORTED]);
	}
}

static void
check_row(
    const struct log *log, size_t stream, enum account_row row, uint64_t bytes)
{
	assert_int_equal(log->account.streams[stream].rows[row], bytes);
}

static void
a_clean_run_reports_all_that_was_written(void **state)
{
	struct log log = { .count = 0 };

	(void)state;
	add(&log, EVENT_TRACE_ON, 0, 0, 0, 0);
	add(&log, EVENT_OUTPUT, 0, PA, 4096, 0);
	add(&log, EVENT_OUTPUT, 0, PA + 4096, 100, 4096);
	add(&log, EVENT_TRACE_OFF, 0, 0, 0, 4196);
	add(&log, EVENT_DRAIN, 0, 0, PA, 4096);
	add(&log, EVENT_DRAIN, 0, 0, PA + 4096, 100);
	replay(&log);
	assert_int_equal(log.account.stream_count, 1);
	check_row(&log, 0, ACCOUNT_WRITTEN, 4196);
	check_row(&log, 0, ACCOUNT_REPORTED, 4196);
	assert_int_equal(log.account.streams[0].piece_count, 1);
	account_free(&log.account);
}

static void
a_ring_may_wrap_when_its_reader_keeps_up(void **state)
{
	struct log log = { .count = 0 };

	(void)state;
	add(&log, EVENT_TRACE_ON, 0, 0, 0, 0);
	for (uint64_t i = 0; i < 6; i++) {
		add(&log, EVENT_OUTPUT, 0, PA + i % 2 * 4096, 4096, i * 4096);
		add(&log, EVENT_DRAIN, 0, 0, PA + i % 2 * 4096, 4096);
	}
	replay(&log);
	check_row(&log, 0, ACCOUNT_REPORTED, 6 * 4096);
	check_row(&log, 0, ACCOUNT_OVERWRITTEN, 0);
	assert_true(log.account.intervals[0].open);
	account_free(&log.account);
}

static void
a_rewound_pointer_overwrites_what_nobody_has_read(void **state)
{
	struct log log = { .count = 0 };

	(void)state;
	add(&log, EVENT_TRACE_ON, 0, 0, 0, 0);
	add(&log, EVENT_OUTPUT, 0, PA, 1000, 0);
	add(&log, EVENT_TRACE_OFF, 0, 0, 0, 1000);
	add(&log, EVENT_DRAIN, 0, 0, PA, 600);
	add(&log, EVENT_TRACE_ON, 0, 0, 0, 1000);
	add(&log, EVENT_OUTPUT, 0, PA, 900, 1000);
	add(&log, EVENT_TRACE_OFF, 0, 0, 0, 1900);
	add(&log, EVENT_DRAIN, 0, 0, PA, 900);
	replay(&log);
	check_row(&log, 0, ACCOUNT_WRITTEN, 1900);
	check_row(&log, 0, ACCOUNT_REPORTED, 1500);
	check_row(&log, 0, ACCOUNT_OVERWRITTEN, 300);
	check_row(&log, 0, ACCOUNT_UNREPORTED, 100);
	assert_int_equal(
	    log.account.streams[0].places[ACCOUNT_OVERWRITTEN].offset, 600);
	assert_int_equal(
	    log.account.streams[0].places[ACCOUNT_UNREPORTED].offset, 900);
	account_free(&log.account);
}

static void
what_the_driver_admits_to_have_lost_has_a_row_of_its_own(void **state)
{
	struct log log = { .count = 0 };

	(void)state;
	add(&log, EVENT_TRACE_ON, 0, 0, 0, 0);
	add(&log, EVENT_OUTPUT, 0, PA, 4096, 0);
	add(&log, EVENT_OUTPUT, 0, PA, 4096, 4096);
	add(&log, EVENT_LOST, 0, 0, 0, 4096);
	add(&log, EVENT_DRAIN, 0, 0, PA, 4096);
	replay(&log);
	check_row(&log, 0, ACCOUNT_LOST, 4096);
	check_row(&log, 0, ACCOUNT_OVERWRITTEN, 0);
	check_row(&log, 0, ACCOUNT_REPORTED, 4096);
	account_free(&log.account);
}

/* It excuses what was written before it, be it overwritten or skipped, of its stream. */
static void
what_is_skipped_is_any_of_what_was_there(void **state)
{
	struct log log = { .count = 0 };

	(void)state;
	add(&log, EVENT_TRACE_ON, 0, 0, 0, 0);
	add(&log, EVENT_TRACE_ON, 1, 0, 0, 0);
	add(&log, EVENT_BUFFER, 0, 1, PA + 8 * 4096, 4096);
	add(&log, EVENT_OUTPUT, 1, PA + 8 * 4096, 4096, 0);
	add(&log, EVENT_OUTPUT, 1, PA + 8 * 4096, 500, 4096);
	add(&log, EVENT_OUTPUT, 0, PA, 4096, 0);
	add(&log, EVENT_OUTPUT, 0, PA, 1000, 4096);
	add(&log, EVENT_LOST, 0, 0, 0, ABI_LOST_SKIPPED);
	add(&log, EVENT_OUTPUT, 0, PA + 1000, 200, 5096);
	add(&log, EVENT_DRAIN, 0, 0, PA + 1000, 200);
	add(&log, EVENT_OUTPUT, 0, PA + 1200, 96, 5296);
	add(&log, EVENT_OUTPUT, 0, PA + 1296, 100, 5392);
	add(&log, EVENT_DRAIN, 0, 0, PA + 1296, 100);
	add(&log, EVENT_OUTPUT, 0, PA + 1200, 10, 5492);
	add(&log, EVENT_DRAIN, 0, 0, PA + 1200, 10);
	replay(&log);
	check_row(&log, 0, ACCOUNT_REPORTED, 310);
	check_row(&log, 0, ACCOUNT_LOST, 4096 + 1000);
	check_row(&log, 0, ACCOUNT_OVERWRITTEN, 10);
	check_row(&log, 0, ACCOUNT_UNREPORTED, 86);
	check_row(&log, 1, ACCOUNT_LOST, 0);
	check_row(&log, 1, ACCOUNT_OVERWRITTEN, 500);
	account_free(&log.account);
}

static void
what_is_left_at_the_end_without_a_hole_is_the_tail(void **state)
{
	struct log log = { .count = 0 };

	(void)state;
	add(&log, EVENT_TRACE_ON, 0, 0, 0, 0);
	add(&log, EVENT_OUTPUT, 0, PA, 300, 0);
	add(&log, EVENT_TRACE_OFF, 0, 0, 0, 300);
	add(&log, EVENT_DRAIN, 0, 0, PA, 100);
	add(&log, EVENT_DRAIN, 0, 0, PA + 150, 50);
	add(&log, EVENT_TRACE_ON, 0, 0, 0, 300);
	add(&log, EVENT_OUTPUT, 0, PA + 300, 20, 300);
	add(&log, EVENT_TRACE_OFF, 0, 0, 0, 320);
	replay(&log);
	check_row(&log, 0, ACCOUNT_REPORTED, 150);
	check_row(&log, 0, ACCOUNT_UNREPORTED, 50);
	check_row(&log, 0, ACCOUNT_TAIL, 120);
	account_free(&log.account);
}

static void
bytes_read_twice_or_never_written_are_stale(void **state)
{
	const struct account_stream *stream;
	struct log log = { .count = 0 };

	(void)state;
	add(&log, EVENT_TRACE_ON, 0, 0, 0, 0);
	add(&log, EVENT_OUTPUT, 0, PA, 100, 0);
	add(&log, EVENT_DRAIN, 0, 0, PA, 164);
	add(&log, EVENT_DRAIN, 0, 0, PA, 32);
	replay(&log);
	check_row(&log, 0, ACCOUNT_REPORTED, 100);
	check_row(&log, 0, ACCOUNT_STALE, 96);
	stream = &log.account.streams[0];
	assert_int_equal(stream->drained, 196);
	assert_int_equal(stream->places[ACCOUNT_STALE].offset, 100);
	account_free(&log.account);
}

static void
threads_on_one_cpu_have_intervals_of_their_own(void **state)
{
	struct log log = { .count = 0 };

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		uint64_t pa = PA + i % 2 * 4096 + i / 2 * 100;

		add(&log, EVENT_TRACE_ON, 1, 0, 0, i * 100);
		add(&log, EVENT_OUTPUT, 1, pa, 100, i * 100);
		add(&log, EVENT_TRACE_OFF, 1, 0, 0, i * 100 + 100);
	}
	add(&log, EVENT_DRAIN, 0, THREAD(5), PA, 100);
	add(&log, EVENT_DRAIN, 0, THREAD(6), PA + 4096, 200);
	replay(&log);
	assert_int_equal(log.account.stream_count, 2);
	check_row(&log, 0, ACCOUNT_REPORTED, 100);
	check_row(&log, 0, ACCOUNT_TAIL, 100);
	check_row(&log, 1, ACCOUNT_REPORTED, 200);
	assert_int_equal(log.account.intervals[3].logical, 100);
	account_free(&log.account);
}

/* One interval of CPU: BYTES at PA, from OFFSET of its output on. */
static void
add_interval(
    struct log *log, unsigned cpu, uint64_t pa, uint64_t bytes, uint64_t offset)
{
	add(log, EVENT_TRACE_ON, cpu, 0, 0, offset);
	add(log, EVENT_OUTPUT, cpu, pa, bytes, offset);
	add(log, EVENT_TRACE_OFF, cpu, 0, 0, offset + bytes);
}

static void
a_named_buffer_has_its_bytes_though_nobody_reads_it(void **state)
{
	struct log log = { .count = 0 };

	(void)state;
	add(&log, EVENT_BUFFER, 0, THREAD(1), PA, 4096);
	add_interval(&log, 1, PA, 100, 0);
	add_interval(&log, 1, PA + 4096, 70, 100);
	/* The other thread's buffer is mapped when it has run already. */
	add(&log, EVENT_BUFFER, 0, THREAD(0), PA + 4096, 4096);
	add_interval(&log, 1, PA, 60, 170);
	add_interval(&log, 1, PA + 4096, 90, 230);
	replay(&log);
	assert_int_equal(log.account.nobodys, 0);
	assert_int_equal(log.account.stream_count, 2);
	assert_int_equal(log.account.streams[0].key, THREAD(0));
	check_row(&log, 0, ACCOUNT_WRITTEN, 160);
	check_row(&log, 0, ACCOUNT_OVERWRITTEN, 70);
	check_row(&log, 0, ACCOUNT_TAIL, 90);
	assert_int_equal(log.account.streams[1].key, THREAD(1));
	check_row(&log, 1, ACCOUNT_WRITTEN, 160);
	check_row(&log, 1, ACCOUNT_OVERWRITTEN, 60);
	check_row(&log, 1, ACCOUNT_UNREPORTED, 40);
	check_row(&log, 1, ACCOUNT_TAIL, 60);
	account_free(&log.account);
}

static void
the_newest_name_of_a_frame_counts_from_then_on(void **state)
{
	struct log log = { .count = 0 };

	(void)state;
	add(&log, EVENT_BUFFER, 0, THREAD(3), PA, 4096);
	add_interval(&log, 0, PA, 100, 0);
	add(&log, EVENT_BUFFER, 0, THREAD(2), PA, 4096);
	add_interval(&log, 0, PA, 30, 100);
	replay(&log);
	check_row(&log, 0, ACCOUNT_WRITTEN, 30);
	check_row(&log, 0, ACCOUNT_TAIL, 30);
	check_row(&log, 1, ACCOUNT_WRITTEN, 100);
	check_row(&log, 1, ACCOUNT_OVERWRITTEN, 30);
	check_row(&log, 1, ACCOUNT_TAIL, 70);
	account_free(&log.account);
}

static void
who_reads_an_interval_owns_it_whatever_its_frame_is_named(void **state)
{
	struct log log = { .count = 0 };

	(void)state;
	add(&log, EVENT_BUFFER, 0, THREAD(1), PA, 4096);
	add_interval(&log, 0, PA, 100, 0);
	add(&log, EVENT_BUFFER, 0, THREAD(2), PA, 4096);
	add(&log, EVENT_DRAIN, 0, THREAD(2), PA, 100);
	replay(&log);
	check_row(&log, 0, ACCOUNT_WRITTEN, 0);
	check_row(&log, 1, ACCOUNT_REPORTED, 100);
	account_free(&log.account);
}

/* Two intervals: the first fills a page up, the second begins at PA. */
static void
check_tail_over_pages(uint64_t pa, uint64_t tail)
{
	struct log log = { .count = 0 };

	for (uint64_t i = 0; i < 3; i++)
		add(&log, EVENT_BUFFER, 0, 0, PA + (2 - i) * 4096, 4096);
	add_interval(&log, 0, PA + 4096, 4096, 0);
	add_interval(&log, 0, pa, 50, 4096);
	replay(&log);
	check_row(&log, 0, ACCOUNT_TAIL, tail);
	check_row(&log, 0, ACCOUNT_UNREPORTED, 4146 - tail);
	account_free(&log.account);
}

static void
a_tail_goes_on_in_the_next_page_of_the_buffer_only(void **state)
{
	(void)state;
	check_tail_over_pages(PA, 4146);
	check_tail_over_pages(PA + 2 * 4096, 50);
}

static void
streams_are_cpus_then_threads_by_number(void **state)
{
	static const uint64_t keys[] = { 0, 2, 10, THREAD(1), THREAD(9) };
	struct log log = { .count = 0 };

	(void)state;
	add(&log, EVENT_LOST, 0, THREAD(9), 0, 0);
	add(&log, EVENT_BUFFER, 0, 10, PA, 4096);
	add(&log, EVENT_LOST, 0, 2, 0, 0);
	add_interval(&log, 0, PA + 4096, 100, 0);
	add(&log, EVENT_DRAIN, 0, THREAD(1), PA + 4096, 100);
	add(&log, EVENT_BUFFER, 0, 0, PA, 4096);
	replay(&log);
	assert_int_equal(log.account.stream_count, TZ_ARRAY_LEN(keys));
	for (size_t i = 0; i < TZ_ARRAY_LEN(keys); i++)
		assert_int_equal(log.account.streams[i].key, keys[i]);
	assert_int_equal(log.account.intervals[0].stream, 3);
	check_row(&log, 3, ACCOUNT_REPORTED, 100);
	account_free(&log.account);
}

/* Frames of a file's stream, before and after its session, in buffers without a file. */
static void
output_that_does_not_go_on_to_a_file_is_not_of_its_stream(void **state)
{
	const uint64_t key = EVENT_STREAM_THREAD | 7;

	(void)state;
	for (int files = 0; files < 2; files++) {
		struct log log = { .files = files != 0 };
		uint64_t at = 0;

		/* Another one's, in the same frame; then three intervals of one buffer. */
		const struct {
			uint64_t pa, bytes;
		} output[] = { { PA, 100 }, { PA + 200, 300 },
			{ PA + 500, 400 }, { PA + 900, 50 }, { PA + 300, 20 } };

		for (size_t i = 0; i < TZ_ARRAY_LEN(output); i++) {
			add(&log, EVENT_TRACE_ON, 0, 0, 0, at);
			add(&log, EVENT_OUTPUT, 0, output[i].pa,
			    output[i].bytes, at);
			at += output[i].bytes;
			add(&log, EVENT_TRACE_OFF, 0, 0, 0, at);
			/* The file holds the one in the middle. */
			if (i == 2)
				add(&log, EVENT_DRAIN, 0, key, PA + 500, 400);
		}
		replay(&log);
		assert_int_equal(log.account.stream_count, 1);
		check_row(&log, 0, ACCOUNT_REPORTED, 400);
		check_row(&log, 0, ACCOUNT_WRITTEN, files ? 750 : 870);
		assert_int_equal(log.account.nobodys, files ? 120 : 0);
		check_row(&log, 0, ACCOUNT_TAIL, files ? 50 : 20);
		account_free(&log.account);
	}
}

static void
a_name_for_more_than_a_page_is_refused(void **state)
{
	struct log log = { .count = 0 };
	struct tz_error err;

	(void)state;
	add(&log, EVENT_BUFFER, 0, 0, PA + 1, 4096);
	assert_int_equal(
	    account_replay(log.events, log.count, false, &log.account, &err),
	    -TZ_EFORMAT);
	assert_non_null(strstr(err.text, "events.zst: record 0"));
}

static void
output_without_an_enable_is_refused(void **state)
{
	struct log log = { .count = 0 };
	struct tz_error err;

	(void)state;
	add(&log, EVENT_OUTPUT, 0, PA, 100, 0);
	assert_int_equal(
	    account_replay(log.events, log.count, false, &log.account, &err),
	    -TZ_EFORMAT);
	assert_non_null(strstr(err.text, "events.zst: record 0"));
}

static void
bytes_beyond_ram_are_refused(void **state)
{
	static const uint64_t places[][2] = { { PA, UINT64_MAX - 1 },
		{ UINT64_C(1) << 32, 1 }, { UINT64_C(0xfffffff0), 17 } };
	struct tz_error err;

	(void)state;
	for (size_t i = 0; i < 2 * TZ_ARRAY_LEN(places); i++) {
		const uint64_t *place = places[i / 2];
		struct log log = { .count = 0 };

		add(&log, EVENT_TRACE_ON, 0, 0, 0, 0);
		if (i % 2 == 0)
			add(&log, EVENT_OUTPUT, 0, place[0], place[1], 0);
		else
			add(&log, EVENT_DRAIN, 0, 0, place[0], place[1]);
		assert_int_equal(account_replay(log.events, log.count, false,
				     &log.account, &err),
		    -TZ_EFORMAT);
		assert_non_null(strstr(err.text, "events.zst: record 1"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clean_run_reports_all_that_was_written),
		cmocka_unit_test(a_ring_may_wrap_when_its_reader_keeps_up),
		cmocka_unit_test(
		    a_rewound_pointer_overwrites_what_nobody_has_read),
		cmocka_unit_test(
		    what_the_driver_admits_to_have_lost_has_a_row_of_its_own),
		cmocka_unit_test(what_is_skipped_is_any_of_what_was_there),
		cmocka_unit_test(
		    what_is_left_at_the_end_without_a_hole_is_the_tail),
		cmocka_unit_test(bytes_read_twice_or_never_written_are_stale),
		cmocka_unit_test(
		    threads_on_one_cpu_have_intervals_of_their_own),
		cmocka_unit_test(
		    a_named_buffer_has_its_bytes_though_nobody_reads_it),
		cmocka_unit_test(
		    the_newest_name_of_a_frame_counts_from_then_on),
		cmocka_unit_test(
		    who_reads_an_interval_owns_it_whatever_its_frame_is_named),
		cmocka_unit_test(
		    a_tail_goes_on_in_the_next_page_of_the_buffer_only),
		cmocka_unit_test(streams_are_cpus_then_threads_by_number),
		cmocka_unit_test(
		    output_that_does_not_go_on_to_a_file_is_not_of_its_stream),
		cmocka_unit_test(a_name_for_more_than_a_page_is_refused),
		cmocka_unit_test(output_without_an_enable_is_refused),
		cmocka_unit_test(bytes_beyond_ram_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
