/*
 * Goal: a string instruction with a REP prefix does the same whether its iterations are
 * done one by one or many at once: in memory, registers, flags, time and faults.
 * Method: a guest that is run in every way; what it notes and where it faults follows
 * here from SDM vol. 2, "REP/REPE/REPZ/REPNE/REPNZ", "CMPS", "SCAS".
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define VA UINT64_C(0x800000)

/* A CMPS or SCAS: what is left in RCX, and CF, PF, AF, ZF, SF and OF. */
static const struct {
	uint64_t rcx, flags;
} compared[] = {
	{ 0x10f, 0x84 }, /* EFH - 1, at the one byte that is 1 */
	{ 0x10f, 0x44 }, /* 1 - 1 there */
	{ 0, 0x11 },     /* 2 - EFH, at the end */
	{ 0x10f, 0x15 }, /* 1 - EFH */
	{ 0xf, 0x04 },   /* EFEFH - EF01H */
	{ 0, 0x80 },     /* EFH - 0, at the end */
};

static const struct {
	uint64_t error, cr2, rcx, rsi, rdi;
} faults[] = {
	{ 3, VA + 0x2000, 0x100, 0, VA + 0x2000 },
	{ 3, VA + 0x2000, 0x1e0, 0, VA + 0x2000 },
	{ 0, VA + 0x3000, 0x1c0, VA + 0x3000, VA + 0x200 },
	{ 3, VA + 0x2000, 0x100, VA + 0x300, VA + 0x2000 },
	{ 0, VA + 0x3000, 0x180, 0, VA + 0x3000 },
	{ 0, VA + 0x3000, 0x180, VA + 0x3000, VA + 0x2f00 },
	{ 3, VA + 0x2000, 0x1fe, 0, VA + 0x2000 },
	{ 0, VA + 0x3000, 0x1fe, 0, VA + 0x3000 },
};

static void
check(const struct guest_options *options)
{
	struct guest guest;

	guest_run_all_ways("strings", options, &guest);
	assert_string_equal(guest.result.text, "");
	guest_assert_exit(&guest);
	for (size_t i = 0; i < TZ_ARRAY_LEN(compared); i++)
		assert_int_equal(guest_note(&guest, 3, i),
		    compared[i].rcx << 16 | compared[i].flags);
	assert_int_equal(guest_record_count(&guest, 0), TZ_ARRAY_LEN(faults));
	for (size_t i = 0; i < TZ_ARRAY_LEN(faults); i++) {
		struct guest_record record = guest_record(&guest, 0, i);

		assert_int_equal(record.vector, 14);
		assert_int_equal(record.error, faults[i].error);
		assert_int_equal(record.cr2, faults[i].cr2);
		assert_int_equal(record.rcx, faults[i].rcx);
		assert_int_equal(guest_note(&guest, 1, i), faults[i].rsi);
		assert_int_equal(guest_note(&guest, 2, i), faults[i].rdi);
	}
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(
		    guest_note(&guest, 4, i), i % 2 == 0 ? 102 : 104);
	guest_free(&guest);
}

static void
iterations_may_be_done_at_once(void **state)
{
	(void)state;
	check(&(struct guest_options){ .no_decode = true });
}

/* An iteration has a cost. */
static void
with_the_cost_model_time_is_the_same(void **state)
{
	(void)state;
	check(&(struct guest_options){ .no_decode = true, .cost = true });
}

/* After 41 iterations its first byte is another one. */
static void
one_that_overwrites_itself_goes_on_with_the_new_code(void **state)
{
	struct guest_options options = { .no_exec_log = true };
	struct guest blocks, steps;

	(void)state;
	guest_run("overwrite", &options, &blocks);
	options.single_step = true;
	guest_run("overwrite", &options, &steps);
	guest_assert_same(&blocks, &steps);
	guest_assert_exit(&blocks);
	assert_int_equal(guest_note(&blocks, 1, 0), 100 - 41);
	guest_free(&blocks);
	guest_free(&steps);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(iterations_may_be_done_at_once),
		cmocka_unit_test(
		    one_that_overwrites_itself_goes_on_with_the_new_code),
		cmocka_unit_test(with_the_cost_model_time_is_the_same),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
