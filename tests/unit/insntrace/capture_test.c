/*
 * Goal: the bytes that a buffer is said to hold are those that were written.
 * Method: register values as a Stop finds them, for a buffer of two chunks of a
 * page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/insntrace/core/buffer/capture.h"

#define TABLE_PA       UINT64_C(0x7000)
#define SIZE           8192
#define STATUS_ERROR   0x10
#define STATUS_STOPPED 0x20

/* As the hardware sees them, and as the driver does. */
static uint64_t entries[3], own[3];

static const struct topa topa = {
	.chunk_count = 2,
	.table_count = 1,
	.table = { { entries, own, TABLE_PA, 2 } },
};

/* Entry INDEX, OFFSET bytes in it. */
static struct hw_capture
seen(uint64_t index, uint64_t offset, uint64_t status)
{
	return (struct hw_capture){
		.status = status,
		.output_base = TABLE_PA,
		.mask_ptrs = offset << 32 | index << 7 | 0x7f,
	};
}

static struct insntrace_buffer_state
decode(bool stop_on_full, const struct capture_progress *progress,
    struct hw_capture last)
{
	struct insntrace_buffer_state state;

	assert_int_equal(
	    capture_decode(&topa, stop_on_full, progress, &last, &state),
	    INSNTRACE_OK);
	assert_int_equal(state.size_bytes, SIZE);
	assert_int_equal(state.status, last.status);
	return state;
}

static void
a_circular_buffer_counts_its_wraps(void **unused)
{
	/* As the last look was; and what Stop finds. */
	static const struct {
		uint64_t position, wraps, index, offset, written, at;
	} rows[] = {
		{ 0, 0, 0, 0, 0, 0 },
		{ 0, 0, 1, 5, 4101, 4101 },
		{ 4096, 0, 1, 5, 4101, 4101 },
		{ 4096, 0, 0, 0, SIZE, 0 },    /* exactly full */
		{ 4096, 0, 2, 0, SIZE, 0 },    /* before the END entry */
		{ 4096, 0, 1, 4096, SIZE, 0 }, /* in the last region */
		{ 0, 1, 0, 0, SIZE, 0 },       /* a PMI has seen it */
		{ 0, 1, 0, 7, SIZE + 7, 7 },
		{ 7, 1, 0, 6, 2 * SIZE + 6, 6 },
		{ 0, 1000000, 1, 1, UINT64_C(1000000) * SIZE + 4097, 4097 },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct capture_progress progress = {
			.position = rows[i].position,
			.wraps = rows[i].wraps,
		};
		struct insntrace_buffer_state state = decode(
		    false, &progress, seen(rows[i].index, rows[i].offset, 0));

		assert_int_equal(state.written_bytes, rows[i].written);
		assert_int_equal(state.position, rows[i].at);
		assert_int_equal(state.wraps, rows[i].written / SIZE);
		assert_int_equal(state.flags, 0);
	}
}

/* Four chunks, a PMI each; up to three of them merge. */
static void
merged_looks_hide_no_wrap(void **unused)
{
	static const struct topa four = {
		.chunk_count = 4,
		.table_count = 1,
		.table = { { .pa = TABLE_PA, .chunk_count = 4 } },
	};

	(void)unused;
	for (uint64_t merged = 1; merged <= 3; merged++) {
		struct capture_progress progress = { .position = 0 };

		for (uint64_t chunk = merged; chunk < 1000; chunk += merged) {
			struct hw_capture now = seen(chunk % 4, chunk % 5, 0);

			capture_look(&progress, &four, &now);
			assert_int_equal(progress.wraps, chunk / 4);
		}
		assert_true(progress.seen);
		assert_false(progress.unsure);
	}
}

/*
 * A PMI for each chunk, whose handler reads the position up to 200 bytes later: with one
 * to four chunks no round is missed, whatever the handler's delay.
 */
static void
a_pmi_without_progress_is_a_wrap(void **unused)
{
	static const uint64_t skids[] = { 8, 200, 8, 8, 0, 100, 100, 64, 200, 0,
		0, 16 };

	(void)unused;
	for (uint32_t chunks = 1; chunks <= 4; chunks++) {
		struct topa few = topa;
		struct capture_progress progress = { .position = 0 };

		few.chunk_count = few.table[0].chunk_count = chunks;
		few.pmi_count = TOPA_PMIS;
		for (uint64_t pmi = 1; pmi < 400; pmi++) {
			uint64_t written = pmi * 4096 +
			    skids[pmi % (sizeof(skids) / sizeof(*skids))];
			uint64_t at = written % (chunks * 4096);
			struct hw_capture now = seen(at / 4096, at % 4096, 0);

			capture_look_by_pmi(&progress, &few, &now);
			assert_int_equal(
			    capture_written(&progress, &few), written);
		}
	}
}

