/*
 * Goal: output goes where it may and nowhere else: to a single range, through the
 * one-entry table of Broadwell with its early PMI, not into restricted memory, to
 * addresses of 52 bits. Method: pseudo-random packets as filling; memory, MSRs and
 * events are compared with what the SDM's rules give by hand.
 */
#include "emu/pt/inject.h"
#include "tests/unit/pt/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BASE   UINT64_C(0xffffffff81000000)
#define REGION UINT64_C(0x1000000)
#define TABLE2 (FAKE_TABLE + 0x1000)

static void
enable(struct fake *fake, uint64_t ctl, uint64_t base, uint64_t mask_ptrs)
{
	fake_wrmsr(fake, 0x560, base);
	fake_wrmsr(fake, 0x561, mask_ptrs);
	fake_wrmsr(fake, 0x570,
	    ctl | CTL_OS | CTL_USER | CTL_BRANCH_EN | CTL_TRACE_EN);
}

/* Sends at least BYTES bytes: indirect jumps, and branches by the fast path. */
static void
fill(struct fake *fake, uint64_t bytes)
{
	static const uint64_t steps[] = { 4, 0x20004, 0x7000000000, 12 };

	for (uint64_t sent = 0; sent < bytes; sent += 4) {
		fake_transfer(
		    fake, PT_TRANSFER_JMP_INDIRECT, BASE + steps[sent / 4 % 4]);
		for (unsigned i = 0; i < 6; i++) {
			if (pt_unit_fast(fake->unit)->fast)
				pt_unit_fast_cond(fake->unit, i % 2);
			else
				fake_cond(fake, i % 2, fake->at.ip);
		}
	}
}

static uint64_t
status(const struct fake *fake)
{
	return fake_rdmsr(fake, 0x571) & 0x3f;
}

static void
a_single_range_is_circular(void **state)
{
	(void)state;
	for (unsigned bits = 7; bits < 18; bits++) {
		uint64_t bytes = UINT64_C(1) << bits, start = bytes / 2 + 3;
		struct fake *fake = fake_create();
		uint64_t at;

		memset(fake->ram + REGION - 64, 0xee, bytes + 128);
		enable(fake, 0, REGION, start << 32 | (bytes - 1));
		assert_int_equal(status(fake), 7);
		fill(fake, 3 * bytes);
		fake_stop(fake);
		assert_int_equal(status(fake), 3);
		at = (start + fake->stream_bytes) % bytes;
		assert_true(fake->stream_bytes > 3 * bytes);
		assert_true(fake_rdmsr(fake, 0x560) == REGION);
		assert_true(
		    fake_rdmsr(fake, 0x561) == (at << 32 | (bytes - 1)));
		/* The newest bytes stand up to the offset and behind it. */
		assert_memory_equal(fake->ram + REGION,
		    fake->stream + fake->stream_bytes - at, at);
		assert_memory_equal(fake->ram + REGION + at,
		    fake->stream + fake->stream_bytes - bytes, bytes - at);
		for (unsigned i = 0; i < 64; i++) {
			assert_int_equal(fake->ram[REGION - 64 + i], 0xee);
			assert_int_equal(fake->ram[REGION + bytes + i], 0xee);
		}
		assert_int_equal(fake->pmi_count, 0);
		assert_int_equal(fake_count(fake, PT_EVENT_STOPPED), 0);
		assert_int_equal(fake_count(fake, PT_EVENT_TOPA_ENTRY), 0);
		assert_int_equal(fake_count(fake, PT_EVENT_UNMODELLED), 0);
		assert_true(fake_count(fake, PT_EVENT_REGION_FULL) >= 3);
		assert_int_equal(
		    fake_event(fake, PT_EVENT_REGION_FULL, 0)->bytes, bytes);
		fake_destroy(fake);
	}
}

