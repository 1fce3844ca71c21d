/*
 * Goal: what may be done to a unit from outside does what its header says and
 * leaves a stream that means the same; equal units have equal hashes, and units
 * that will differ do not.  Method: tables of every shape that ends a fill; walks
 * through a real program with fills all over, decoded by libipt; pairs of units.
 */
#include "emu/pt/inject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/pt/stroll.h"

#define BASE   UINT64_C(0xffffffff81000000)
#define TABLE2 (FAKE_TABLE + 0x1000)
#define STATUS 0x571

static uint64_t
region(unsigned n)
{
	return FAKE_BUFFER + UINT64_C(0x2000) * n;
}

/* Starts with a table of COUNT entries. */
static struct fake *
start(const uint64_t *entries, size_t count)
{
	struct fake *fake = fake_create();

	for (size_t i = 0; i < count; i++)
		fake_poke(fake, FAKE_TABLE + 8 * i, entries[i]);
	fake_wrmsr(fake, 0x560, FAKE_TABLE);
	fake_wrmsr(fake, 0x561, 0);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	return fake;
}

/* The same, with the packets of the enable forgotten. */
static struct fake *
start_quiet(const uint64_t *entries, size_t count)
{
	struct fake *fake = start(entries, count);

	fake_forget(fake);
	return fake;
}

static void
jump(struct fake *fake, uint64_t target)
{
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, target);
}

static void
a_fill_ends_at_the_int_region(void **state)
{
	const uint64_t table[] = { region(0), region(1) | ENTRY_SIZE(1),
		region(2) | ENTRY_INTR, FAKE_TABLE | ENTRY_END };
	struct fake *fake = start_quiet(table, 4);
	struct pt_output_position at;

	(void)state;
	fake_cond(fake, true, BASE);
	assert_true(pt_unit_fill_to_pmi(fake->unit));
	assert_int_equal(fake->pmi_count, 1);
	assert_int_equal(fake_count(fake, PT_EVENT_PMI), 1);
	assert_int_equal(fake_event(fake, PT_EVENT_PMI, 0)->value, 2);
	assert_int_equal(fake_count(fake, PT_EVENT_REGION_FULL), 3);
	at = pt_unit_position(fake->unit);
	assert_int_equal(at.entry, 0);
	assert_int_equal(at.offset_bytes, 0);
	/* PacketByteCnt counted it: a PSB is due.  The TNT bit is not lost. */
	assert_false(pt_unit_fast(fake->unit)->fast);
	fake_forget(fake);
	jump(fake, BASE + 4);
	fake_expect_packets(fake,
	    "TNT(T) TIP(1:4) PSB TSX(00) EXEC(64) FUP(3:ffffffff81000004) "
	    "PIP(12345000) CBR(37) PSBEND");
	assert_true(pt_unit_fast(fake->unit)->fast);
	fake_destroy(fake);
}

static void
a_fill_is_made_of_pads(void **state)
{
	const uint64_t table[] = { region(0), region(1) | ENTRY_INTR,
		FAKE_TABLE | ENTRY_END };
	struct fake *fake = start_quiet(table, 3);
	uint64_t from = pt_unit_position(fake->unit).offset_bytes;

	(void)state;
	memset(fake->ram + FAKE_BUFFER + from, 0xff, 0x4000 - from);
	assert_true(pt_unit_fill_to_pmi(fake->unit));
	assert_int_equal(fake->stream_bytes, 0x2000 - from);
	for (size_t i = 0; i < fake->stream_bytes; i++)
		assert_int_equal(fake->stream[i], 0);
	assert_int_equal(fake->ram[FAKE_BUFFER + 0x1000], 0xff);
	fake_destroy(fake);
}

/* Fails unless a fill is refused and nothing at all has changed. */
static void
expect_refusal(struct fake *fake)
{
	uint8_t *before = malloc(pt_unit_size(fake->unit));
	uint8_t *after = malloc(pt_unit_size(fake->unit));

	assert_non_null(before);
	assert_non_null(after);
	fake_forget(fake);
	pt_unit_save(fake->unit, before);
	assert_false(pt_unit_fill_to_pmi(fake->unit));
	pt_unit_save(fake->unit, after);
	assert_memory_equal(before, after, pt_unit_size(fake->unit));
	assert_int_equal(fake->event_count, 0);
	assert_int_equal(fake->pmi_count, 0);
	free(before);
	free(after);
}

