/*
 * Goal: every read of a ToPA entry is seen, and a unit that remembers entries uses
 * each of them once, wherever memory has moved on.  Method: rings of small regions
 * whose entries are rewritten under the running unit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "emu/pt/inject.h"
#include "tests/unit/pt/fake.h"

#define BASE   UINT64_C(0xffffffff81000000)
#define TABLE2 (FAKE_TABLE + 0x1000)
#define READ   PT_EVENT_TOPA_ENTRY

static uint64_t
region(unsigned n)
{
	return FAKE_BUFFER + UINT64_C(0x1000) * n;
}

/* A ring of COUNT regions, each with INT, that is being filled. */
static struct fake *
start(unsigned count)
{
	struct fake *fake = fake_create();

	for (unsigned i = 0; i < count; i++)
		fake_poke(fake, FAKE_TABLE + 8 * i, region(i) | ENTRY_INTR);
	fake_poke(fake, FAKE_TABLE + 8 * count, FAKE_TABLE | ENTRY_END);
	fake_wrmsr(fake, 0x560, FAKE_TABLE);
	fake_wrmsr(fake, 0x561, 0);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	return fake;
}

/* Goes on to the next region; which one is filled then? */
static uint64_t
advance(struct fake *fake)
{
	assert_true(pt_unit_fill_to_pmi(fake->unit));
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE);
	fake_forget(fake);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE);
	pt_unit_sync_output(fake->unit);
	return fake_event(fake, PT_EVENT_OUTPUT, 0)->pa.u & ~UINT64_C(0xfff);
}

static void
each_entry_is_told_of_when_it_is_read(void **state)
{
	struct fake *fake = start(2);

	(void)state;
	assert_int_equal(fake_count(fake, READ), 1);
	assert_int_equal(fake_event(fake, READ, 0)->pa.u, FAKE_TABLE);
	assert_int_equal(
	    fake_event(fake, READ, 0)->value, region(0) | ENTRY_INTR);
	assert_int_equal(fake_event(fake, READ, 0)->index, 0);
	fake_forget(fake);
	assert_true(pt_unit_fill_to_pmi(fake->unit));
	assert_int_equal(fake_count(fake, READ), 1);
	assert_int_equal(fake_event(fake, READ, 0)->pa.u, FAKE_TABLE + 8);
	assert_int_equal(fake_event(fake, READ, 0)->index, 1);
	fake_forget(fake);
	assert_true(pt_unit_fill_to_pmi(fake->unit));
	assert_int_equal(fake_count(fake, READ), 2);
	assert_int_equal(fake_event(fake, READ, 0)->index, 2);
	assert_int_equal(
	    fake_event(fake, READ, 0)->value, FAKE_TABLE | ENTRY_END);
	assert_int_equal(fake_event(fake, READ, 1)->pa.u, FAKE_TABLE);
	fake_destroy(fake);
}

/* Points all entries of a ring of COUNT elsewhere. */
static void
rewrite(struct fake *fake, unsigned count, unsigned by)
{
	for (unsigned i = 0; i < count; i++)
		fake_poke(
		    fake, FAKE_TABLE + 8 * i, region(i + by) | ENTRY_INTR);
}

static void
without_it_memory_counts(void **state)
{
	struct fake *fake = start(3);

	(void)state;
	rewrite(fake, 3, 100);
	assert_int_equal(advance(fake), region(101));
	assert_int_equal(advance(fake), region(102));
	assert_int_equal(advance(fake), region(100));
	fake_destroy(fake);
}

static void
remembered_entries_are_used_once_each(void **state)
{
	struct fake *fake = start(4);

	(void)state;
	assert_int_equal(advance(fake), region(1));
	fake_forget(fake);
	/* The current one, which is in use already, and the next. */
	assert_true(pt_unit_stale(fake->unit, 2));
	assert_int_equal(fake_count(fake, READ), 2);
	assert_int_equal(fake_event(fake, READ, 0)->index, 1);
	assert_int_equal(fake_event(fake, READ, 1)->index, 2);
	rewrite(fake, 4, 100);
	fake_forget(fake);
	assert_int_equal(advance(fake), region(2));
	assert_int_equal(fake_count(fake, READ), 0);
	assert_int_equal(advance(fake), region(103));
	assert_int_equal(advance(fake), region(100));
	assert_int_equal(advance(fake), region(1));
	assert_int_equal(advance(fake), region(102));
	assert_int_equal(advance(fake), region(103));
	fake_destroy(fake);
}

