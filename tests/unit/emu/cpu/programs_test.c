/*
 * Goal: branches to the next instruction, code that changes and XSAVES do what
 * the architecture says, and run the same in every way.
 * Method: one guest each; results that it noted, its records, and the trace.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Decoding fails if one bit is wrong: every later branch would be, too. */
static void
run_and_decode(const char *name)
{
	struct guest_options options = { 0 };
	struct guest guest;

	guest_run_all_ways(name, &options, &guest);
	guest_assert_exit(&guest);
	guest_free(&guest);
}

static void
branches_to_the_next_instruction_keep_their_bits(void **state)
{
	(void)state;
	run_and_decode("branches");
}

static void
branches_with_many_targets_are_the_same(void **state)
{
	(void)state;
	run_and_decode("returns");
}

/* CMP AL, C8H with AL 0: CF and AF. */
static void
hooks_of_older_code_do_not_change_flags(void **state)
{
	struct guest_options options = { .no_decode = true };
	struct guest guest;

	(void)state;
	guest_run_all_ways("leftover", &options, &guest);
	guest_assert_exit(&guest);
	assert_int_equal(guest_record_count(&guest, 0), 1);
	assert_int_equal(guest_record(&guest, 0, 0).vector, 14);
	assert_int_equal(guest_record(&guest, 0, 0).rflags & 0x8d5, 0x11);
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
		/* Not mapped between any two calls. */
		assert_int_equal(guest_note(&guest, 6, round),
		    101 + 101 + 200 + 150 + 200 + 101);
	}
	guest_free(&guest);
}