static void
a_bad_single_range_is_an_operational_error(void **state)
{
	static const struct {
		uint64_t base, mask, offset;
		const char *text;
	} bad[] = {
		{ REGION, 0xeff, 0,
		    "mask of a single range is not contiguous" },
		{ REGION, 0x80000fff, 0,
		    "mask of a single range is not contiguous" },
		{ REGION, 0xf80, 0, NULL },
		{ REGION | 0x80, 0xfff, 0,
		    "base of a single range is not aligned to its mask" },
		{ REGION | 0x800, 0xfff, 0,
		    "base of a single range is not aligned to its mask" },
		{ REGION | 0x800, 0x7ff, 0, NULL },
		{ REGION, 0xffffffff, 0,
		    "base of a single range is not aligned to its mask" },
		{ 0, 0xffffffff, 0xffffffff, NULL },
		{ REGION, 0xfff, 0xfff, NULL },
		{ REGION, 0xfff, 0x1000,
		    "output offset beyond a single range" },
		{ REGION, 0x7f, 0x80, "output offset beyond a single range" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(bad); i++) {
		struct fake *fake = fake_create();

		enable(fake, 0, bad[i].base, bad[i].offset << 32 | bad[i].mask);
		fill(fake, 300);
		assert_int_equal(status(fake), bad[i].text == NULL ? 7 : 0x10);
		if (bad[i].text != NULL) {
			assert_string_equal(
			    fake_event(fake, PT_EVENT_ERROR, 0)->text,
			    bad[i].text);
			assert_int_equal(fake->stream_bytes, 0);
		}
		fake_stop(fake);
		fake_destroy(fake);
	}
}

static void
what_is_for_tables_is_not_for_a_single_range(void **state)
{
	struct fake *fake = fake_create();
	struct gpa pa;

	(void)state;
	/* What would be a table with INT is nothing but memory here. */
	fake_poke(fake, REGION, FAKE_BUFFER | ENTRY_INTR);
	enable(fake, 0, REGION, 0xfff);
	assert_false(pt_unit_current_entry(fake->unit, &pa));
	assert_false(pt_unit_fill_to_pmi(fake->unit));
	assert_false(pt_unit_force_stop(fake->unit));
	assert_false(pt_unit_stale(fake->unit, 3));
	fill(fake, 5000);
	assert_int_equal(status(fake), 7);
	fake_destroy(fake);
}

static void
output_outside_of_memory_is_lost(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	enable(fake, 0, FAKE_RAM_BYTES, 0xfff);
	fill(fake, 10000);
	fake_stop(fake);
	assert_int_equal(status(fake), 3);
	assert_int_equal(fake->stream_bytes, 0);
	assert_true(fake_rdmsr(fake, 0x561) >> 32 != 0);
	fake_destroy(fake);
}

/* Broadwell with the one table that it can use, ENTRY and an END to itself. */
static struct fake *
broadwell(uint64_t entry, uint64_t offset)
{
	struct fake *fake = fake_create();

	fake->profile = *profile_find("broadwell");
	fake_poke(fake, FAKE_TABLE, entry);
	fake_poke(fake, FAKE_TABLE + 8, FAKE_TABLE | ENTRY_END);
	enable(fake, CTL_TOPA, FAKE_TABLE, offset << 32);
	return fake;
}

static void
the_pmi_of_a_single_entry_comes_early_once_a_pass(void **state)
{
	(void)state;
	for (unsigned size = 0; size < 4; size++) {
		uint64_t bytes = UINT64_C(4096) << size;
		struct fake *fake = broadwell(
		    REGION | ENTRY_SIZE(size) | ENTRY_INTR, 0);

		assert_int_equal(status(fake), 7);
		fill(fake, 4 * bytes);
		assert_int_equal(status(fake), 7);
		assert_true(fake_count(fake, PT_EVENT_REGION_FULL) >= 3);
		for (unsigned n = 0; n < 3; n++) {
			assert_int_equal(
			    fake_event(fake, PT_EVENT_PMI, n)->offset_bytes,
			    (n + 1) * bytes - 512);
			assert_int_equal(
			    fake_event(fake, PT_EVENT_REGION_FULL, n)
				->offset_bytes,
			    (n + 1) * bytes);
		}
		assert_int_equal(
		    fake->pmi_count, fake_count(fake, PT_EVENT_PMI));
		fake_stop(fake);
		assert_int_equal(fake_rdmsr(fake, 0x561) & 0xffffffff, 0x7f);
		fake_destroy(fake);
	}
}

static void
behind_its_place_the_pmi_comes_at_the_end(void **state)
{
	static const uint64_t starts[] = { 3583, 3584, 4095 };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(starts); i++) {
		struct fake *fake = broadwell(REGION | ENTRY_INTR, starts[i]);

		fill(fake, 9000);
		assert_int_equal(
		    fake_event(fake, PT_EVENT_PMI, 0)->offset_bytes,
		    starts[i] < 3584 ? 1 : 4096 - starts[i]);
		assert_int_equal(
		    fake_event(fake, PT_EVENT_PMI, 1)->offset_bytes,
		    4096 - starts[i] + 3584);
		fake_destroy(fake);
	}
}

