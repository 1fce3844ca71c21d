/*
 * Goal: the local APIC's registers, priorities, timer and LVT follow the SDM.
 * Method: reads and writes of the page at given times, against tables and
 * against formulas written out from vol. 3, chapter 11.
 */
#include "emu/apic/apic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define TPR       0x80
#define PPR       0xa0
#define EOI       0xb0
#define SVR       0xf0
#define LVT_TIMER 0x320
#define LVT_PC    0x340
#define INITIAL   0x380
#define CURRENT   0x390
#define DIVIDE    0x3e0

static struct apic apic;

static int
reset(void **state)
{
	(void)state;
	apic_reset(&apic, 3);
	return 0;
}

static int
reset_enabled(void **state)
{
	reset(state);
	assert_int_equal(apic_write(&apic, SVR, 0, 0x1ff), APIC_OK);
	return 0;
}

static uint32_t
get(uint64_t offset, uint64_t now)
{
	uint32_t value = 0;

	assert_int_equal(apic_read(&apic, offset, now, &value), APIC_OK);
	return value;
}

static void
put(uint64_t offset, uint64_t now, uint32_t value)
{
	assert_int_equal(apic_write(&apic, offset, now, value), APIC_OK);
}

static void
reset_disables_and_masks_everything(void **state)
{
	(void)state;
	assert_int_equal(get(0x20, 0), 3u << 24);
	assert_int_equal(get(0x30, 0), 0x00050015);
	assert_int_equal(get(SVR, 0), 0xff);
	for (uint64_t lvt = LVT_TIMER; lvt <= 0x370; lvt += 16)
		assert_int_equal(get(lvt, 0), 0x10000);
	for (uint64_t offset = 0x100; offset < 0x280; offset += 16) {
		if (offset < 0x180 || offset >= 0x200)
			assert_int_equal(get(offset, 0), 0);
	}
	assert_int_equal(apic_pending(&apic), -1);
}

static void
unknown_registers_are_refused(void **state)
{
	static const uint64_t unknown[] = { 0, 0x10, 0x21, 0xd0, 0xe0, 0x180,
		0x324, 0x3f0, 0xff0 };
	static const uint64_t read_only[] = { 0x20, 0x30, PPR, 0x100, 0x200,
		CURRENT };
	uint32_t value;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(unknown); i++) {
		assert_int_equal(
		    apic_read(&apic, unknown[i], 0, &value), APIC_UNMODELLED);
		assert_int_equal(
		    apic_write(&apic, unknown[i], 0, 0), APIC_UNMODELLED);
	}
	for (size_t i = 0; i < TZ_ARRAY_LEN(read_only); i++)
		assert_int_equal(
		    apic_write(&apic, read_only[i], 0, 0), APIC_UNMODELLED);
	assert_int_equal(apic_read(&apic, EOI, 0, &value), APIC_UNMODELLED);
}

static void
software_disable_masks_and_keeps_masked(void **state)
{
	(void)state;
	put(SVR, 0, 0x1ff);
	put(LVT_PC, 0, 0x400);
	put(LVT_TIMER, 0, 0x20);
	put(SVR, 0, 0xff);
	assert_int_equal(get(LVT_PC, 0), 0x10400);
	put(LVT_PC, 0, 0x400);
	assert_int_equal(get(LVT_PC, 0), 0x10400);
	put(SVR, 0, 0x1ff);
	assert_int_equal(get(LVT_PC, 0), 0x10400);
	assert_int_equal(get(LVT_TIMER, 0), 0x10020);
}

static void
illegal_vectors_are_refused_where_they_could_fire(void **state)
{
	(void)state;
	for (uint32_t vector = 0; vector < 16; vector++) {
		assert_int_equal(
		    apic_write(&apic, LVT_TIMER, 0, vector), APIC_UNMODELLED);
		assert_int_equal(
		    apic_write(&apic, LVT_PC, 0, vector), APIC_UNMODELLED);
		put(LVT_TIMER, 0, 0x10000 | vector);
		put(LVT_PC, 0, 0x400 | vector);
		put(0x350, 0, 0x700 | vector);
	}
	put(LVT_TIMER, 0, 16);
}

static void
tsc_deadline_mode_is_refused(void **state)
{
	(void)state;
	assert_int_equal(
	    apic_write(&apic, LVT_TIMER, 0, 0x40020), APIC_UNMODELLED);
	put(LVT_TIMER, 0, 0x20020);
}