static void
a_fill_without_a_pmi_ahead_is_refused(void **state)
{
	const uint64_t ring[] = { region(0), region(1), TABLE2 | ENTRY_END };
	const uint64_t stops[] = { region(0), region(1) | ENTRY_STOP,
		region(2) | ENTRY_INTR, FAKE_TABLE | ENTRY_END };
	const uint64_t bad[] = { region(0), region(1) | TZ_BIT(1),
		region(2) | ENTRY_INTR, FAKE_TABLE | ENTRY_END };
	const uint64_t restricted[] = { region(0), region(1),
		region(2) | ENTRY_INTR, FAKE_TABLE | ENTRY_END };
	struct fake *fake = start_quiet(ring, 3);

	(void)state;
	/* A table that leads back, one that leads to itself, zeroes for ever. */
	fake_poke(fake, TABLE2, region(2));
	fake_poke(fake, TABLE2 + 8, FAKE_TABLE | ENTRY_END);
	expect_refusal(fake);
	fake_poke(fake, TABLE2 + 8, TABLE2 | ENTRY_END);
	expect_refusal(fake);
	fake_poke(fake, FAKE_TABLE + 16, 0);
	fake_poke(fake, TABLE2, 0);
	fake_poke(fake, TABLE2 + 8, 0);
	expect_refusal(fake);
	fake_poke(fake, FAKE_TABLE + 16, region(3) | ENTRY_INTR);
	assert_true(pt_unit_fill_to_pmi(fake->unit));
	fake_stop(fake);
	expect_refusal(fake);
	fake_destroy(fake);
	fake = start_quiet(stops, 4);
	expect_refusal(fake);
	fake_destroy(fake);
	fake = start_quiet(bad, 4);
	expect_refusal(fake);
	assert_true(pt_unit_overflow(fake->unit, 1));
	expect_refusal(fake);
	fake_destroy(fake);
	fake = start_quiet(restricted, 4);
	fake->restricted_pa = region(1);
	fake->restricted_bytes = 1;
	expect_refusal(fake);
	fake_destroy(fake);
}

static void
a_region_of_stop_and_int_is_filled(void **state)
{
	const uint64_t table[] = { region(0) | ENTRY_STOP | ENTRY_INTR,
		FAKE_TABLE | ENTRY_END };
	struct fake *fake = start_quiet(table, 2);

	(void)state;
	assert_true(pt_unit_fill_to_pmi(fake->unit));
	assert_int_equal(fake->pmi_count, 1);
	assert_int_equal(fake_count(fake, PT_EVENT_STOPPED), 1);
	assert_false(pt_unit_trigger_en(fake->unit));
	expect_refusal(fake);
	fake_destroy(fake);
}

static void
the_stream_means_the_same_with_fills(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		const uint64_t table[] = { region(0), region(1) | ENTRY_INTR,
			region(2) | ENTRY_SIZE(1), region(3) | ENTRY_INTR,
			FAKE_TABLE | ENTRY_END };
		struct fake *fake = start(table, TZ_ARRAY_LEN(table));
		struct stroll *stroll = stroll_create(fake, seed * 424242);
		uint64_t dice = seed;

		for (unsigned i = 0; i < 200; i++) {
			stroll_on(
			    stroll, (unsigned)(fake_random(&dice) >> 30) % 250);
			assert_true(pt_unit_fill_to_pmi(fake->unit));
		}
		stroll_to_end(stroll);
		fake_stop(fake);
		assert_true(fake->pmi_count >= 200);
		assert_true(fake_count(fake, PT_EVENT_PSB) >= 100);
		assert_int_equal(stroll_decode(stroll), stroll->exec_log_count);
		stroll_destroy(stroll);
		fake_destroy(fake);
	}
}

static void
an_error_ends_tracing(void **state)
{
	const uint64_t table[] = { region(0), FAKE_TABLE | ENTRY_END };
	struct fake *fake = start_quiet(table, 2);
	struct gpa pa = { 0 };

	(void)state;
	jump(fake, BASE + 4);
	assert_true(pt_unit_force_error(fake->unit));
	assert_int_equal(fake_count(fake, PT_EVENT_ERROR), 1);
	assert_non_null(fake_event(fake, PT_EVENT_ERROR, 0)->text);
	assert_int_equal(fake_rdmsr(fake, STATUS) & 0xff, TZ_BIT(4) | 3);
	assert_false(pt_unit_trigger_en(fake->unit));
	assert_false(pt_unit_current_entry(fake->unit, &pa));
	/* What was in memory before it is told. */
	fake_expect_packets(fake, "TIP(1:4)");
	assert_false(pt_unit_force_error(fake->unit));
	assert_false(pt_unit_force_stop(fake->unit));
	assert_false(pt_unit_stale(fake->unit, 1));
	jump(fake, BASE + 8);
	fake_stop(fake);
	fake_expect_packets(fake, "");
	fake_destroy(fake);
}

