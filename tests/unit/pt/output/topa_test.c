/*
 * Goal: the ToPA walk fills regions, follows tables, stops, raises PMIs and
 * finds every operational error as the SDM tells. Method: tables by hand in
 * fake RAM; pseudo-random packets as filling; what is in memory, in the MSRs
 * and in the event log is compared with the tables.
 */
#include "tests/unit/pt/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BASE      UINT64_C(0xffffffff81000000)
#define REGION(n) (FAKE_BUFFER + (uint64_t)(n)*0x100000)
#define TABLE2    (FAKE_TABLE + 0x1000)

static void
enable(struct fake *fake, uint64_t base, uint64_t mask_ptrs)
{
	fake_wrmsr(fake, 0x560, base);
	fake_wrmsr(fake, 0x561, mask_ptrs);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
}

/* Sends at least BYTES bytes. */
static void
fill(struct fake *fake, uint64_t bytes)
{
	static const uint64_t steps[] = { 4, 0x20004, 0x7000000000, 12 };

	for (uint64_t sent = 0; sent < bytes; sent += 3)
		fake_transfer(
		    fake, PT_TRANSFER_JMP_INDIRECT, BASE + steps[sent / 3 % 4]);
}

static uint64_t
status(const struct fake *fake)
{
	return fake_rdmsr(fake, 0x571) & 0x3f;
}

static void
output_goes_through_regions_and_tables_in_order(void **state)
{
	static const struct {
		uint64_t pa, bytes;
	} regions[] = {
		{ REGION(0), 4096 },
		{ REGION(3), 16384 },
		{ REGION(1), 8192 },
		{ REGION(2), 4096 },
	};
	struct fake *fake = fake_create();
	size_t at = 0;

	(void)state;
	fake_poke(fake, FAKE_TABLE, REGION(0));
	fake_poke(fake, FAKE_TABLE + 8, REGION(3) | ENTRY_SIZE(2));
	fake_poke(fake, FAKE_TABLE + 16, TABLE2 | ENTRY_END);
	fake_poke(fake, TABLE2, REGION(1) | ENTRY_SIZE(1));
	fake_poke(fake, TABLE2 + 8, REGION(2));
	fake_poke(fake, TABLE2 + 16, FAKE_TABLE | ENTRY_END);
	enable(fake, FAKE_TABLE, 0);
	while (fake_count(fake, PT_EVENT_REGION_FULL) < 4)
		fill(fake, 3);
	assert_true(fake_rdmsr(fake, 0x560) == FAKE_TABLE);
	assert_int_equal(fake_rdmsr(fake, 0x561) & 0xffffffff, 0x7f);
	for (size_t i = 0; i < 4; i++) {
		const struct pt_event *full = fake_event(
		    fake, PT_EVENT_REGION_FULL, i);

		assert_true(full->pa.u == regions[i].pa);
		assert_true(full->bytes == regions[i].bytes);
		assert_int_equal(full->value, i % 2);
		at += regions[i].bytes;
		assert_int_equal(full->offset_bytes, at);
	}
	/* The first region was entered again: its start is newer. */
	at = 4096;
	for (size_t i = 1; i < 4; i++) {
		assert_memory_equal(fake->ram + regions[i].pa,
		    fake->stream + at, regions[i].bytes);
		at += regions[i].bytes;
	}
	assert_int_equal(fake->pmi_count, 0);
	fake_destroy(fake);
}

static void
a_full_region_moves_the_pointers_at_once(void **state)
{
	struct fake *fake = fake_create();
	struct pt_output_position position;

	(void)state;
	fake_poke(fake, FAKE_TABLE, REGION(0));
	fake_poke(fake, FAKE_TABLE + 8, REGION(1));
	/* Flushed PADs fill the region to its last byte. */
	enable(fake, FAKE_TABLE, UINT64_C(4016) << 32);
	fake_stop(fake);
	position = pt_unit_position(fake->unit);
	assert_int_equal(position.entry, 1);
	assert_int_equal(position.offset_bytes, 0);
	assert_true(fake_rdmsr(fake, 0x561) == 0xff);
	fake_destroy(fake);
}

