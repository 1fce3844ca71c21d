/*
 * Goal: single-step traps are delivered after each instruction, and only there; their
 * instructions are in the trace.  Method: a guest sets RFLAGS.TF in both rings and notes
 * what SDM vol. 3, 18.3.1.4 "Single-Step Exception Condition", demands; its handler
 * writes down what it is given.
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

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction_traps_once),
		cmocka_unit_test(all_ways_of_running_record_the_same),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
