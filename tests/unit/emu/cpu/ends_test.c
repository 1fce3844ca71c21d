/*
 * Goal: whatever a guest does, the run ends with a reason that names it:
 * nothing crashes or hangs the host, and what is not modelled is never
 * ignored.
 * Method: one guest with a row for each way; the end, its text and all that
 * was recorded are compared between the ways of running.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* In the order of the table in guest/ends.S; the last are not here. */
static const struct {
	enum machine_end end;
	const char *text; /* must be part of the result's */
} expected[] = {
	{ MACHINE_UNMODELLED, "rdrand eax" },
	{ MACHINE_UNMODELLED, "rdseed eax" },
	{ MACHINE_UNMODELLED, "RDMSR 0x1234" },
	{ MACHINE_UNMODELLED, "WRMSR 0x1235 = 0x7" },
	{ MACHINE_UNMODELLED, "in al, 0x60" },
	{ MACHINE_UNMODELLED, "port 0x3f8" },
	{ MACHINE_UNMODELLED, "local APIC register 0xd0" },
	{ MACHINE_UNMODELLED, "8-byte read of local APIC register 0x20" },
	{ MACHINE_UNMODELLED, "WRMSR 0x1b" },
	{ MACHINE_UNMODELLED, "logical destination" },
	{ MACHINE_UNMODELLED, "INIT of a CPU that runs" },
	{ MACHINE_TRIPLE_FAULT, "triple fault" },
	{ MACHINE_DEADLOCK, "halted" },
	{ MACHINE_DEADLOCK, "halted" },
	{ MACHINE_LIMIT, "limit of instructions" },
	{ MACHINE_UNMODELLED, "without an instruction" },
	{ MACHINE_UNMODELLED, "vector below 16" },
	{ MACHINE_UNMODELLED, "local APIC register 0x320" },
};
#define NO_GATE    TZ_ARRAY_LEN(expected)
#define EDGE       (NO_GATE + 1)
#define PMI_VECTOR (NO_GATE + 2)
#define ABSENT_CPU (NO_GATE + 3)
#define MOVED      (NO_GATE + 4)

static void
assert_guest_ends(
    const char *name, uint64_t param, enum machine_end end, const char *text)
{
	struct guest_options options = {
		.param = param,
		.no_decode = true, /* nobody stops the trace */
		.insns_max = 100000,
	};
	struct guest guest;

	guest_run_all_ways(name, &options, &guest);
	if (guest.result.end != end || strstr(guest.result.text, text) == NULL)
		fail_msg("%s %u ends with %d: %s", name, (unsigned)param,
		    (int)guest.result.end, guest.result.text);
	guest_free(&guest);
}

static void
assert_ends(uint64_t param, enum machine_end end, const char *text)
{
	assert_guest_ends("ends", param, end, text);
}

static void
every_end_has_its_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(expected); i++)
		assert_ends(i, expected[i].end, expected[i].text);
	assert_ends(
	    PMI_VECTOR, MACHINE_UNMODELLED, "local APIC register 0x340");
	assert_ends(ABSENT_CPU, MACHINE_UNMODELLED, "an absent CPU");
}

static const char *const refused[] = {
#define REFUSED(name, ...) "instruction '" #name,
#include "tests/unit/emu/guest/refused.def"
#undef REFUSED
};

static void
what_is_of_an_absent_extension_is_named(void **state)
{
	struct guest_options options = { .param = TZ_ARRAY_LEN(refused),
		.no_decode = true };
	struct guest guest;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(refused); i++) {
		assert_guest_ends("refused", i, MACHINE_UNMODELLED, refused[i]);
		assert_guest_ends(
		    "refused", i, MACHINE_UNMODELLED, "' at 0xffffffff8020");
	}
	/* UD0, UD1 and UD2 are #UD. */
	guest_run_all_ways("refused", &options, &guest);
	guest_assert_exit(&guest);
	assert_int_equal(guest_record_count(&guest, 0), 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(guest_record(&guest, 0, i).vector, 6);
	guest_free(&guest);
}

static void
a_missing_gate_is_a_fault_of_its_own(void **state)
{
	static const struct {
		uint64_t vector, error;
	} rows[] = {
		{ 11, 0x33 * 8 + 2 }, /* INT n: not EXT */
		{ 13, 0x45 * 8 + 2 },
		{ 11, 6 * 8 + 3 },
	};
	struct guest_options options = { .param = NO_GATE };
	struct guest guest;

	(void)state;
	guest_run_all_ways("ends", &options, &guest);
	guest_assert_exit(&guest);
	assert_int_equal(guest_record_count(&guest, 0), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(
		    guest_record(&guest, 0, i).vector, rows[i].vector);
		assert_int_equal(
		    guest_record(&guest, 0, i).error, rows[i].error);
	}
	guest_free(&guest);
}

static void
data_behind_the_instruction_is_no_fetch(void **state)
{
	static const struct {
		uint64_t error, rip;
	} rows[] = {
		{ 0x00, 0xffffffff809ffff9 },
		{ 0x03, 0xffffffff809ffff9 },
		{ 0x11, 0xffffffff809ffffe },
	};
	/* The guest writes over its code: the final bytes do not decode. */
	struct guest_options options = { .param = EDGE, .no_decode = true };
	struct guest guest;

	(void)state;
	guest_run_all_ways("ends", &options, &guest);
	guest_assert_exit(&guest);
	for (size_t i = 0; i < 3; i++) {
		struct guest_record record = guest_record(&guest, 0, i);

		assert_int_equal(record.vector, 14);
		assert_int_equal(record.error, rows[i].error);
		assert_int_equal(record.rip, rows[i].rip);
		assert_int_equal(record.cr2, 0xffffffff80a00000);
	}
	guest_free(&guest);
}

/* A pointer that moves between two stores: which one is it?  Step by step, it is known. */
static void
an_access_that_two_instructions_may_have_made_ends_the_run(void **state)
{
	struct guest_options options = {
		.param = MOVED,
		.no_decode = true,
		.insns_max = 100000,
	};
	struct guest guest;

	(void)state;
	guest_run("ends", &options, &guest);
	assert_int_equal(guest.result.end, MACHINE_UNMODELLED);
	assert_non_null(strstr(
	    guest.result.text, "local APIC register 0x340 in the block"));
	assert_non_null(
	    strstr(guest.result.text, "2 instructions could be meant"));
	guest_free(&guest);
	options.single_step = true;
	guest_run("ends", &options, &guest);
	assert_int_equal(guest.result.end, MACHINE_LIMIT);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_end_has_its_reason),
		cmocka_unit_test(
		    an_access_that_two_instructions_may_have_made_ends_the_run),
		cmocka_unit_test(what_is_of_an_absent_extension_is_named),
		cmocka_unit_test(a_missing_gate_is_a_fault_of_its_own),
		cmocka_unit_test(data_behind_the_instruction_is_no_fetch),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