/* The position was read when the chunk was full and its PMI still to come. */
static void
a_pmi_that_was_looked_at_before_is_none(void **unused)
{
	struct capture_progress progress = { .position = 4000 };
	struct topa two = topa;
	struct hw_capture now = seen(1, 50, 0);

	(void)unused;
	two.pmi_count = TOPA_PMIS;
	capture_look(&progress, &two, &now);
	progress.early = true;
	capture_look_by_pmi(&progress, &two, &now);
	assert_int_equal(capture_written(&progress, &two), 4096 + 50);
	capture_look_by_pmi(&progress, &two, &now);
	assert_int_equal(capture_written(&progress, &two), SIZE + 4096 + 50);
}

static void
a_full_buffer_is_full_wherever_hardware_stands(void **unused)
{
	static const uint64_t places[][2] = { { 1, 4096 }, { 2, 0 }, { 0, 0 } };
	const struct capture_progress progress = { .seen = true };

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		struct insntrace_buffer_state state = decode(true, &progress,
		    seen(places[i][0], places[i][1], STATUS_STOPPED));

		assert_int_equal(state.written_bytes, SIZE);
		assert_int_equal(state.position, SIZE);
		assert_int_equal(state.wraps, 1);
		assert_int_equal(state.flags, INSNTRACE_STATE_STOPPED);
	}
}

/* A PMI that no chunk raised. */
static void
a_look_alone_fills_no_buffer(void **unused)
{
	const struct capture_progress progress = { .seen = true };
	struct insntrace_buffer_state state;

	(void)unused;
	state = decode(true, &progress, seen(0, 100, 0));
	assert_int_equal(state.written_bytes, 100);
	assert_int_equal(state.wraps, 0);
	state = decode(true, &progress, seen(0, 0, 0));
	assert_int_equal(state.written_bytes, 0);
}

static void
a_filter_that_stops_leaves_a_part(void **unused)
{
	struct capture_progress progress = { .position = 0 };
	struct insntrace_buffer_state state;

	(void)unused;
	state = decode(true, &progress, seen(1, 16, STATUS_STOPPED));
	assert_int_equal(state.written_bytes, 4112);
	assert_int_equal(state.flags, INSNTRACE_STATE_STOPPED);
	progress.wraps = 3;
	state = decode(false, &progress, seen(1, 16, STATUS_STOPPED));
	assert_int_equal(state.written_bytes, 3 * SIZE + 4112);
}

static void
an_operational_error_shows(void **unused)
{
	struct capture_progress progress = { .position = 0 };

	(void)unused;
	assert_int_equal(
	    decode(false, &progress, seen(0, 0, STATUS_ERROR)).flags,
	    INSNTRACE_STATE_ERROR);
}

static void
what_is_not_known_is_not_told(void **unused)
{
	struct capture_progress progress = { .unsure = true };
	struct hw_capture last = seen(0, 5, 0);
	struct insntrace_buffer_state state;

	(void)unused;
	assert_int_equal(capture_decode(&topa, false, &progress, &last, &state),
	    INSNTRACE_DATA_LOSS);
	assert_int_equal(state.written_bytes, 0);
	entries[1] ^= 1;
	assert_int_equal(capture_decode(&topa, false, &progress, &last, &state),
	    INSNTRACE_INTERNAL);
	entries[1] ^= 1;
}

static void
pointers_into_nothing_are_an_error(void **unused)
{
	struct hw_capture nowhere = { .output_base = TABLE_PA + 4096 };
	struct capture_progress progress = { .position = 5 };
	struct insntrace_buffer_state state;

	(void)unused;
	assert_int_equal(
	    capture_decode(&topa, false, &progress, &nowhere, &state),
	    INSNTRACE_INTERNAL);
	capture_look(&progress, &topa, &nowhere);
	assert_true(progress.unsure);
	assert_int_equal(progress.position, 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_circular_buffer_counts_its_wraps),
		cmocka_unit_test(
		    a_full_buffer_is_full_wherever_hardware_stands),
		cmocka_unit_test(merged_looks_hide_no_wrap),
		cmocka_unit_test(a_pmi_without_progress_is_a_wrap),
		cmocka_unit_test(a_pmi_that_was_looked_at_before_is_none),
		cmocka_unit_test(a_look_alone_fills_no_buffer),
		cmocka_unit_test(a_filter_that_stops_leaves_a_part),
		cmocka_unit_test(an_operational_error_shows),
		cmocka_unit_test(what_is_not_known_is_not_told),
		cmocka_unit_test(pointers_into_nothing_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