static void
the_index_wraps_after_two_to_the_25_entries(void **state)
{
	struct fake *fake = fake_create();
	uint64_t last = (UINT64_C(1) << 25) - 1;

	(void)state;
	fake_poke(fake, FAKE_TABLE, REGION(0));
	fake_poke(fake, FAKE_TABLE + 8 * last, REGION(1));
	enable(fake, FAKE_TABLE, last << 7);
	assert_int_equal(status(fake), 7);
	assert_true((fake_rdmsr(fake, 0x561) & 0xffffffff) == 0xffffffff);
	while (fake_count(fake, PT_EVENT_REGION_FULL) < 1)
		fill(fake, 3);
	assert_int_equal(pt_unit_position(fake->unit).entry, 0);
	assert_int_equal(status(fake), 7);
	assert_true(fake_rdmsr(fake, 0x560) == FAKE_TABLE);
	fake_stop(fake);
	/* No bit of the index is lost on the way. */
	fake_forget(fake);
	fake_poke(fake, FAKE_TABLE + 8 * (last - 1), REGION(2));
	enable(fake, FAKE_TABLE, (last - 1) << 7);
	while (fake_count(fake, PT_EVENT_REGION_FULL) < 1)
		fill(fake, 3);
	assert_int_equal(pt_unit_position(fake->unit).entry, last);
	fake_destroy(fake);
}

static void
every_full_int_region_raises_a_pmi(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		fake_poke(fake, FAKE_TABLE + 8 * i,
		    REGION(i) | (i == 2 || i > 4 ? ENTRY_INTR : 0));
	fake_poke(fake, FAKE_TABLE + 64, FAKE_TABLE | ENTRY_END);
	enable(fake, FAKE_TABLE, 0);
	while (fake_count(fake, PT_EVENT_REGION_FULL) < 8)
		fill(fake, 3);
	assert_int_equal(fake->pmi_count, 4);
	assert_int_equal(fake_event(fake, PT_EVENT_PMI, 0)->value, 2);
	assert_int_equal(fake_event(fake, PT_EVENT_PMI, 1)->value, 5);
	assert_int_equal(fake_event(fake, PT_EVENT_PMI, 2)->value, 6);
	assert_int_equal(fake_event(fake, PT_EVENT_PMI, 3)->value, 7);
	assert_int_equal(status(fake), 7);
	fake_destroy(fake);
}

static void
stop_freezes_at_the_end_of_its_region_and_then_interrupts(void **state)
{
	struct fake *fake = fake_create();
	const struct pt_event *stopped, *pmi;

	(void)state;
	fake_poke(fake, FAKE_TABLE, REGION(0));
	fake_poke(fake, FAKE_TABLE + 8, REGION(1) | ENTRY_STOP | ENTRY_INTR);
	fake_poke(fake, FAKE_TABLE + 16, FAKE_TABLE | ENTRY_END);
	memset(fake->ram + REGION(1) + 4096, 0xee, 64);
	enable(fake, FAKE_TABLE, 0);
	fill(fake, 20000);
	assert_int_equal(status(fake), 0x23);
	assert_true(fake_rdmsr(fake, 0x561) == (UINT64_C(4096) << 32 | 0xff));
	assert_true(fake_rdmsr(fake, 0x560) == FAKE_TABLE);
	assert_int_equal(fake->pmi_count, 1);
	stopped = fake_event(fake, PT_EVENT_STOPPED, 0);
	pmi = fake_event(fake, PT_EVENT_PMI, 0);
	assert_true(pmi == stopped + 1);
	assert_int_equal(fake->ram[REGION(1) + 4096], 0xee);
	assert_int_equal(fake->stream_bytes, 8192);
	fake_stop(fake);
	assert_int_equal(fake->stream_bytes, 8192);
	/* To go on at the same place with Stopped cleared is an error. */
	fake_wrmsr(fake, 0x571, TZ_BIT(32));
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	assert_int_equal(status(fake), 0x13);
	fake_stop(fake);
	/* With the next entry it goes on. */
	fake_wrmsr(fake, 0x571, TZ_BIT(32));
	fake_wrmsr(fake, 0x561, 2 << 7);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	assert_int_equal(status(fake), 7);
	assert_true(fake_rdmsr(fake, 0x561) >> 32 != 0);
	fake_destroy(fake);
}

static void
tracing_with_stopped_set_reads_no_table(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_wrmsr(fake, 0x571, 0x20);
	enable(fake, FAKE_RAM_BYTES, UINT64_C(9999) << 32 | 5 << 7);
	fill(fake, 100);
	assert_int_equal(status(fake), 0x20);
	assert_int_equal(fake_count(fake, PT_EVENT_ERROR), 0);
	fake_stop(fake);
	assert_true(
	    fake_rdmsr(fake, 0x561) == (UINT64_C(9999) << 32 | 5 << 7 | 0x7f));
	assert_int_equal(fake->stream_bytes, 0);
	fake_destroy(fake);
}