static void
stop_ends_a_single_entry_after_its_pmi(void **state)
{
	struct fake *fake = broadwell(REGION | ENTRY_INTR | ENTRY_STOP, 0);

	(void)state;
	fill(fake, 9000);
	assert_int_equal(status(fake), 0x23);
	assert_int_equal(fake->pmi_count, 1);
	assert_int_equal(
	    fake_event(fake, PT_EVENT_PMI, 0)->offset_bytes, 4096 - 512);
	assert_int_equal(fake->stream_bytes, 4096);
	fake_destroy(fake);
	/* Without INT there is no PMI, with many entries none is early. */
	fake = broadwell(REGION, 0);
	fill(fake, 9000);
	assert_int_equal(fake->pmi_count, 0);
	fake_destroy(fake);
	fake = fake_create();
	fake->profile = *profile_find("broadwell");
	fake->profile.pt_ecx |= PROFILE_PT_ECX_MENTRY;
	fake_poke(fake, FAKE_TABLE, REGION | ENTRY_INTR);
	fake_poke(fake, FAKE_TABLE + 8, FAKE_TABLE | ENTRY_END);
	enable(fake, CTL_TOPA, FAKE_TABLE, 0);
	fill(fake, 4096);
	assert_int_equal(fake_event(fake, PT_EVENT_PMI, 0)->offset_bytes, 4096);
	fake_destroy(fake);
}

static void
restricted_memory_is_an_operational_error(void **state)
{
	static const struct {
		uint64_t ctl, base, mask_ptrs, pa, bytes;
		const char *text;
	} rows[] = {
		{ 0, REGION, 0xfff, REGION + 0xfff, 1,
		    "trace output in restricted memory" },
		{ 0, REGION, 0xfff, REGION - 1, 1, NULL },
		{ 0, REGION, 0xfff, REGION + 0x1000, 64, NULL },
		{ 0, REGION, 0xfff, REGION - 64, 65,
		    "trace output in restricted memory" },
		{ CTL_TOPA, FAKE_TABLE, 0, FAKE_TABLE, 4096,
		    "ToPA table in restricted memory" },
		{ CTL_TOPA, FAKE_TABLE, 0, FAKE_BUFFER + 4095, 1,
		    "trace output in restricted memory" },
		{ CTL_TOPA, FAKE_TABLE, 0, FAKE_BUFFER + 4096, 4096, NULL },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct fake *fake = fake_create();

		fake_poke(fake, FAKE_TABLE, FAKE_BUFFER);
		fake_poke(fake, FAKE_TABLE + 8, FAKE_TABLE | ENTRY_END);
		fake->restricted_pa = rows[i].pa;
		fake->restricted_bytes = rows[i].bytes;
		enable(fake, rows[i].ctl, rows[i].base, rows[i].mask_ptrs);
		assert_int_equal(status(fake), rows[i].text == NULL ? 7 : 0x10);
		if (rows[i].text != NULL)
			assert_string_equal(
			    fake_event(fake, PT_EVENT_ERROR, 0)->text,
			    rows[i].text);
		fake_destroy(fake);
	}
}