static void
xsaves_and_xrstors_follow_their_rules(void **state)
{
	static const uint64_t vectors[] = { 6, 13, 13, 13, 13, 13, 13, 7, 7, 14,
		14, 14, 14, 13 };
	static const uint64_t errors[] = { 2, 0, 3, 0 };
	/* SDM vol. 1, 13.2: XSAVES does not come with XSAVEC. */
	static const char *const without[] = { NULL, "xsavec" };
	struct guest_options options = { .no_decode = true };
	struct guest guest;

	(void)state;
	for (size_t way = 0; way < TZ_ARRAY_LEN(without); way++) {
		options.without = without[way];
		guest_run_all_ways("xstate", &options, &guest);
		guest_assert_exit(&guest);
		assert_int_equal(
		    guest_record_count(&guest, 0), TZ_ARRAY_LEN(vectors));
		for (size_t i = 0; i < TZ_ARRAY_LEN(vectors); i++)
			assert_int_equal(
			    guest_record(&guest, 0, i).vector, vectors[i]);
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
}

/* SDM vol. 2, "MOV - Move to/from Control Registers"; vol. 3, 2.5 "Control Registers". */
static void
control_registers_take_what_the_processor_has(void **state)
{
	struct guest_options options = { .no_decode = true };
	struct guest guest;

	(void)state;
	guest_run_all_ways("special", &options, &guest);
	guest_assert_exit(&guest);
	/* 4 of CR0, 8 of CR4; RDTSC with CR4.TSD, and both registers, in ring 3. */
	assert_int_equal(guest_record_count(&guest, 0), 4 + 8 + 3 + 2);
	for (size_t i = 0; i < 4 + 8 + 3; i++) {
		assert_int_equal(guest_record(&guest, 0, i).vector, 13);
		assert_int_equal(guest_record(&guest, 0, i).error, 0);
	}
	assert_int_equal(guest_record(&guest, 0, 15).vector, 0x30);
	assert_int_equal(guest_record(&guest, 0, 16).vector, 0x30);
	assert_int_equal(guest_note(&guest, 1, 0), 0);
	assert_int_equal(guest_note(&guest, 1, 1), 0);
	assert_int_equal(guest_note(&guest, 2, 0), 0xe004003b);
	assert_int_equal(guest_note(&guest, 2, 1), 0x507bc);
	guest_free(&guest);
}

static void
hooks_are_dropped_and_made_again(void **state)
{
	struct guest_options options = { .no_decode = true };
	struct guest guest;

	(void)state;
	guest_run("sites", &options, &guest);
	guest_assert_exit(&guest);
	/* Each CPUID was the machine's: the engine has another signature. */
	assert_int_equal(
	    guest_note(&guest, 1, 0), (uint64_t)2 * (2200 + 9000) * 0x506e3);
	assert_int_equal(guest_note(&guest, 2, 0), 0x100000000);
	guest_free(&guest);
}

static void
accesses_of_one_block_to_the_local_apic_are_told_apart(void **state)
{
	struct guest_options options = { .no_decode = true };
	struct guest guest;

	(void)state;
	guest_run_all_ways("local_apic", &options, &guest);
	guest_assert_exit(&guest);
	assert_int_equal(guest_note(&guest, 1, 0), 0x10020);
	assert_int_equal(guest_note(&guest, 1, 1), 0x10420);
	guest_free(&guest);
}

/* XSTATE_BV, XCOMP_BV, FCW to FTW, MXCSR and its mask, ST0, XMM0 of an area. */
static void
expect_area(const struct guest *guest, uint64_t code, const uint64_t words[6])
{
	for (size_t i = 0; i < 6; i++)
		if (guest_note(guest, code, i) != words[i])
			fail_msg("area %u, word %zu: 0x%llx", (unsigned)code, i,
			    (unsigned long long)guest_note(guest, code, i));
}

#define FULL    UINT64_C(0xcccccccccccccccc)
#define INIT    UINT64_C(0x37f)
#define MASK    UINT64_C(0x0000ffff00000000)
#define COMPACT UINT64_C(0x8000000000000003)
#define XMM     UINT64_C(0x1122334455667788)

/* SDM vol. 1, 13.7 to 13.12. */
static void
x87_and_sse_state_is_saved_and_restored(void **state)
{
	static const struct {
		uint64_t code, words[6];
	} areas[] = {
		{ 1, { 2, 0, INIT, MASK | 0x1f80, 0, XMM } },
		{ 2, { 2, 0, FULL, MASK | 0x1f80, FULL, XMM } },
		{ 3, { 2, COMPACT, FULL, MASK | 0x1f80, FULL, XMM } },
		{ 4, { 2, COMPACT, FULL, MASK | 0x1f81, FULL, 0 } },
		{ 5, { 0, 0, INIT, MASK | 0x1f81, 0, 0 } },
		{ 7,
		    { 1, COMPACT, UINT64_C(0x803800037f), FULL,
			UINT64_C(1) << 63, FULL } },
	};
	/* MXCSR, XMM0, FSW */
	static const uint64_t states[4][3] = { { 0x1fa0, 0, 0 },
		{ 0x1f80, 0, 0 }, { 0x1fa0, 0x5566, 0 },
		{ 0x1fa0, 0x5566, 0x3800 } };
	static const uint64_t vectors[] = { 6, 13, 13, 13, 13, 13, 13, 13, 7,
		13, 14, 14, 0x30 };
	struct guest_options options = { .no_decode = true };
	struct guest guest;

	(void)state;
	guest_run_all_ways("xsave", &options, &guest);
	guest_assert_exit(&guest);
	for (size_t i = 0; i < TZ_ARRAY_LEN(areas); i++)
		expect_area(&guest, areas[i].code, areas[i].words);
	assert_int_equal(guest_note(&guest, 6, 0), 2);
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 3; j++)
			assert_int_equal(
			    guest_note(&guest, 8 + i, j), states[i][j]);
	assert_int_equal(guest_record_count(&guest, 0), TZ_ARRAY_LEN(vectors));
	for (size_t i = 0; i < TZ_ARRAY_LEN(vectors); i++)
		assert_int_equal(guest_record(&guest, 0, i).vector, vectors[i]);
	assert_int_equal(guest_record(&guest, 0, 10).error, 7);
	assert_int_equal(guest_record(&guest, 0, 11).error, 5);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    branches_to_the_next_instruction_keep_their_bits),
		cmocka_unit_test(branches_with_many_targets_are_the_same),
		cmocka_unit_test(hooks_of_older_code_do_not_change_flags),
		cmocka_unit_test(changed_code_is_seen_at_once),
		cmocka_unit_test(xsaves_and_xrstors_follow_their_rules),
		cmocka_unit_test(control_registers_take_what_the_processor_has),
		cmocka_unit_test(hooks_are_dropped_and_made_again),
		cmocka_unit_test(
		    accesses_of_one_block_to_the_local_apic_are_told_apart),
		cmocka_unit_test(x87_and_sse_state_is_saved_and_restored),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
