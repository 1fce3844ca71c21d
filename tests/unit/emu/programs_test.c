/*
 * Goal: branches to the next instruction, code that changes and XSAVES do what
 * the architecture says, and run the same in every way.
 * Method: one guest each; results that it noted, its records, and the trace.
 */
#include "guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
branches_to_the_next_instruction_keep_their_bits(void **state)
{
	struct guest_options options = { 0 };
	struct guest guest;

	(void)state;
	/* Decoding fails if one bit is wrong: every later branch would be, too. */
	guest_run_all_ways("branches", &options, &guest);
	guest_assert_exit(&guest);
	guest_free(&guest);
}

static void
changed_code_is_seen_at_once(void **state)
{
	struct guest_options options = { .no_decode = true };
	struct guest guest;

	(void)state;
	guest_run_all_ways("changes", &options, &guest);
	guest_assert_exit(&guest);
	for (size_t round = 0; round < 3; round++) {
		/* Written over: 1 + 16, 5 + 16, then the JMP falls through. */
		assert_int_equal(guest_note(&guest, 1, round), 17 + 21 + 21);
		/* Mapped elsewhere: 101, 200, 101. */
		assert_int_equal(guest_note(&guest, 3, round), 101 + 200 + 101);
		/* Two spaces, four times each. */
		assert_int_equal(guest_note(&guest, 4, round), 4 * (200 + 101));
		/* By way of another mapping: a JMP over nothing, one ADD, nothing. */
		assert_int_equal(guest_note(&guest, 5, round), 49 + 33 + 49);
	}
	guest_free(&guest);
}

static void
xsaves_and_xrstors_follow_their_rules(void **state)
{
	static const uint64_t vectors[] = { 6, 13, 13, 13, 13, 13, 13, 7, 7, 14,
		14, 14, 14, 13 };
	static const uint64_t errors[] = { 2, 0, 3, 0 };
	struct guest_options options = { .no_decode = true };
	struct guest guest;

	(void)state;
	guest_run_all_ways("xstate", &options, &guest);
	guest_assert_exit(&guest);
	assert_int_equal(guest_record_count(&guest, 0), TZ_ARRAY_LEN(vectors));
	for (size_t i = 0; i < TZ_ARRAY_LEN(vectors); i++)
		assert_int_equal(guest_record(&guest, 0, i).vector, vectors[i]);
	for (size_t i = 0; i < TZ_ARRAY_LEN(errors); i++)
		assert_int_equal(
		    guest_record(&guest, 0, 9 + i).error, errors[i]);
	/* XCOMP_BV of an empty request; CTL after XSAVES; after an XRSTORS of
	 * the initial state. */
	assert_int_equal(guest_note(&guest, 1, 0), UINT64_C(1) << 63);
	assert_int_equal(guest_note(&guest, 2, 0), 0x210c);
	assert_int_equal(guest_note(&guest, 3, 0), 0);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    branches_to_the_next_instruction_keep_their_bits),
		cmocka_unit_test(changed_code_is_seen_at_once),
		cmocka_unit_test(xsaves_and_xrstors_follow_their_rules),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