static void
an_end_is_remembered_and_ends_it(void **state)
{
	struct fake *fake = start(2);

	(void)state;
	assert_true(pt_unit_stale(fake->unit, 1000));
	assert_int_equal(fake_count(fake, READ), 1 + 3);
	rewrite(fake, 2, 100);
	fake_poke(fake, FAKE_TABLE + 16, TABLE2 | ENTRY_END);
	fake_poke(fake, TABLE2, region(50) | ENTRY_INTR);
	fake_poke(fake, TABLE2 + 8, FAKE_TABLE | ENTRY_END);
	assert_int_equal(advance(fake), region(1));
	assert_int_equal(advance(fake), region(0));
	assert_int_equal(advance(fake), region(101));
	assert_int_equal(advance(fake), region(50));
	assert_int_equal(advance(fake), region(100));
	fake_destroy(fake);
}

static void
no_more_than_the_most_are_remembered(void **state)
{
	struct fake *fake = start(PT_STALE_ENTRIES_MAX + 8);

	(void)state;
	assert_false(pt_unit_stale(fake->unit, 0));
	assert_true(pt_unit_stale(fake->unit, UINT32_MAX));
	assert_int_equal(fake_count(fake, READ), 1 + PT_STALE_ENTRIES_MAX);
	rewrite(fake, PT_STALE_ENTRIES_MAX + 8, 100);
	for (unsigned i = 1; i < PT_STALE_ENTRIES_MAX; i++)
		assert_int_equal(advance(fake), region(i));
	assert_int_equal(advance(fake), region(100 + PT_STALE_ENTRIES_MAX));
	fake_destroy(fake);
}

static void
an_enable_forgets_them(void **state)
{
	struct fake *fake = start(2);

	(void)state;
	assert_true(pt_unit_stale(fake->unit, 3));
	rewrite(fake, 2, 100);
	fake_stop(fake);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	assert_int_equal(advance(fake), region(101));
	fake_stop(fake);
	assert_false(pt_unit_stale(fake->unit, 3));
	fake_destroy(fake);
}

static void
they_are_part_of_a_saved_state(void **state)
{
	struct fake *fake = start(3);
	uint8_t *saved = malloc(pt_unit_size(fake->unit));

	(void)state;
	assert_non_null(saved);
	assert_true(pt_unit_stale(fake->unit, 3));
	rewrite(fake, 3, 100);
	assert_int_equal(advance(fake), region(1));
	pt_unit_save(fake->unit, saved);
	assert_int_equal(advance(fake), region(2));
	assert_int_equal(advance(fake), region(0));
	pt_unit_restore(fake->unit, saved);
	assert_int_equal(advance(fake), region(2));
	assert_int_equal(advance(fake), region(0));
	assert_int_equal(advance(fake), region(101));
	free(saved);
	fake_destroy(fake);
}

static void
a_hash_knows_what_is_remembered(void **state)
{
	struct fake *one = start(3), *two = start(3);

	(void)state;
	fake_poke(two, FAKE_TABLE + 8, region(9) | ENTRY_INTR);
	assert_true(pt_unit_hash(one->unit) == pt_unit_hash(two->unit));
	assert_true(pt_unit_stale(one->unit, 2));
	assert_true(pt_unit_stale(two->unit, 2));
	assert_true(pt_unit_hash(one->unit) != pt_unit_hash(two->unit));
	fake_destroy(one);
	fake_destroy(two);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_entry_is_told_of_when_it_is_read),
		cmocka_unit_test(without_it_memory_counts),
		cmocka_unit_test(remembered_entries_are_used_once_each),
		cmocka_unit_test(an_end_is_remembered_and_ends_it),
		cmocka_unit_test(no_more_than_the_most_are_remembered),
		cmocka_unit_test(an_enable_forgets_them),
		cmocka_unit_test(they_are_part_of_a_saved_state),
		cmocka_unit_test(a_hash_knows_what_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
