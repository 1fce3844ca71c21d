/*
 * Goal: single-step traps are delivered after each instruction, and only there; their
 * instructions are in the trace; breakpoints hit what they name.  Method: a guest sets
 * RFLAGS.TF in both rings, another one sets breakpoints; they note what SDM vol. 3, 18.3.1
 * "Debug Exception (#DB)", demands; their handlers write down what they are given.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define TEXT_MASK UINT64_C(0x1fffff)
#define MUST      1u /* the code of the notes */
#define TRAPS     49u
#define RING0     23u /* of these in ring 0 */

static void
each_instruction_traps_once(void **state)
{
	struct guest_options options = { 0 };
	struct guest guest;

	(void)state;
	guest_run("trap_flag", &options, &guest);
	guest_assert_exit(&guest);
	assert_int_equal(guest.result.code, 0);
	for (size_t i = 0; i < guest_record_count(&guest, 0); i++) {
		struct guest_record record = guest_record(&guest, 0, i);
		uint64_t must = guest_note(&guest, MUST, i);

		if (record.vector != must >> 32 ||
		    (record.rip & TEXT_MASK) != (must & TEXT_MASK) ||
		    record.cs != (i < RING0 ? 0x08 : 0x2b))
			fail_msg("record %zu: vector %u at 0x%llx", i,
			    (unsigned)record.vector,
			    (unsigned long long)record.rip);
	}
	assert_int_equal(guest_record_count(&guest, 0), TRAPS);
	guest_free(&guest);
}

static void
all_ways_of_running_record_the_same(void **state)
{
	struct guest_options options = { 0 };
	struct guest guest;

	(void)state;
	guest_run_all_ways("trap_flag", &options, &guest);
	guest_free(&guest);
}

/* SDM vol. 3, 18.2.4 "Debug Control Register (DR7)", 18.3.1 "Debug Exception (#DB)". */
static void
breakpoints_hit_what_they_name(void **state)
{
	static const struct {
		uint64_t vector, dr6; /* 0: no debug exception */
	} hits[] = { { 1, 0xffff0ff1 }, { 1, 0xffff0ff1 }, { 1, 0xffff0ff2 },
		{ 1, 0xffff0ff4 }, { 1, 0xffff0ff4 }, { 1, 0xffff0ff8 },
		{ 1, 0xffff0ff8 }, { 1, 0xffff0ff8 }, { 1, 0xffff0ff3 },
		{ 14, 0 }, { 14, 0 }, { 1, 0xffff0ff1 }, { 1, 0xffff0ff1 },
		{ 1, 0xffff0ff2 }, { 1, 0xffff2ff0 } };
	struct guest_options options = { 0 };
	struct guest guest;
	size_t debug = 0;

	(void)state;
	guest_run_all_ways("breakpoints", &options, &guest);
	guest_assert_exit(&guest);
	assert_int_equal(guest_record_count(&guest, 0), TZ_ARRAY_LEN(hits));
	for (size_t i = 0; i < TZ_ARRAY_LEN(hits); i++) {
		struct guest_record record = guest_record(&guest, 0, i);

		assert_int_equal(record.vector, hits[i].vector);
		if (hits[i].dr6 != 0)
			assert_int_equal(
			    guest_note(&guest, 1, debug++), hits[i].dr6);
	}
	/* The instruction itself, the one after it, the same REP, the callee. */
	assert_int_equal(
	    guest_record(&guest, 0, 0).rip, guest_record(&guest, 0, 1).rip);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(
		    guest_record(&guest, 0, (size_t[]){ 0, 2, 4, 5, 14 }[i]).rip,
		    guest_note(&guest, 3, i));
	/* GD is cleared by its exception. */
	assert_int_equal(guest_note(&guest, 2, 0), 0x400);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction_traps_once),
		cmocka_unit_test(all_ways_of_running_record_the_same),
		cmocka_unit_test(breakpoints_hit_what_they_name),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