static void
the_highest_vector_above_the_priority_is_next(void **state)
{
	(void)state;
	for (unsigned vector = 16; vector < 256; vector++) {
		apic_accept(&apic, (uint8_t)vector);
		assert_int_equal(apic_pending(&apic), vector);
		for (uint32_t tpr = 0; tpr < 256; tpr += 5) {
			put(TPR, 0, tpr);
			assert_int_equal(apic_pending(&apic),
			    (vector & 0xf0) > (tpr & 0xf0) ? (int)vector : -1);
		}
		put(TPR, 0, 0);
		assert_int_equal(
		    get(0x200 + vector / 32 * 16, 0) >> (vector % 32) & 1, 1);
	}
}

static void
service_nests_and_eoi_ends_the_innermost(void **state)
{
	static const uint8_t vectors[] = { 0x21, 0x35, 0x42, 0xfe };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(vectors); i++) {
		apic_accept(&apic, vectors[i]);
		assert_int_equal(apic_pending(&apic), vectors[i]);
		apic_take(&apic, vectors[i]);
		assert_int_equal(get(PPR, 0), vectors[i] & 0xf0);
		/* The same class does not interrupt. */
		apic_accept(&apic, vectors[i] | 1);
		assert_int_equal(apic_pending(&apic), -1);
		apic.irr[vectors[i] / 32] = 0;
	}
	for (size_t i = TZ_ARRAY_LEN(vectors); i-- > 0;) {
		put(EOI, 0, 0);
		assert_int_equal(
		    get(PPR, 0), i == 0 ? 0 : vectors[i - 1] & 0xf0);
	}
	put(EOI, 0, 0);
	assert_int_equal(get(PPR, 0), 0);
}

static void
a_one_shot_timer_counts_down_once(void **state)
{
	static const struct {
		uint32_t code;
		unsigned divisor;
	} rows[] = { { 0, 2 }, { 1, 4 }, { 2, 8 }, { 3, 16 }, { 8, 32 },
		{ 9, 64 }, { 10, 128 }, { 11, 1 } };

	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		uint64_t d = rows[i].divisor;

		reset_enabled(state);
		put(LVT_TIMER, 0, 0x20);
		put(DIVIDE, 0, rows[i].code);
		assert_int_equal(get(DIVIDE, 0), rows[i].code);
		put(INITIAL, 1000, 10);
		assert_int_equal(apic.timer_due, 1000 + 10 * d);
		assert_int_equal(get(CURRENT, 1000), 10);
		assert_int_equal(get(CURRENT, 1000 + d - 1), 10);
		assert_int_equal(get(CURRENT, 1000 + d), 9);
		assert_int_equal(get(CURRENT, 1000 + 10 * d - 1), 1);
		assert_int_equal(get(CURRENT, 1000 + 10 * d), 0);
		assert_true(apic_timer_can_interrupt(&apic));
		apic_timer_fire(&apic);
		assert_int_equal(apic_pending(&apic), 0x20);
		assert_int_equal(apic.timer_due, APIC_NEVER);
		assert_int_equal(get(CURRENT, 5000), 0);
	}
}

static void
a_periodic_timer_reloads_from_its_due_time(void **state)
{
	(void)state;
	put(LVT_TIMER, 0, 0x20020);
	put(DIVIDE, 0, 11);
	put(INITIAL, 50, 100);
	for (uint64_t n = 1; n < 5; n++) {
		assert_int_equal(apic.timer_due, 50 + n * 100);
		apic_timer_fire(&apic);
		assert_int_equal(get(CURRENT, 50 + n * 100 + 30), 70);
	}
	put(INITIAL, 500, 0);
	assert_int_equal(apic.timer_due, APIC_NEVER);
}

static void
a_masked_timer_runs_but_does_not_interrupt(void **state)
{
	(void)state;
	put(LVT_TIMER, 0, 0x10020);
	put(INITIAL, 0, 5);
	assert_false(apic_timer_can_interrupt(&apic));
	apic_timer_fire(&apic);
	assert_int_equal(apic_pending(&apic), -1);
	put(LVT_TIMER, 0, 0x20);
	put(TPR, 0, 0x20);
	assert_false(apic_timer_can_interrupt(&apic));
}

static void
a_pmi_is_dropped_or_masks_its_entry(void **state)
{
	(void)state;
	assert_int_equal(apic_raise_pmi(&apic), APIC_PMI_DROPPED);
	put(LVT_PC, 0, 0x400);
	assert_int_equal(apic_raise_pmi(&apic), APIC_PMI_NMI);
	assert_int_equal(get(LVT_PC, 0), 0x10400);
	assert_int_equal(apic_raise_pmi(&apic), APIC_PMI_DROPPED);
	put(LVT_PC, 0, 0x51);
	assert_int_equal(apic_raise_pmi(&apic), APIC_PMI_FIXED);
	assert_int_equal(apic_pending(&apic), 0x51);
	assert_int_equal(get(LVT_PC, 0), 0x10051);
	put(LVT_PC, 0, 0x200);
	assert_int_equal(apic_raise_pmi(&apic), APIC_PMI_UNMODELLED);
}