static void
a_stop_leaves_a_full_region(void **state)
{
	const uint64_t table[] = { region(0), region(1) | ENTRY_INTR,
		FAKE_TABLE | ENTRY_END };
	struct fake *fake = start_quiet(table, 3);

	(void)state;
	assert_true(pt_unit_force_stop(fake->unit));
	assert_int_equal(fake_count(fake, PT_EVENT_REGION_FULL), 1);
	assert_int_equal(fake_count(fake, PT_EVENT_STOPPED), 1);
	assert_int_equal(
	    fake_rdmsr(fake, 0x561), UINT64_C(0x1000) << 32 | 0x7f);
	assert_int_equal(fake_rdmsr(fake, STATUS) & TZ_BIT(5), TZ_BIT(5));
	assert_int_equal(fake->pmi_count, 0);
	assert_false(pt_unit_force_stop(fake->unit));
	fake_stop(fake);
	/* The entry itself has no STOP: a new start goes on as ever. */
	fake_wrmsr(fake, STATUS, 0);
	fake_wrmsr(fake, 0x561, TZ_BIT(7));
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	assert_true(pt_unit_force_stop(fake->unit));
	assert_int_equal(fake->pmi_count, 1);
	fake_destroy(fake);
}

static void
the_current_entry_moves_with_the_output(void **state)
{
	const uint64_t table[] = { region(0) | ENTRY_INTR,
		region(1) | ENTRY_INTR, TABLE2 | ENTRY_END };
	struct fake *fake = start_quiet(table, 3);
	struct gpa pa = { 0 };

	(void)state;
	fake_poke(fake, TABLE2, region(2) | ENTRY_STOP);
	assert_true(pt_unit_current_entry(fake->unit, &pa));
	assert_int_equal(pa.u, FAKE_TABLE);
	assert_true(pt_unit_fill_to_pmi(fake->unit));
	assert_true(pt_unit_current_entry(fake->unit, &pa));
	assert_int_equal(pa.u, FAKE_TABLE + 8);
	assert_true(pt_unit_fill_to_pmi(fake->unit));
	assert_true(pt_unit_current_entry(fake->unit, &pa));
	assert_int_equal(pa.u, TABLE2);
	assert_true(pt_unit_trigger_en(fake->unit));
	fake_destroy(fake);
}

/* Equal in all but how much was written before: BYTES of it, in rounds. */
static struct fake *
with_history(unsigned rounds)
{
	const uint64_t table[] = { region(0), FAKE_TABLE | ENTRY_END };
	struct fake *fake = start_quiet(table, 2);

	for (unsigned i = 0; i < rounds; i++) {
		jump(fake, BASE + 64 * i);
		fake_stop(fake);
		fake_wrmsr(fake, STATUS, 0);
		fake_wrmsr(fake, 0x561, 0);
		fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	}
	return fake;
}

static void
a_hash_does_not_depend_on_the_past(void **state)
{
	struct fake *one = with_history(0), *two = with_history(7);

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t before = pt_unit_hash(one->unit);

		assert_true(before == pt_unit_hash(two->unit));
		if (i % 3 == 0)
			pt_unit_sync_output(one->unit);
		fake_cond(one, i % 2, BASE);
		fake_cond(two, i % 2, BASE);
		assert_true(before != pt_unit_hash(one->unit));
		if (i % 100 != 99)
			continue;
		jump(one, BASE + i);
		jump(two, BASE + i);
	}
	fake_stop(one);
	assert_true(pt_unit_hash(one->unit) != pt_unit_hash(two->unit));
	fake_stop(two);
	assert_true(pt_unit_hash(one->unit) == pt_unit_hash(two->unit));
	fake_destroy(one);
	fake_destroy(two);
}

static void
a_hash_has_the_distance_to_the_next_psb(void **state)
{
	const uint64_t table[] = { region(0), FAKE_TABLE | ENTRY_END };
	struct fake *fake[4];
	/* The second one's CBR and TIP.PGE end where the first one's PSB+ does,
	 * with the same count; the others have other counts. */
	const uint64_t counts[] = { 0, 40, 100, 101 };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		fake[i] = start_quiet(table, 2);
		fake_stop(fake[i]);
		fake_wrmsr(fake[i], STATUS, counts[i] << 32);
		fake_wrmsr(
		    fake[i], 0x561, (counts[i] == 0 ? 0 : UINT64_C(40)) << 32);
		fake_wrmsr(fake[i], 0x570, CTL_PLAIN | CTL_TRACE_EN);
		jump(fake[i], BASE);
		assert_int_equal(pt_unit_position(fake[i]->unit).offset_bytes,
		    pt_unit_position(fake[0]->unit).offset_bytes);
	}
	assert_true(pt_unit_hash(fake[0]->unit) == pt_unit_hash(fake[1]->unit));
	assert_true(pt_unit_hash(fake[1]->unit) != pt_unit_hash(fake[2]->unit));
	assert_true(pt_unit_hash(fake[2]->unit) != pt_unit_hash(fake[3]->unit));
	for (unsigned i = 0; i < 4; i++)
		fake_destroy(fake[i]);
}

