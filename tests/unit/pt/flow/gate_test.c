/*
 * Goal: the enables follow their definitions in every combination.
 * Method: truth tables, written out from the text of the specification.
 */
#include "emu/pt/gate.h"

#include "emu/pt/msr/msr.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
trigger_en_is_trace_en_without_stopped_and_error(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 8; bits++) {
		struct gate_config config = {
			.ctl = bits & 1,
			.status = (uint64_t)(bits >> 1) << 4,
		};

		assert_int_equal(gate_trigger_en(&config), bits == 1);
	}
}

static void
context_en_needs_the_level_and_the_cr3(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 32; bits++) {
		bool os = bits & 1, user = bits & 2, filter = bits & 4;
		bool supervisor = bits & 8, match = bits & 16;
		struct gate_config config = {
			.ctl = (os ? TZ_BIT(2) : 0) | (user ? TZ_BIT(3) : 0) |
			    (filter ? TZ_BIT(7) : 0),
			.cr3_match = 0x5000,
		};
		struct pt_context at = {
			.cpl = supervisor ? 0 : 3,
			.cr3 = match ? 0x5000 : 0x6000,
		};
		bool expected = (supervisor ? os : user) && (match || !filter);

		assert_int_equal(gate_context_en(&config, &at), expected);
	}
}

static void
every_level_above_0_is_user(void **state)
{
	struct gate_config config = { .ctl = TZ_BIT(3) };

	(void)state;
	for (uint8_t cpl = 0; cpl < 4; cpl++) {
		struct pt_context at = { .cpl = cpl };

		assert_int_equal(gate_context_en(&config, &at), cpl != 0);
	}
}

static void
cr3_is_compared_in_bits_63_to_12(void **state)
{
	struct gate_config config = { .ctl = TZ_BIT(2) | TZ_BIT(7),
		.cr3_match = 0x5000 };

	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		struct pt_context at = { .cr3 = 0x5000 ^ TZ_BIT(bit) };

		assert_int_equal(gate_context_en(&config, &at), bit < 12);
	}
}

static void
ranges_include_both_ends_and_may_be_empty(void **state)
{
	struct gate_config config = {
		.ctl = UINT64_C(0x2101) << 32,
		.range_a = { 0x1000, 0, 0x3000, 0x9000 },
		.range_b = { 0x1fff, ~UINT64_C(0), 0x2fff, 0x9000 },
	};

	(void)state;
	assert_false(gate_in_range(&config, 1, 0xfff));
	assert_true(gate_in_range(&config, 1, 0x1000));
	assert_true(gate_in_range(&config, 1, 0x1fff));
	assert_false(gate_in_range(&config, 1, 0x2000));
	assert_false(gate_in_range(&config, 1, 0x2fff));
	assert_false(gate_in_range(&config, 1, 0x3000));
	assert_false(gate_in_range(&config, 1, 0x9000));
	assert_true(gate_in_range(&config, 2, 0x9000));
	assert_false(gate_in_range(&config, 2, 0x1000));
	config.range_a[0] = 0xffff800000000000;
	config.range_b[0] = 0xffffffffffffffff;
	assert_true(gate_in_range(&config, 1, 0xffffffff81000000));
	assert_false(gate_in_range(&config, 1, 0x7fffffffffff));
}

static void
packet_en_is_all_four_enables(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 32; bits++) {
		bool trigger = bits & 1, context = bits & 2;
		bool inside = bits & 4, branch = bits & 8, stop = bits & 16;
		struct gate_config config = {
			.ctl = (trigger ? TZ_BIT(0) : 0) |
			    (context ? TZ_BIT(2) : 0) |
			    (branch ? TZ_BIT(13) : 0) | UINT64_C(0x21) << 32,
			.range_a = { 0x1000, 0x1800 },
			.range_b = { 0x1fff, 0x18ff },
		};
		struct pt_context at = { .ip = inside ? 0x1000 : 0x3000 };
		struct gate before = { 0 };
		struct gate gate;
		bool stopped;

		if (stop)
			at.ip = inside ? 0x1800 : 0x3000;
		gate = gate_next(&config, before, &at, true, &stopped);
		assert_int_equal(stopped, trigger && context && inside && stop);
		assert_int_equal(gate.trigger_en, trigger);
		assert_int_equal(gate.context_en, trigger && context);
		assert_int_equal(
		    gate.filter_en, trigger && context && inside && !stop);
		assert_int_equal(gate.packet_en,
		    trigger && context && inside && branch && !stop);
	}
}

static void
filter_en_holds_at_a_branch_not_taken_and_without_context(void **state)
{
	struct gate_config config = {
		.ctl = CTL_TRACE_EN | CTL_USER | CTL_BRANCH_EN | TZ_BIT(32),
		.range_a = { 0x1000 },
		.range_b = { 0x1fff },
	};
	struct pt_context at = { .ip = 0x1000, .cpl = 3 };
	struct gate gate = { 0 };
	bool stop;

	(void)state;
	gate = gate_next(&config, gate, &at, true, &stop);
	assert_true(gate.packet_en);
	at.ip = 0x2000;
	gate = gate_next(&config, gate, &at, false, &stop);
	assert_true(gate.packet_en);
	at.cpl = 0;
	gate = gate_next(&config, gate, &at, true, &stop);
	assert_false(gate.packet_en);
	assert_true(gate.filter_en);
	at.cpl = 3;
	gate = gate_next(&config, gate, &at, true, &stop);
	assert_true(gate.context_en);
	assert_false(gate.filter_en);
}

static void
enables_freeze_while_trigger_en_is_0(void **state)
{
	struct gate_config config = { .ctl = CTL_TRACE_EN | CTL_USER,
		.status = STATUS_STOPPED };
	struct gate before = { .context_en = true, .filter_en = true };
	struct pt_context at = { .cpl = 0 };
	struct gate gate;
	bool stop;

	(void)state;
	gate = gate_next(&config, before, &at, true, &stop);
	assert_true(gate.context_en);
	assert_true(gate.filter_en);
	assert_false(gate.trigger_en);
	assert_false(gate.packet_en);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    trigger_en_is_trace_en_without_stopped_and_error),
		cmocka_unit_test(context_en_needs_the_level_and_the_cr3),
		cmocka_unit_test(every_level_above_0_is_user),
		cmocka_unit_test(cr3_is_compared_in_bits_63_to_12),
		cmocka_unit_test(ranges_include_both_ends_and_may_be_empty),
		cmocka_unit_test(packet_en_is_all_four_enables),
		cmocka_unit_test(
		    filter_en_holds_at_a_branch_not_taken_and_without_context),
		cmocka_unit_test(enables_freeze_while_trigger_en_is_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
