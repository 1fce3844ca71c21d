/*
 * Goal: the counters are counted again by the right events: each event select and unit mask
 * that has a rule, on each family of processors, and no other; each rule counts what it is
 * named for.  Method: all 65,536 codes against a table that is written again from
 * perfmon-events.intel.com and the SDM (vol. 3, 20.2.1.2, 20.6.8); pieces made by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "traces/verify/counters/counter_unit.h"

/* On skylake, icelake, goldmont, core2, pentium-m: 1: it has the rule. */
struct code {
	uint32_t code; /* event select, unit mask << 8 */
	const char *on;
	enum counted counted;
};

static const char *const profiles[] = { "skylake", "icelake", "goldmont",
	"core2", "pentium-m" };

static const struct code codes[] = {
	{ 0x00c0, "11111", COUNTED_ALL },
	{ 0x00c4, "11111", COUNTED_BRANCH },
	{ 0x003c, "11110", COUNTED_CYCLE },
	{ 0x0079, "00001", COUNTED_CYCLE },
	{ 0x00c8, "00001", COUNTED_INTERRUPT },
	{ 0x01c0, "10000", COUNTED_ALL },
	{ 0x01c4, "10000", COUNTED_CONDITIONAL },
	{ 0x11c4, "01000", COUNTED_CONDITIONAL },
	{ 0x01c4, "01000", COUNTED_CONDITIONAL_TAKEN },
	{ 0x02c4, "11000", COUNTED_CALL },
	{ 0x04c4, "10000", COUNTED_BRANCH },
	{ 0x08c4, "11000", COUNTED_RET },
	{ 0x10c4, "11000", COUNTED_NOT_TAKEN },
	{ 0x20c4, "11000", COUNTED_NEAR_TAKEN },
	{ 0x40c4, "11000", COUNTED_FAR },
	{ 0x01cb, "11000", COUNTED_INTERRUPT },
	{ 0x7ec4, "00100", COUNTED_CONDITIONAL },
	{ 0xfec4, "00100", COUNTED_CONDITIONAL_TAKEN },
	{ 0xf9c4, "00100", COUNTED_CALL },
	{ 0xf7c4, "00100", COUNTED_RET },
	{ 0xbfc4, "00100", COUNTED_FAR },
};

static enum counted
expected(uint32_t code, size_t profile)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(codes); i++)
		if (codes[i].code == code && codes[i].on[profile] == '1')
			return codes[i].counted;
	return COUNTED_UNKNOWN;
}

static void
each_code_has_its_rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(profiles); i++) {
		const struct profile *profile = profile_find(profiles[i]);

		for (uint32_t code = 0; code < 0x10000; code++)
			if (counted_of(profile, code) != expected(code, i))
				fail_msg("%s: %04x", profiles[i], code);
	}
}

/*
 * EDGE, INV and CMASK have no rule, but for instructions of which
 * there are never 16 in a cycle.
 */
static void
a_modified_event_is_not_compared(void **state)
{
	const struct profile *profile = profile_find("skylake");

	(void)state;
	for (unsigned bit = 16; bit < 32; bit++) {
		bool known = bit != 18 && bit < 23;

		assert_int_equal(counted_of(profile, 0xc0 | UINT64_C(1) << bit),
		    known ? COUNTED_ALL : COUNTED_UNKNOWN);
	}
	assert_int_equal(counted_of(profile, 0x108100c0), COUNTED_CYCLE);
	assert_int_equal(counted_of(profile, 0x108101c0), COUNTED_CYCLE);
	assert_int_equal(counted_of(profile, 0x0f8101c0), COUNTED_UNKNOWN);
	assert_int_equal(counted_of(profile, 0x108100c4), COUNTED_UNKNOWN);
	assert_int_equal(counted_of(profile, 0x108500c0), COUNTED_UNKNOWN);
}

/* Five instructions, of which the last one is KIND; or an event. */
static struct insn_piece
piece_of(enum code_kind kind, enum insn_taken taken)
{
	static const struct exec_log_block block;

	return (struct insn_piece){ .kind = INSN_FLOW_INSNS,
		.block = &block,
		.count = 5,
		.last = kind,
		.taken = taken };
}

static void
each_rule_counts_its_events(void **state)
{
	static const struct {
		enum code_kind kind;
		enum insn_taken taken;
		/* Of COUNTED_BRANCH to COUNTED_FAR, in order; P: perhaps one. */
		const char *counts;
	} rows[] = {
		{ CODE_PLAIN, INSN_NOT_TAKEN, "00000000" },
		{ CODE_CONDITIONAL, INSN_NOT_TAKEN, "11010000" },
		{ CODE_CONDITIONAL, INSN_TAKEN, "11101000" },
		{ CODE_CONDITIONAL, INSN_PERHAPS, "11PPP000" },
		{ CODE_JMP, INSN_TAKEN, "10001000" },
		{ CODE_CALL, INSN_TAKEN, "10001100" },
		{ CODE_CALL_INDIRECT, INSN_TAKEN, "10001100" },
		{ CODE_RET, INSN_TAKEN, "10001010" },
		{ CODE_FAR, INSN_TAKEN, "10000001" },
		{ CODE_IRET, INSN_TAKEN, "10000001" },
		{ CODE_PAUSE, INSN_NOT_TAKEN, "00000000" },
	};
	struct counter_unit unit;

	(void)state;
	counter_unit_start(&unit, profile_find("skylake"));
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct insn_piece piece = piece_of(rows[i].kind, rows[i].taken);
		uint64_t perhaps = 0;

		assert_int_equal(
		    counter_unit_events(&unit, &piece, COUNTED_ALL, &perhaps),
		    5);
		assert_int_equal(
		    counter_unit_events(&unit, &piece, COUNTED_CYCLE, &perhaps),
		    rows[i].kind == CODE_PAUSE ? 4 + 140 : 5);
		for (unsigned rule = COUNTED_BRANCH; rule <= COUNTED_FAR;
		     rule++) {
			char c = rows[i].counts[rule - COUNTED_BRANCH];

			perhaps = 0;
			assert_int_equal(counter_unit_events(&unit, &piece,
					     (enum counted)rule, &perhaps),
			    c == '1');
			assert_int_equal(perhaps, c == 'P');
		}
		assert_int_equal(counter_unit_events(&unit, &piece,
				     COUNTED_INTERRUPT, &perhaps),
		    0);
	}
}

/* NMIs and vectors from 32 on are interrupts, exceptions and INT n are not. */
static void
interrupts_are_counted(void **state)
{
	static const struct {
		uint32_t vector;
		uint64_t count;
	} rows[] = { { 2, 1 }, { 32, 1 }, { 255, 1 }, { 14, 0 }, { 3, 0 } };
	struct counter_unit unit;
	uint64_t perhaps = 0;

	(void)state;
	counter_unit_start(&unit, profile_find("skylake"));
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		const struct insn_piece piece = { .kind = INSN_FLOW_EVENT,
			.vector = rows[i].vector };

		unit.soft = false;
		assert_int_equal(counter_unit_events(&unit, &piece,
				     COUNTED_INTERRUPT, &perhaps),
		    rows[i].count);
		assert_int_equal(
		    counter_unit_events(&unit, &piece, COUNTED_ALL, &perhaps),
		    0);
		unit.soft = true;
		assert_int_equal(counter_unit_events(&unit, &piece,
				     COUNTED_INTERRUPT, &perhaps),
		    0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_code_has_its_rule),
		cmocka_unit_test(a_modified_event_is_not_compared),
		cmocka_unit_test(each_rule_counts_its_events),
		cmocka_unit_test(interrupts_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