/* Output begins at the entry before the one that is wrong. */
static void
tables_that_lead_astray_end_the_output_when_they_do(void **state)
{
	static const struct {
		uint64_t table, entry1, entry2, restricted;
		const char *text;
	} rows[] = {
		/* Nothing but this one END, which is no loop: no error. */
		{ FAKE_TABLE, FAKE_TABLE | ENTRY_END, 0, 0, NULL },
		{ FAKE_TABLE, TABLE2 | ENTRY_END, TABLE2 | ENTRY_END, 0,
		    "ToPA END entry at the start of a table" },
		{ FAKE_TABLE, TABLE2 | ENTRY_END, FAKE_TABLE | ENTRY_END, 0,
		    "ToPA END entry at the start of a table" },
		{ FAKE_TABLE, FAKE_RAM_BYTES | ENTRY_END, 0, 0,
		    "ToPA table outside memory" },
		{ FAKE_TABLE, TABLE2 | ENTRY_END, FAKE_BUFFER, TABLE2,
		    "ToPA table in restricted memory" },
		{ FAKE_TABLE, TABLE2 | ENTRY_END, REGION + 0x100000,
		    REGION + 0x100000, "trace output in restricted memory" },
		{ FAKE_TABLE, TABLE2 | ENTRY_END | TZ_BIT(1), 0, 0,
		    "reserved bit set in a ToPA entry" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct fake *fake = fake_create();

		fake_poke(fake, rows[i].table, REGION);
		fake_poke(fake, rows[i].table + 8, rows[i].entry1);
		fake_poke(fake, TABLE2, rows[i].entry2);
		if (rows[i].restricted != 0) {
			fake->restricted_pa = rows[i].restricted;
			fake->restricted_bytes = 4096;
		}
		enable(fake, CTL_TOPA, rows[i].table, 0);
		assert_int_equal(status(fake), 7);
		fill(fake, 9000);
		assert_int_equal(
		    status(fake) & 0x10, rows[i].text == NULL ? 0 : 0x10);
		if (rows[i].text != NULL) {
			assert_string_equal(
			    fake_event(fake, PT_EVENT_ERROR, 0)->text,
			    rows[i].text);
			assert_int_equal(fake->stream_bytes, 4096);
		}
		fake_destroy(fake);
	}
}

static void
a_table_without_an_end_leaves_memory(void **state)
{
	struct fake *fake = fake_create();
	uint64_t table = FAKE_RAM_BYTES - 4096;

	(void)state;
	for (uint64_t i = 0; i < 512; i++)
		fake_poke(fake, table + 8 * i, REGION);
	enable(fake, CTL_TOPA, table, 509 << 7);
	fill(fake, 20000);
	assert_int_equal(status(fake), 0x13);
	assert_string_equal(fake_event(fake, PT_EVENT_ERROR, 0)->text,
	    "ToPA table outside memory");
	assert_int_equal(fake->stream_bytes, 3 * 4096);
	assert_int_equal(pt_unit_position(fake->unit).entry, 512);
	fake_destroy(fake);
}

/* Two pages high up: a table and a buffer. */
#define HIGH (UINT64_C(0xffffffff00000))

struct high {
	uint8_t page[2][4096];
	uint64_t low; /* an address that was asked for and is not there */
};

static uint8_t *
high_window(void *arg, struct gpa pa, uint64_t bytes)
{
	struct high *high = arg;

	if (pa.u >= HIGH && pa.u + bytes <= HIGH + sizeof(high->page))
		return &high->page[0][0] + (pa.u - HIGH);
	high->low = pa.u;
	return NULL;
}

static bool
high_read64(void *arg, struct gpa pa, uint64_t *value)
{
	const uint8_t *from = high_window(arg, pa, 8);

	if (from != NULL)
		memcpy(value, from, 8);
	return from != NULL;
}

static void
high_pmi(void *arg)
{
	(void)arg;
}

static void
high_event(void *arg, const struct pt_event *event)
{
	(void)arg;
	assert_int_not_equal(event->kind, PT_EVENT_ERROR);
}

static void
addresses_have_52_bits(void **state)
{
	static const uint8_t psb[] = { 0x02, 0x82, 0x02, 0x82 };
	static const struct pt_context at = { .ip = FAKE_CLIP, .cs_l = true };
	const struct profile *profile = profile_find("sapphire-rapids");

	(void)state;
	for (unsigned topa = 0; topa < 2; topa++) {
		struct high high = { .low = 0 };
		uint64_t entry = HIGH + 4096;
		struct pt_port port = { &high, high_window, high_read64,
			high_pmi, high_event, NULL };
		struct pt_unit *unit = pt_unit_create(profile, &port);

		assert_non_null(unit);
		memcpy(high.page[0], &entry, 8);
		assert_int_equal(pt_unit_wrmsr(unit, 0x560,
				     topa ? HIGH : HIGH + 4096, &at, 0),
		    FAULT_NONE);
		assert_int_equal(
		    pt_unit_wrmsr(unit, 0x560, HIGH << 1, &at, 0), FAULT_GP);
		assert_int_equal(
		    pt_unit_wrmsr(unit, 0x561, topa ? 0 : 0xfff, &at, 0),
		    FAULT_NONE);
		assert_int_equal(
		    pt_unit_wrmsr(unit, 0x570,
			CTL_OS | CTL_TRACE_EN | (topa ? CTL_TOPA : 0), &at, 0),
		    FAULT_NONE);
		assert_memory_equal(high.page[1], psb, sizeof(psb));
		assert_true(high.low == 0);
		pt_unit_destroy(unit);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_single_range_is_circular),
		cmocka_unit_test(a_bad_single_range_is_an_operational_error),
		cmocka_unit_test(what_is_for_tables_is_not_for_a_single_range),
		cmocka_unit_test(output_outside_of_memory_is_lost),
		cmocka_unit_test(
		    the_pmi_of_a_single_entry_comes_early_once_a_pass),
		cmocka_unit_test(behind_its_place_the_pmi_comes_at_the_end),
		cmocka_unit_test(stop_ends_a_single_entry_after_its_pmi),
		cmocka_unit_test(restricted_memory_is_an_operational_error),
		cmocka_unit_test(
		    tables_that_lead_astray_end_the_output_when_they_do),
		cmocka_unit_test(a_table_without_an_end_leaves_memory),
		cmocka_unit_test(addresses_have_52_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