static void
an_enable_on_an_end_entry_follows_it(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_poke(fake, FAKE_TABLE + 24, TABLE2 | ENTRY_END);
	fake_poke(fake, TABLE2, REGION(0));
	enable(fake, FAKE_TABLE, 3 << 7);
	assert_int_equal(status(fake), 7);
	assert_true(fake_rdmsr(fake, 0x560) == TABLE2);
	assert_int_equal(fake_rdmsr(fake, 0x561) & 0xffffffff, 0x7f);
	fake_destroy(fake);
}

static const struct {
	uint64_t base, mask_ptrs, entry0, entry1;
	const char *text;
} bad_enables[] = {
	{ FAKE_TABLE | 0x80, 0, REGION(0), 0,
	    "ToPA table not aligned to 4096 bytes" },
	{ FAKE_TABLE | 0x800, 0, REGION(0), 0,
	    "ToPA table not aligned to 4096 bytes" },
	{ FAKE_RAM_BYTES, 0, REGION(0), 0, "ToPA table outside memory" },
	{ FAKE_TABLE, 0, REGION(0) | TZ_BIT(1), 0,
	    "reserved bit set in a ToPA entry" },
	{ FAKE_TABLE, 0, REGION(0) | TZ_BIT(3), 0,
	    "reserved bit set in a ToPA entry" },
	{ FAKE_TABLE, 0, REGION(0) | TZ_BIT(5), 0,
	    "reserved bit set in a ToPA entry" },
	{ FAKE_TABLE, 0, REGION(0) | TZ_BIT(10), 0,
	    "reserved bit set in a ToPA entry" },
	{ FAKE_TABLE, 0, REGION(0) | TZ_BIT(11), 0,
	    "reserved bit set in a ToPA entry" },
	{ FAKE_TABLE, 0, REGION(0) | TZ_BIT(39), 0,
	    "address beyond MAXPHYADDR in a ToPA entry" },
	{ FAKE_TABLE, 0, REGION(0) | TZ_BIT(63), 0,
	    "address beyond MAXPHYADDR in a ToPA entry" },
	{ FAKE_TABLE, 0, 0x1000 | ENTRY_SIZE(1), 0,
	    "ToPA output region not aligned to its size" },
	{ FAKE_TABLE, 0, TZ_BIT(26) | ENTRY_SIZE(15), 0,
	    "ToPA output region not aligned to its size" },
	{ FAKE_TABLE, 0, TABLE2 | ENTRY_END, 0,
	    "ToPA END entry at the start of a table" },
	{ FAKE_TABLE, 1 << 7, 0, TABLE2 | ENTRY_END | ENTRY_INTR,
	    "ToPA END entry with INT or STOP" },
	{ FAKE_TABLE, 1 << 7, 0, TABLE2 | ENTRY_END | ENTRY_STOP,
	    "ToPA END entry with INT or STOP" },
	{ FAKE_TABLE, 1 << 7, FAKE_TABLE | ENTRY_END, FAKE_TABLE | ENTRY_END,
	    "ToPA END entry at the start of a table" },
	{ FAKE_TABLE, UINT64_C(4096) << 32, REGION(0), 0,
	    "ToPA output offset beyond the region" },
	{ FAKE_TABLE, UINT64_C(0xffffffff) << 32, REGION(0) | ENTRY_SIZE(8), 0,
	    "ToPA output offset beyond the region" },
};

static void
every_operational_error_at_enable_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(bad_enables); i++) {
		struct fake *fake = fake_create();

		fake_poke(fake, FAKE_TABLE, bad_enables[i].entry0);
		fake_poke(fake, FAKE_TABLE + 8, bad_enables[i].entry1);
		enable(fake, bad_enables[i].base, bad_enables[i].mask_ptrs);
		assert_int_equal(fake_count(fake, PT_EVENT_ERROR), 1);
		assert_string_equal(fake_event(fake, PT_EVENT_ERROR, 0)->text,
		    bad_enables[i].text);
		assert_int_equal(status(fake), 0x10);
		fill(fake, 100);
		fake_stop(fake);
		assert_int_equal(fake->stream_bytes, 0);
		assert_int_equal(status(fake), 0x10);
		fake_destroy(fake);
	}
}

static void
a_bad_entry_is_found_when_it_is_reached(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_poke(fake, FAKE_TABLE, REGION(0) | ENTRY_INTR);
	fake_poke(fake, FAKE_TABLE + 8, REGION(1) | TZ_BIT(5));
	enable(fake, FAKE_TABLE, 0);
	assert_int_equal(status(fake), 7);
	fill(fake, 10000);
	assert_int_equal(status(fake), 0x13);
	assert_int_equal(fake->pmi_count, 1);
	assert_int_equal(fake->stream_bytes, 4096);
	assert_true(fake_rdmsr(fake, 0x561) == 0xff);
	fake_destroy(fake);
}

