/*
 * Goal: what processors were seen to send is made again, whoever wrote it down.
 * Method: traces of a walk that an encoder of the test's own makes.
 */
#include "tests/unit/reencode/captured_remake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct captured_habit skylake = { .lines = 15, .in = 1 };
static const struct captured_habit compressing = {
	.compress = true, .lines = 15, .in = 1
};

static void
equal_in_every_form(const struct captured *captured, const char *profile)
{
	for (int form = COMPARE_CANONICAL; form <= COMPARE_BYTES; form++)
		captured_equal(captured, profile, (enum compare_form)form);
}

static void
a_walk_is_made_again(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 8; n++) {
		struct captured *captured = captured_create(
		    n & 1 ? &skylake : &compressing, n);

		captured->code32 = n & 2;
		captured->ranges = n & 4;
		captured_enable(captured, false);
		captured_walk(captured, 60000);
		captured_interrupt(captured);
		captured_walk(captured, 6000);
		equal_in_every_form(captured, "skylake");
		free(captured);
	}
}

/* Each enable is inside the range, where the PSB+ has its FUP too early or not. */
static void
an_enable_is_inside_the_range(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 16; n++) {
		struct captured *captured = captured_create(
		    n & 8 ? &skylake : &compressing, n);

		captured->code32 = n & 1;
		captured->ranges = n & 2;
		for (unsigned round = 0; round < 40; round++) {
			captured_enable(captured, n & 4);
			captured_walk(captured, 300 + 131 * round);
			captured_disable(captured);
		}
		equal_in_every_form(captured, "skylake");
		free(captured);
	}
}

/* Walks up to where a PSB is due, and out of the range. */
static void
leave_with_psb(struct captured *captured)
{
	captured->holds = true;
	for (;;) {
		captured_walk_to_jump(captured);
		captured_leave(captured);
		if (captured->due)
			return;
		captured->ip = CAPTURED_CODE;
		captured_enter(captured);
	}
}

/* The PSB that is due comes outside the range: just before the next TIP.PGE, or not. */
static void
a_psb_is_due_outside_the_range(void **state)
{
	unsigned apart = 0;

	(void)state;
	for (unsigned n = 0; n < 60; n++) {
		struct captured *captured = captured_create(&skylake, n);

		captured->code32 = n & 1;
		captured->ranges = true;
		captured_enable(captured, false);
		captured_walk(captured, 500 + 17 * n);
		leave_with_psb(captured);
		captured->ip = CAPTURED_CODE;
		captured->holds = false;
		apart += (n & 2) && (captured->count + 7) / 8 % 2 == 0;
		captured_psb(captured, n & 2);
		captured_enter(captured);
		captured_walk(captured, 30000);
		equal_in_every_form(captured, "skylake");
		free(captured);
	}
	/* At some of them an enable might have begun, too. */
	assert_true(apart > 2);
}

/* One that was due when TraceEn fell is lost, and the enable's comes. */
static void
a_psb_is_due_where_tracing_ends(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 20; n++) {
		struct captured *captured = captured_create(&skylake, n);

		captured->code32 = n & 1;
		captured->ranges = true;
		captured_enable(captured, true);
		captured_walk(captured, 500 + 17 * n);
		leave_with_psb(captured);
		captured->count = (captured->count + 15) / 16 * 16;
		captured->close_word = captured->holds = false;
		captured->ip = CAPTURED_CODE;
		captured_enable(captured, true);
		captured_walk(captured, 30000);
		equal_in_every_form(captured, "skylake");
		free(captured);
	}
}

/* What comes behind the last packet and is none is left out, and said. */
static void
junk_at_the_end_is_left_out(void **state)
{
	static const char junk[] = "\x05this is no trace";
	struct captured *captured = captured_create(&skylake, 3);
	struct reencode_result result;
	size_t count;

	(void)state;
	captured_enable(captured, false);
	captured_walk(captured, 5000);
	count = captured->count;
	memcpy(captured->bytes + count, junk, sizeof(junk));
	captured->count += sizeof(junk);
	captured_remake(captured, "skylake", COMPARE_BYTES, &result);
	assert_true(result.equal && result.stats.junk);
	assert_int_equal(result.stats.cut_off, sizeof(junk));
	assert_int_equal(result.replay.covered, count);
	reencode_result_free(&result);
	free(captured);
}

/* Already the first packet of the first PSB+ is another. */
static void
a_first_packet_that_differs_is_named(void **state)
{
	struct captured *captured = captured_create(&skylake, 3);
	struct reencode_result result;

	(void)state;
	captured_enable(captured, false);
	captured_walk(captured, 5000);
	assert_int_equal(captured->bytes[16], 0x99);
	captured->bytes[17] |= 2; /* MODE.TSX: an abort */
	captured_remake(captured, "skylake", COMPARE_BYTES, &result);
	assert_false(result.nothing || result.equal);
	assert_true(result.replay.difference.found);
	assert_int_equal(result.replay.difference.offset, 16);
	reencode_result_free(&result);
	free(captured);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_is_made_again),
		cmocka_unit_test(an_enable_is_inside_the_range),
		cmocka_unit_test(a_psb_is_due_outside_the_range),
		cmocka_unit_test(a_psb_is_due_where_tracing_ends),
		cmocka_unit_test(junk_at_the_end_is_left_out),
		cmocka_unit_test(a_first_packet_that_differs_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