static void
call(struct fake *fake, uint64_t nlip)
{
	struct pt_transfer transfer = {
		.kind = PT_TRANSFER_CALL_DIRECT, .nlip = nlip, .after = fake->at
	};

	pt_unit_transfer(fake->unit, &transfer);
}

static void
change(struct fake *fake, unsigned what)
{
	switch (what) {
	case 0:
		call(fake, BASE);
		break;
	case 1:
		call(fake, BASE + 1);
		break;
	case 2:
		jump(fake, BASE);
		break;
	case 3:
		jump(fake, BASE + 1);
		break;
	case 4:
		assert_true(pt_unit_overflow(fake->unit, 1));
		break;
	case 5:
		assert_true(pt_unit_overflow(fake->unit, 2));
		break;
	case 6:
		assert_true(pt_unit_stale(fake->unit, 1));
		break;
	case 7:
		assert_true(pt_unit_stale(fake->unit, 2));
		break;
	case 8:
		assert_true(pt_unit_force_error(fake->unit));
		break;
	case 9:
		assert_true(pt_unit_force_stop(fake->unit));
		break;
	case 10:
		assert_true(pt_unit_fill_to_pmi(fake->unit));
		break;
	case 11:
		fake->at.cr3 += 0x1000;
		fake_transfer(fake, PT_TRANSFER_JMP_DIRECT, BASE);
		break;
	case 12:
		fake_stop(fake);
		break;
	case 13:
		fake_stop(fake);
		fake_wrmsr(fake, 0x583, BASE);
		break;
	case 14:
		fake_stop(fake);
		fake_wrmsr(fake, 0x572, 0x1000);
		break;
	default:
		break;
	}
}

static void
what_will_differ_has_another_hash(void **state)
{
	const uint64_t table[] = { region(0), region(1) | ENTRY_INTR,
		FAKE_TABLE | ENTRY_END };
	uint64_t hash[16];

	(void)state;
	for (unsigned i = 0; i < TZ_ARRAY_LEN(hash); i++) {
		struct fake *fake = start_quiet(table, 3);

		change(fake, i);
		hash[i] = pt_unit_hash(fake->unit);
		for (unsigned j = 0; j < i; j++)
			assert_true(hash[i] != hash[j]);
		fake_destroy(fake);
	}
}

static void
a_restored_unit_has_the_hash_that_it_had(void **state)
{
	const uint64_t table[] = { region(0), region(1) | ENTRY_INTR,
		FAKE_TABLE | ENTRY_END };

	(void)state;
	for (unsigned i = 0; i < 15; i++) {
		struct fake *fake = start_quiet(table, 3);
		uint8_t *saved = malloc(pt_unit_size(fake->unit));
		uint64_t hash;

		assert_non_null(saved);
		change(fake, i);
		hash = pt_unit_hash(fake->unit);
		pt_unit_save(fake->unit, saved);
		fake_destroy(fake);
		fake = start_quiet(table, 3);
		jump(fake, BASE + 99);
		pt_unit_restore(fake->unit, saved);
		assert_true(pt_unit_hash(fake->unit) == hash);
		fake_destroy(fake);
		free(saved);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fill_ends_at_the_int_region),
		cmocka_unit_test(a_fill_is_made_of_pads),
		cmocka_unit_test(a_fill_without_a_pmi_ahead_is_refused),
		cmocka_unit_test(a_region_of_stop_and_int_is_filled),
		cmocka_unit_test(the_stream_means_the_same_with_fills),
		cmocka_unit_test(an_error_ends_tracing),
		cmocka_unit_test(a_stop_leaves_a_full_region),
		cmocka_unit_test(the_current_entry_moves_with_the_output),
		cmocka_unit_test(a_hash_does_not_depend_on_the_past),
		cmocka_unit_test(a_hash_has_the_distance_to_the_next_psb),
		cmocka_unit_test(what_will_differ_has_another_hash),
		cmocka_unit_test(a_restored_unit_has_the_hash_that_it_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