static void
the_largest_region_address_of_the_profile_is_legal(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_poke(fake, FAKE_TABLE, TZ_BIT(39) - 4096);
	fake_poke(fake, FAKE_TABLE + 8, REGION(0));
	enable(fake, FAKE_TABLE, 0);
	assert_int_equal(status(fake), 7);
	/* No memory there: the output is lost, the pointers move on. */
	while (pt_unit_position(fake->unit).entry == 0)
		fill(fake, 3);
	fill(fake, 300);
	assert_int_equal(status(fake), 7);
	assert_int_equal(pt_unit_position(fake->unit).entry, 1);
	assert_int_equal(fake_count(fake, PT_EVENT_OUTPUT), 0);
	pt_unit_sync_output(fake->unit);
	assert_true(fake_event(fake, PT_EVENT_OUTPUT, 0)->pa.u == REGION(0));
	fake_destroy(fake);
}

static void
single_entry_tables_must_end_in_themselves(void **state)
{
	(void)state;
	for (unsigned good = 0; good < 2; good++) {
		struct fake *fake = fake_create();

		fake->profile.pt_ecx &= ~(uint32_t)PROFILE_PT_ECX_MENTRY;
		fake_poke(fake, FAKE_TABLE, REGION(0));
		fake_poke(fake, FAKE_TABLE + 8,
		    (good ? FAKE_TABLE : TABLE2) | ENTRY_END);
		enable(fake, FAKE_TABLE, 0);
		fill(fake, 10000);
		assert_int_equal(status(fake), good ? 7 : 0x10);
		assert_int_equal(fake_count(fake, PT_EVENT_UNMODELLED), 0);
		fake_destroy(fake);
	}
}

static void
output_is_reported_once_and_on_demand(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_start(fake, CTL_PLAIN);
	assert_int_equal(fake_count(fake, PT_EVENT_OUTPUT), 0);
	pt_unit_sync_output(fake->unit);
	assert_int_equal(fake_count(fake, PT_EVENT_OUTPUT), 1);
	assert_true(fake_event(fake, PT_EVENT_OUTPUT, 0)->bytes ==
	    fake_rdmsr(fake, 0x561) >> 32);
	pt_unit_sync_output(fake->unit);
	assert_int_equal(fake_count(fake, PT_EVENT_OUTPUT), 1);
	fake_stop(fake);
	assert_int_equal(fake_count(fake, PT_EVENT_OUTPUT), 2);
	assert_int_equal(fake->stream_bytes, fake_rdmsr(fake, 0x561) >> 32);
	fake_destroy(fake);
}

static void
stop_in_the_middle_of_an_event_ends_the_stream_there(void **state)
{
	(void)state;
	for (uint64_t room = 1; room < 120; room++) {
		struct fake *fake = fake_create();
		struct pt_transfer t = { .kind = PT_TRANSFER_INTERRUPT,
			.cr3_written = true };

		fake_poke(fake, FAKE_TABLE, REGION(0) | ENTRY_STOP);
		enable(fake, FAKE_TABLE, (UINT64_C(4096) - room) << 32);
		fake_cond(fake, true, BASE);
		t.after = fake->at;
		pt_unit_transfer(fake->unit, &t);
		fake_stop(fake);
		assert_int_equal(fake->stream_bytes,
		    (status(fake) & 0x20) ? room : fake->stream_bytes);
		assert_true(fake->stream_bytes <= room);
		fake_destroy(fake);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    output_goes_through_regions_and_tables_in_order),
		cmocka_unit_test(a_full_region_moves_the_pointers_at_once),
		cmocka_unit_test(the_index_wraps_after_two_to_the_25_entries),
		cmocka_unit_test(every_full_int_region_raises_a_pmi),
		cmocka_unit_test(
		    stop_freezes_at_the_end_of_its_region_and_then_interrupts),
		cmocka_unit_test(tracing_with_stopped_set_reads_no_table),
		cmocka_unit_test(an_enable_on_an_end_entry_follows_it),
		cmocka_unit_test(every_operational_error_at_enable_is_found),
		cmocka_unit_test(a_bad_entry_is_found_when_it_is_reached),
		cmocka_unit_test(
		    the_largest_region_address_of_the_profile_is_legal),
		cmocka_unit_test(single_entry_tables_must_end_in_themselves),
		cmocka_unit_test(output_is_reported_once_and_on_demand),
		cmocka_unit_test(
		    stop_in_the_middle_of_an_event_ends_the_stream_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
