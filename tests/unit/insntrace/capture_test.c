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

#include "driver/insntrace/capture.h"

#define TABLE_PA       UINT64_C(0x7000)
#define SIZE           8192
#define STATUS_ERROR   0x10
#define STATUS_STOPPED 0x20

static const struct topa topa = {
	.chunk_count = 2,
	.table_count = 1,
	.table = { { .pa = TABLE_PA, .chunk_count = 2 } },
};

static struct insntrace_buffer_state
decode(bool stop_on_full, uint64_t index, uint64_t offset, uint64_t wraps,
    uint64_t status)
{
	struct hw_capture capture = {
		.status = status,
		.output_base = TABLE_PA,
		.mask_ptrs = offset << 32 | index << 7 | 0x7f,
	};
	struct insntrace_buffer_state state;

	assert_int_equal(
	    capture_decode(&topa, stop_on_full, &capture, wraps, &state),
	    INSNTRACE_OK);
	assert_int_equal(state.size_bytes, SIZE);
	assert_int_equal(state.status, status);
	return state;
}

static void
a_circular_buffer_counts_its_wraps(void **unused)
{
	static const struct {
		uint64_t index, offset, wraps, written, position;
	} rows[] = {
		{ 0, 0, 0, 0, 0 },
		{ 1, 5, 0, 4101, 4101 },
		{ 0, 0, 1, SIZE, 0 },    /* exactly full */
		{ 2, 0, 1, SIZE, 0 },    /* the END entry not yet followed */
		{ 1, 4096, 1, SIZE, 0 }, /* the last region not yet left */
		{ 0, 7, 1, SIZE + 7, 7 },
		{ 1, 1, 1000000, UINT64_C(1000000) * SIZE + 4097, 4097 },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct insntrace_buffer_state state = decode(
		    false, rows[i].index, rows[i].offset, rows[i].wraps, 0);

		assert_int_equal(state.written_bytes, rows[i].written);
		assert_int_equal(state.position, rows[i].position);
		assert_int_equal(state.wraps, rows[i].wraps);
		assert_int_equal(state.flags, 0);
	}
}

static void
a_full_buffer_is_full_wherever_hardware_stands(void **unused)
{
	static const uint64_t places[][2] = { { 1, 4096 }, { 2, 0 }, { 0, 0 } };

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		struct insntrace_buffer_state state = decode(
		    true, places[i][0], places[i][1], 1, STATUS_STOPPED);

		assert_int_equal(state.written_bytes, SIZE);
		assert_int_equal(state.position, SIZE);
		assert_int_equal(state.flags, INSNTRACE_STATE_STOPPED);
	}
}

static void
a_filter_that_stops_leaves_a_part(void **unused)
{
	struct insntrace_buffer_state state;

	(void)unused;
	state = decode(true, 1, 16, 0, STATUS_STOPPED);
	assert_int_equal(state.written_bytes, 4112);
	assert_int_equal(state.flags, INSNTRACE_STATE_STOPPED);
	state = decode(false, 1, 16, 3, STATUS_STOPPED);
	assert_int_equal(state.written_bytes, 3 * SIZE + 4112);
}

static void
an_operational_error_shows(void **unused)
{
	(void)unused;
	assert_int_equal(
	    decode(false, 0, 0, 0, STATUS_ERROR).flags, INSNTRACE_STATE_ERROR);
}

static void
pointers_into_nothing_are_an_error(void **unused)
{
	struct hw_capture capture = { .output_base = TABLE_PA + 4096 };
	struct insntrace_buffer_state state;

	(void)unused;
	assert_int_equal(capture_decode(&topa, false, &capture, 0, &state),
	    INSNTRACE_INTERNAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_circular_buffer_counts_its_wraps),
		cmocka_unit_test(
		    a_full_buffer_is_full_wherever_hardware_stands),
		cmocka_unit_test(a_filter_that_stops_leaves_a_part),
		cmocka_unit_test(an_operational_error_shows),
		cmocka_unit_test(pointers_into_nothing_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
