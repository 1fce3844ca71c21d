/*
 * Goal: interrupts and exceptions reach their handlers as the SDM says, from
 * both rings, and the record of the run does not depend on how it was run.
 * Method: a guest provokes each in turn; its handler writes down what it is
 * given; the expected list is written out from SDM vol. 3, chapter 6 and 4.7.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ROUND 24
#define ANY   UINT64_MAX

/* In the order of guest/rings.S, one round. */
static const struct {
	uint64_t vector, error, cs, cr2;
} expected[ROUND] = {
	{ 14, 0x00, 0x08, 0x10000000 },
	{ 14, 0x02, 0x08, 0x10001000 },
	{ 14, 0x03, 0x08, ANY },
	{ 14, 0x11, 0x08, 0xffffffff80400000 },
	{ 14, 0x10, 0x08, 0x10002000 },
	{ 13, 0, 0x08, ANY },
	{ 13, 0, 0x08, ANY },
	{ 6, 0, 0x08, ANY },
	{ 3, 0, 0x08, ANY },
	{ 0x31, 0, 0x08, ANY },
	{ 0, 0, 0x08, ANY },
	/* No stack for the page fault: a double fault, on its own stack. */
	{ 8, 0, 0x08, ANY },
	{ 14, 0x05, 0x2b, 0xffffffff80400000 },
	{ 14, 0x07, 0x2b, 0x400000 },
	{ 14, 0x06, 0x2b, 0x10003000 },
	{ 14, 0x06, 0x2b, 0x10004000 },
	{ 14, 0x15, 0x2b, 0xffffffff80200000 },
	{ 13, 0, 0x2b, ANY },
	{ 13, 0, 0x2b, ANY },
	{ 13, 0x31 * 8 + 2, 0x2b, ANY },
	{ 3, 0, 0x2b, ANY },
	{ 14, 0x04, 0x2b, 0x10005000 },
	{ 6, 0, 0x2b, ANY },
	{ 0x30, 0, 0x2b, ANY },
};

static void
every_exception_is_reported_as_the_hardware_does(void **state)
{
	struct guest_options options = { 0 };
	struct guest guest;

	(void)state;
	guest_run("rings", &options, &guest);
	guest_assert_exit(&guest);
	assert_int_equal(guest.result.code, 0);
	assert_int_equal(guest_record_count(&guest, 0), 3 * ROUND);
	for (size_t i = 0; i < 3 * ROUND; i++) {
		struct guest_record record = guest_record(&guest, 0, i);
		size_t row = i % ROUND;

		if (record.vector != expected[row].vector ||
		    record.error != expected[row].error ||
		    record.cs != expected[row].cs ||
		    (expected[row].cr2 != ANY &&
			record.cr2 != expected[row].cr2))
			fail_msg("record %zu: vector %u error 0x%x cs 0x%x", i,
			    (unsigned)record.vector, (unsigned)record.error,
			    (unsigned)record.cs);
	}
	guest_free(&guest);
}

static void
a_round_leaves_nothing_behind(void **state)
{
	struct guest_options options = { 0 };
	struct guest guest;

	(void)state;
	guest_run("rings", &options, &guest);
	/* The first begins on a stack of another depth. */
	for (size_t i = 2 * ROUND; i < 3 * ROUND; i++) {
		struct guest_record now = guest_record(&guest, 0, i);
		struct guest_record before = guest_record(&guest, 0, i - ROUND);

		assert_int_equal(now.rip, before.rip);
		assert_int_equal(now.rsp, before.rsp);
		assert_int_equal(now.rflags, before.rflags);
	}
	guest_free(&guest);
}

static void
all_ways_of_running_record_the_same(void **state)
{
	struct guest_options options = { 0 };
	struct guest guest;

	(void)state;
	guest_run_all_ways("rings", &options, &guest);
	guest_free(&guest);
}

/* SDM vol. 2, "INT n/INTO/INT3/INT1": #DB behind it, without a check of the gate's DPL. */
static void
int1_is_a_debug_trap_in_both_rings(void **state)
{
	static const uint64_t vectors[] = { 1, 1, 0x30 };
	/* retired.h does not tell it from a trap after an instruction. */
	struct guest_options options = { .no_decode = true };
	struct guest guest;

	(void)state;
	guest_run_all_ways("int1", &options, &guest);
	guest_assert_exit(&guest);
	assert_int_equal(guest_record_count(&guest, 0), 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(guest_record(&guest, 0, i).vector, vectors[i]);
	assert_int_equal(
	    guest_record(&guest, 0, 1).rip + 2, guest_record(&guest, 0, 2).rip);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    every_exception_is_reported_as_the_hardware_does),
		cmocka_unit_test(a_round_leaves_nothing_behind),
		cmocka_unit_test(all_ways_of_running_record_the_same),
		cmocka_unit_test(int1_is_a_debug_trap_in_both_rings),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