static void
only_the_low_half_of_the_icr_sends(void **state)
{
	(void)state;
	put(0x310, 0, 0x02000000);
	assert_int_equal(apic_write(&apic, 0x300, 0, 0x5021), APIC_SEND);
	assert_int_equal(get(0x300, 0), 0x4021);
	assert_int_equal(get(0x310, 0), 0x02000000);
}

static void
a_timer_that_runs_can_fire_early(void **state)
{
	(void)state;
	put(LVT_TIMER, 0, 0x20030);
	assert_false(apic_timer_fire_early(&apic, 100));
	put(DIVIDE, 0, 0xb);
	put(INITIAL, 1000, 500);
	put(LVT_TIMER, 1000, 0x30030);
	assert_false(apic_timer_fire_early(&apic, 1100));
	assert_int_equal(apic.timer_due, 1500);
	put(LVT_TIMER, 1100, 0x20030);
	assert_true(apic_timer_fire_early(&apic, 1200));
	assert_int_equal(apic_pending(&apic), 0x30);
	assert_int_equal(apic.timer_due, 1700);
	assert_int_equal(get(CURRENT, 1300), 400);
	put(LVT_TIMER, 1300, 0x31);
	assert_true(apic_timer_fire_early(&apic, 1400));
	assert_int_equal(apic_pending(&apic), 0x31);
	assert_int_equal(apic.timer_due, APIC_NEVER);
	assert_false(apic_timer_fire_early(&apic, 1500));
}

static void
a_foreign_mask_drops_the_pmi(void **state)
{
	(void)state;
	assert_false(apic_mask_pmi(&apic));
	put(LVT_PC, 0, 0x400);
	assert_true(apic_mask_pmi(&apic));
	assert_int_equal(get(LVT_PC, 0), 0x10400);
	assert_int_equal(apic_raise_pmi(&apic), APIC_PMI_DROPPED);
	assert_false(apic_mask_pmi(&apic));
}

static void
a_hash_is_of_state_and_distances(void **state)
{
	struct apic other;
	uint64_t hash;

	(void)state;
	put(DIVIDE, 0, 0xb);
	put(INITIAL, 1000, 500);
	other = apic;
	put(INITIAL, 3000, 500);
	assert_true(apic_hash(&apic, 3100) == apic_hash(&other, 1100));
	assert_true(apic_hash(&apic, 3101) != apic_hash(&other, 1100));
	put(INITIAL, 4000, 0);
	assert_true(apic_hash(&apic, 4000) == apic_hash(&apic, 5000));
	hash = apic_hash(&apic, 0);
	for (size_t bit = 0; bit < 8 * offsetof(struct apic, timer_start);
	     bit++) {
		uint8_t bytes[sizeof(other)];

		memcpy(bytes, &apic, sizeof(bytes));
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		memcpy(&other, bytes, sizeof(bytes));
		assert_true(apic_hash(&other, 0) != hash);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
		    reset_disables_and_masks_everything, reset),
		cmocka_unit_test_setup(unknown_registers_are_refused, reset),
		cmocka_unit_test_setup(
		    software_disable_masks_and_keeps_masked, reset),
		cmocka_unit_test_setup(
		    illegal_vectors_are_refused_where_they_could_fire,
		    reset_enabled),
		cmocka_unit_test_setup(
		    tsc_deadline_mode_is_refused, reset_enabled),
		cmocka_unit_test_setup(
		    the_highest_vector_above_the_priority_is_next,
		    reset_enabled),
		cmocka_unit_test_setup(
		    service_nests_and_eoi_ends_the_innermost, reset_enabled),
		cmocka_unit_test_setup(
		    a_one_shot_timer_counts_down_once, reset_enabled),
		cmocka_unit_test_setup(
		    a_periodic_timer_reloads_from_its_due_time, reset_enabled),
		cmocka_unit_test_setup(
		    a_masked_timer_runs_but_does_not_interrupt, reset_enabled),
		cmocka_unit_test_setup(
		    a_pmi_is_dropped_or_masks_its_entry, reset_enabled),
		cmocka_unit_test_setup(
		    only_the_low_half_of_the_icr_sends, reset_enabled),
		cmocka_unit_test_setup(
		    a_timer_that_runs_can_fire_early, reset_enabled),
		cmocka_unit_test_setup(
		    a_foreign_mask_drops_the_pmi, reset_enabled),
		cmocka_unit_test_setup(
		    a_hash_is_of_state_and_distances, reset_enabled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
