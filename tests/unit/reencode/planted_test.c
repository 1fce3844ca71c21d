/*
 * Goal: what is wrong in a trace is named at the right packet.  Method: 200 walks, each
 * with one difference planted: an outcome flipped, the gap of an interrupt lost, a PSB
 * where none is due, an IP of another form.
 */
#include "tests/unit/reencode/captured_remake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS 50
/* Branches before what is planted, and after it. */
#define BEFORE(seed) (200 + 97 * (seed))
#define AFTER        3000
#define COUNTED      12000

static const struct captured_habit habits[] = {
	{ .lines = 15, .in = 1 },
	{ .compress = true, .lines = 15, .in = 1 },
};

static struct captured *
walked(unsigned seed)
{
	struct captured *captured = captured_create(&habits[seed % 2], seed);

	captured_enable(captured, false);
	assert_true(captured_walk(captured, BEFORE(seed)));
	return captured;
}

/* Takes BYTES out at OFFSET. */
static void
cut(struct captured *captured, size_t offset, size_t bytes)
{
	captured->count -= bytes;
	memmove(captured->bytes + offset, captured->bytes + offset + bytes,
	    captured->count - offset);
}

/* The excerpt has the packets before OFFSET, and both sides from there on. */
static void
has_excerpt(const struct captured *captured, size_t offset,
    const struct reencode_result *result)
{
	const struct excerpt *excerpt = &result->excerpt;
	const struct excerpt_size size = EXCERPT_SHORT;
	size_t before = 0;

	for (size_t i = 0; i < captured->packets; i++)
		before += captured->packet[i] < offset;
	assert_true(before > size.before);
	assert_int_equal(excerpt->both.count, size.before);
	for (size_t i = 0; i < size.before; i++)
		assert_true(excerpt->both.line[i].at < offset);
	assert_int_equal(excerpt->trace.line[0].at, offset);
	assert_non_null(excerpt->rule);
	assert_int_equal(excerpt->unit.count != 0,
	    result->replay.difference.ours_bytes != 0);
	assert_int_equal(excerpt->insn.count, size.insns);
	for (size_t i = 0; i < size.insns; i++)
		assert_in_range(excerpt->insn.line[i].at, CAPTURED_CODE,
		    CAPTURED_CODE + 0xfff);
}

/* Fails unless the packet at OFFSET is named. */
static void
names(const struct captured *captured, size_t offset)
{
	struct reencode_result result;

	captured_remake(captured, "skylake", COMPARE_STRICT, &result);
	if (result.replay.difference.offset != offset)
		reencode_print(&result, captured->bytes, stderr);
	assert_false(result.equal);
	assert_true(result.replay.difference.found);
	assert_int_equal(result.replay.difference.offset, offset);
	has_excerpt(captured, offset, &result);
	reencode_result_free(&result);
}

static void
a_wrong_ip_form_is_named(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		struct captured *captured = walked(seed);
		size_t at = captured->packets, offset;
		uint8_t *bytes;

		captured_walk(captured, AFTER);
		/* A TIP with the lowest 16 bits gets 32. */
		while (captured->bytes[captured->packet[at]] != 0x2d)
			at++;
		offset = captured->packet[at];
		bytes = captured->bytes + offset;
		memmove(bytes + 5, bytes + 3, captured->count - offset - 3);
		captured->count += 2;
		bytes[0] = 0x4d;
		bytes[3] = (uint8_t)(CAPTURED_CODE >> 16);
		bytes[4] = (uint8_t)(CAPTURED_CODE >> 24);
		names(captured, offset);
		free(captured);
	}
}

/* Is packet number AT a TNT of one byte? */
static bool
is_tnt(const struct captured *captured, size_t at)
{
	uint8_t first = captured->bytes[captured->packet[at]];

	return first > 3 && (first & 1) == 0;
}

static void
a_psb_that_is_not_due_is_named(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 2 * SEEDS; seed += 2) {
		struct captured *captured = walked(seed);
		size_t psb, next;
		bool forces;

		/* The PSBs before it say what is in the counter. */
		captured_walk(captured, COUNTED);
		forces = captured->tnt_bits != 0;
		psb = captured->packets + forces;
		captured_psb(captured, true);
		next = captured->packets;
		captured_walk(captured, AFTER);
		/* What the PSB forced out is the first that differs, if more came. */
		if (forces && is_tnt(captured, next))
			psb--;
		names(captured, captured->packet[psb]);
		free(captured);
	}
}

/* Walks on to the branch before the indirect jump, before which outcomes are pending. */
static void
walk_to_pending(struct captured *captured)
{
	do
		captured_walk(captured, 1);
	while (captured->tnt_bits == 0 || captured->tnt_bits == 5 ||
	    captured->ip != CAPTURED_CODE + 8);
}

static void
a_lost_gap_is_named(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 2 * SEEDS; seed += 2) {
		struct captured *captured = walked(seed);
		size_t tnt;

		walk_to_pending(captured);
		tnt = captured->packets;
		captured_interrupt(captured);
		/* FUP, TIP.PGD and TIP.PGE come behind the TNT. */
		assert_int_equal(captured->packets, tnt + 4);
		cut(captured, captured->packet[tnt] + 1,
		    captured->count - captured->packet[tnt] - 1);
		captured_walk(captured, AFTER);
		names(captured, captured->packet[tnt]);
		free(captured);
	}
}

/* In a TNT of one byte: the bit of the outcome behind PENDING ones. */
static uint8_t
outcome(uint8_t tnt, unsigned pending)
{
	unsigned bits = 30u - (unsigned)__builtin_clz(tnt);

	return (uint8_t)(1u << (bits - pending));
}

/*
 * The branch before the indirect jump goes the other way: its TNT has an outcome too many,
 * or the packet behind it has none.
 */
static void
a_flipped_outcome_is_named(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		struct captured *captured = walked(seed);
		const struct replay_result *replay;
		struct reencode_result result;
		uint64_t named;
		uint8_t *tnt;
		unsigned pending;
		size_t at;

		walk_to_pending(captured);
		at = captured->packets;
		pending = captured->tnt_bits;
		captured_walk(captured, AFTER);
		tnt = captured->bytes + captured->packet[at];
		*tnt ^= outcome(*tnt, pending);
		captured_remake(captured, "skylake", COMPARE_STRICT, &result);
		replay = &result.replay;
		named = replay->difference.found ? replay->difference.offset
		    : replay->wrong != NULL      ? replay->wrong_offset
		    : replay->gap_count != 0     ? replay->gaps[0].at
						 : 0;
		if (named != captured->packet[at] &&
		    named != captured->packet[at + 1])
			reencode_print(&result, captured->bytes, stderr);
		assert_false(result.equal);
		assert_true(named == captured->packet[at] ||
		    named == captured->packet[at + 1]);
		reencode_result_free(&result);
		free(captured);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_ip_form_is_named),
		cmocka_unit_test(a_psb_that_is_not_due_is_named),
		cmocka_unit_test(a_lost_gap_is_named),
		cmocka_unit_test(a_flipped_outcome_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
