/*
 * Goal: linear addresses lead where 4-level paging says, with the permissions
 * of all levels together, and what cannot be reached is refused.
 * Method: tables made by hand in a small RAM.
 */
#include "emu/cpu/access/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RAM_BYTES 0x40000
#define P         TZ_BIT(0)
#define W         TZ_BIT(1)
#define U         TZ_BIT(2)
#define A         TZ_BIT(5)
#define D         TZ_BIT(6)
#define PS        TZ_BIT(7)
#define NX        TZ_BIT(63)
#define PML4      0x1000
#define PDPT      0x2000
#define PD        0x3000
#define PT        0x4000

static uint8_t ram[RAM_BYTES];
static struct walk_space space = { ram, RAM_BYTES, PML4 };

static void
put(uint64_t table, unsigned index, uint64_t entry)
{
	memcpy(ram + table + index * 8, &entry, sizeof(entry));
}

static uint64_t
entry(uint64_t table, unsigned index)
{
	uint64_t value;

	memcpy(&value, ram + table + index * 8, sizeof(value));
	return value;
}

static int
setup(void **state)
{
	(void)state;
	memset(ram, 0, sizeof(ram));
	put(PML4, 0, PDPT | P | W | U);
	put(PML4, 511, PDPT | P | W | U);
	put(PDPT, 0, PD | P | W | U);
	put(PD, 0, PT | P | W | U);
	return 0;
}

static uint64_t
pa_of(uint64_t va)
{
	struct walk walk;

	assert_true(walk_page(&space, (struct gva){ va }, &walk));
	return walk.pa.u;
}

static void
pages_of_every_size_are_found(void **state)
{
	struct walk walk;

	(void)state;
	put(PT, 3, 0x9000 | P);
	put(PD, 1, 0x600000 | PS | P);
	put(PDPT, 1, 0x80000000 | PS | P);
	assert_int_equal(pa_of(0x3123), 0x9123);
	assert_int_equal(pa_of(0x234567), 0x634567);
	assert_int_equal(pa_of(0x40000000 + 0x1234567), 0x81234567);
	assert_int_equal(pa_of(0xffffff8000003fff), 0x9fff);
	assert_true(walk_page(&space, (struct gva){ 0x3000 }, &walk));
	assert_int_equal(walk.entry_pa, PT + 3 * 8);
	/* Bit 12 of a large page is its PAT, no address. */
	put(PD, 1, 0x600000 | TZ_BIT(12) | PS | P);
	assert_int_equal(pa_of(0x200000), 0x600000);
}

static void
permissions_are_those_of_all_levels(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 4096; bits++) {
		uint64_t flags[4];
		uint64_t all = W | U, nx = 0;
		struct walk walk;

		for (unsigned i = 0; i < 4; i++) {
			unsigned of = bits >> i * 3;

			flags[i] = P | (of & 1 ? W : 0) | (of & 2 ? U : 0) |
			    (of & 4 ? NX : 0);
			all &= flags[i];
			nx |= flags[i] & NX;
		}
		put(PML4, 0, PDPT | flags[0]);
		put(PDPT, 0, PD | flags[1]);
		put(PD, 0, PT | flags[2]);
		put(PT, 0, 0x8000 | flags[3]);
		assert_true(walk_page(&space, (struct gva){ 0 }, &walk));
		assert_int_equal(walk.writable, (all & W) != 0);
		assert_int_equal(walk.user, (all & U) != 0);
		assert_int_equal(walk.executable, nx == 0);
	}
}

static void
what_is_not_there_is_refused(void **state)
{
	struct walk walk;

	(void)state;
	put(PT, 1, 0x8000 | W);
	assert_false(walk_page(&space, (struct gva){ 0x1000 }, &walk));
	assert_false(walk_page(&space, (struct gva){ 0x8000000000 }, &walk));
	assert_false(walk_page(&space, (struct gva){ 0x800000000000 }, &walk));
	assert_false(
	    walk_page(&space, (struct gva){ 0xffff7fffffffffff }, &walk));
	put(PD, 2, RAM_BYTES | P);
	assert_false(walk_page(&space, (struct gva){ 0x400000 }, &walk));
}

static void
copies_cross_pages_and_say_where_they_fail(void **state)
{
	uint8_t bytes[16] = "0123456789abcde";
	struct gva bad = { 0 };

	(void)state;
	put(PT, 1, 0x8000 | P | W);
	put(PT, 2, 0xb000 | P | W);
	put(PT, 4, 0xc000 | P);
	put(PT, 5, RAM_BYTES | P | W);
	assert_true(walk_write(
	    &space, (struct gva){ 0x1ff8 }, bytes, sizeof(bytes), &bad));
	assert_memory_equal(ram + 0x8ff8, "01234567", 8);
	assert_memory_equal(ram + 0xb000, "89abcde", 8);
	assert_int_equal(entry(PT, 1), 0x8000 | P | W | D);
	assert_int_equal(entry(PT, 2), 0xb000 | P | W | D);
	memset(bytes, 0, sizeof(bytes));
	assert_true(walk_read(
	    &space, (struct gva){ 0x1ff8 }, bytes, sizeof(bytes), NULL));
	assert_memory_equal(bytes, "0123456789abcde", 16);
	assert_false(walk_read(
	    &space, (struct gva){ 0x2ff8 }, bytes, sizeof(bytes), &bad));
	assert_int_equal(bad.u, 0x3000);
	assert_true(walk_read(&space, (struct gva){ 0x4000 }, bytes, 8, NULL));
	assert_false(
	    walk_write(&space, (struct gva){ 0x4008 }, bytes, 8, &bad));
	assert_int_equal(bad.u, 0x4008);
	assert_int_equal(entry(PT, 4), 0xc000 | P);
	assert_false(walk_read(&space, (struct gva){ 0x5000 }, bytes, 8, &bad));
	assert_int_equal(bad.u, 0x5000);
}

/* An access sets A in all levels, a write also D in the last: whatever was set before. */
static void
an_access_sets_the_flags_of_all_levels(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 64; bits++) {
		const struct walk_access access = { .write = bits & 1 };
		uint64_t dirty = bits & 2 ? D : 0;
		struct walk_bytes bytes;
		struct gva fault;

		put(PML4, 0, PDPT | P | W | (bits & 4 ? A : 0));
		put(PDPT, 0, PD | P | W | (bits & 8 ? A : 0));
		put(PD, 0, PT | P | W | (bits & 16 ? A : 0));
		put(PT, 0, 0x8000 | P | W | (bits & 32 ? A : 0) | dirty);
		assert_int_equal(walk_access(&space, (struct gva){ 8 }, 8,
				     &access, &bytes, &fault),
		    WALK_DONE);
		assert_ptr_equal(bytes.part[0], ram + 0x8008);
		assert_int_equal(entry(PML4, 0), PDPT | P | W | A);
		assert_int_equal(entry(PDPT, 0), PD | P | W | A);
		assert_int_equal(entry(PD, 0), PT | P | W | A);
		assert_int_equal(entry(PT, 0),
		    0x8000 | P | W | A | dirty | (access.write ? D : 0));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(pages_of_every_size_are_found, setup),
		cmocka_unit_test_setup(
		    permissions_are_those_of_all_levels, setup),
		cmocka_unit_test_setup(what_is_not_there_is_refused, setup),
		cmocka_unit_test_setup(
		    copies_cross_pages_and_say_where_they_fail, setup),
		cmocka_unit_test_setup(
		    an_access_sets_the_flags_of_all_levels, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
