/*
 * Goal: the program's orders are what the sequence says. Method: each word of
 * scripts of a small driver.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/guest/sys.h"
#include "tests/unit/manifest/fixture.h"

#include <cmocka.h>

static struct manifest *manifest;
static struct script script;

static int
setup(void **state)
{
	(void)state;
	manifest = fixture_manifest();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	manifest_free(manifest);
	return 0;
}

static void
make(const char *text, unsigned cpu_count)
{
	struct sequence sequence = fixture_sequence(manifest, text);
	struct tz_error err;

	memset(&script, 0xa5, sizeof(script));
	if (sequence_script(manifest, &sequence, cpu_count, &script, &err) != 0)
		fail_msg("%s", err.text);
}

static uint64_t
word(uint64_t at)
{
	uint64_t value;

	memcpy(&value, script.data + at, sizeof(value));
	return value;
}

static void
assert_arg(const struct script_arg *arg, uint64_t kind, uint64_t value)
{
	assert_int_equal(arg->kind, kind);
	assert_int_equal(arg->value, value);
}

static void
steps_have_calls_arguments_and_slots(void **state)
{
	const struct script_step *step = script.step;

	(void)state;
	make("open-+2openb.1+1set", 2);
	assert_int_equal(script.step_count, 3);
	assert_int_equal(step[0].call, SYS_OPEN);
	assert_int_equal(step[0].flags, SCRIPT_ASYNC);
	assert_int_equal(step[0].actor, 0);
	assert_int_equal(step[0].slot, 0);
	assert_arg(&step[0].arg[0], SCRIPT_DATA, 0);
	assert_string_equal((const char *)script.data, "/dev/x");
	assert_arg(&step[0].arg[1], SCRIPT_VALUE, 0);
	assert_int_equal(step[1].slot, 1);
	assert_int_equal(step[1].actor, 2);
	assert_int_equal(step[1].flags, 0);
	assert_arg(&step[1].arg[0], SCRIPT_DATA, 16);
	assert_arg(&step[1].arg[1], SCRIPT_VALUE, 1);
	assert_int_equal(step[2].call, SYS_IOCTL);
	assert_int_equal(step[2].slot, SCRIPT_NO_SLOT);
	assert_arg(&step[2].arg[0], SCRIPT_SLOT, 0);
	assert_arg(&step[2].arg[1], SCRIPT_VALUE, 0);
	assert_arg(&step[2].arg[2], SCRIPT_DATA, 32);
	assert_arg(&step[2].arg[3], SCRIPT_VALUE, 0);
}

/* A block, what it points to, and what is fixed up in it. */
static void
data_hold_values_and_pointers(void **state)
{
	(void)state;
	make("openb+setb", 1);
	assert_arg(&script.step[1].arg[1], SCRIPT_VALUE, 1);
	assert_int_equal(word(16), 0x2008);
	assert_int_equal(word(48) & 0xffffffff, 3);
	assert_memory_equal(script.data + 52, "abc", 4);
	assert_int_equal(script.fix_count, 2);
	assert_int_equal(script.fix[0].at, 24);
	assert_arg(&script.fix[0].arg, SCRIPT_SLOT, 1);
	assert_int_equal(script.fix[1].at, 32);
	assert_arg(&script.fix[1].arg, SCRIPT_DATA, 48);
}

static void
variants_replace_values(void **state)
{
	(void)state;
	make("set.1.5", 1);
	assert_int_equal(word(0), 0x200c);
	assert_int_equal(word(32), UINT64_C(0x636261ffffffff));
	make("set.2.3", 1);
	assert_int_equal(word(0), 1);
	/* The pointer is 0: what it would lead to is not there. */
	assert_int_equal(word(16), 0);
	assert_int_equal(script.fix_count, 1);
	make("set.3.4", 1);
	assert_int_equal(word(32), 0);
}

static void
masks_of_cpus_follow_the_machine(void **state)
{
	(void)state;
	make("cpus", 3);
	assert_arg(&script.step[0].arg[0], SCRIPT_VALUE, 7);
	assert_arg(&script.step[0].arg[1], SCRIPT_VALUE, 8);
	assert_arg(&script.step[0].arg[2], SCRIPT_VALUE, 3);
}

static void
too_much_data_is_an_error(void **state)
{
	struct sequence sequence = { .count = 33 };
	struct tz_error err;
	unsigned i;

	(void)state;
	for (i = 0; i < 33; i++)
		sequence.step[i] = fixture_sequence(manifest, "set").step[0];
	assert_int_equal(
	    sequence_script(manifest, &sequence, 1, &script, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, "step 32, \"set\""));
	sequence.count = 32;
	assert_int_equal(
	    sequence_script(manifest, &sequence, 1, &script, &err), 0);
	assert_int_equal(script.fix_count, SCRIPT_FIXES_MAX);
}

static void
run_with(const char *words)
{
	struct tz_error err;

	memset(&script, 0xa5, sizeof(script));
	if (manifest_run_script(manifest, words, 1, &script, &err) != 0)
		fail_msg("%s", err.text);
}

/* What `topaz run` hands over is the operation's blocks, with words in its fields. */
static void
a_run_hands_over_what_the_manifest_says(void **state)
{
	(void)state;
	run_with("");
	assert_int_equal(script.step_count, 1);
	assert_int_equal(script.step[0].call, SYS_IOCTL);
	assert_arg(&script.step[0].arg[0], SCRIPT_SLOT, 1);
	assert_arg(&script.step[0].arg[2], SCRIPT_DATA, 0);
	assert_int_equal(word(0), 0x2008);
	assert_int_equal(word(32), UINT64_C(0x63626100000003));
	run_with("mode=cpu user=0 freq=0xfffffffe freq=7");
	assert_int_equal(word(0), 0x2000);
	assert_int_equal(word(32), UINT64_C(0x636261fffffffe));
	/* In the order of the manifest's rows. */
	run_with("low=0x41 user=1");
	assert_int_equal(word(0), 0x2041);
	assert_string_equal(manifest_run_word(manifest, 0), "user");
	assert_string_equal(manifest_run_word(manifest, 2), "low");
	assert_null(manifest_run_word(manifest, 3));
}

static void
a_word_that_does_not_fit_is_an_error(void **state)
{
	static const struct {
		const char *words, *said;
	} rows[] = {
		{ "user=0x2000000000000001", "\"ctl\" has no room for it" },
		{ "user=2", "user=2: \"ctl\" has no room for it" },
		{ "freq=0x100000000", "\"freq\" has no room for it" },
		{ "freq=many", "freq=many: not a number" },
		{ "freq=3x low=1", "freq=3x: not a number" },
		{ "freq=", "freq=: not a number" },
	};
	struct tz_error err;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		assert_int_equal(manifest_run_script(
				     manifest, rows[i].words, 1, &script, &err),
		    -TZ_EUSAGE);
		assert_non_null(strstr(err.text, rows[i].said));
	}
}

/* The manifest with a position for "set": its script's first step has it. */
static struct script_position
position_of(const char *key, const char *steps)
{
	struct manifest *other;
	struct sequence sequence;
	struct tz_error err;
	const char *said;

	assert_int_equal(
	    fixture_read(fixture_with("configures: true", key), &other, &said),
	    0);
	sequence = fixture_sequence(other, steps);
	assert_true(manifest_has_positions(other));
	assert_int_equal(
	    sequence_script(other, &sequence, 1, &script, &err), 0);
	manifest_free(other);
	return script.step[0].position;
}

static void
a_step_says_where_its_position_is(void **state)
{
	struct script_position position;

	(void)state;
	assert_false(manifest_has_positions(manifest));
	make("set", 1);
	assert_int_equal(script.step[0].position.kind, SCRIPT_NO_POSITION);
	/* Behind a pointer: the 8 bytes there; else the field itself. */
	position = position_of(
	    "configures: true, position: {page: freq, offset: more}", "set");
	assert_int_equal(position.kind, SCRIPT_POSITION_DATA);
	assert_int_equal(position.page_bytes, 4);
	assert_int_equal(position.page_at, 32);
	assert_int_equal(position.offset_bytes, 8);
	assert_int_equal(position.offset_at, 32);
	position = position_of(
	    "configures: true, position: {offset: ctl}", "set");
	assert_int_equal(position.page_bytes, 0);
	assert_int_equal(position.offset_bytes, 8);
	assert_int_equal(position.offset_at, 0);
	/* The pointer is 0: nothing comes back. */
	position = position_of(
	    "configures: true, position: {page: freq, offset: more}", "set.3");
	assert_int_equal(position.kind, SCRIPT_NO_POSITION);
	position = position_of(
	    "configures: true, position: {mapped: 24}", "set");
	assert_int_equal(position.kind, SCRIPT_POSITION_MAPPED);
	assert_int_equal(position.offset_at, 24);
}

static void
a_step_says_its_period(void **state)
{
	struct manifest *other;
	struct sequence sequence;
	const char *said;
	uint64_t events = 0;

	(void)state;
	assert_int_equal(fixture_read(fixture_with("configures: true",
					  "configures: true, period: freq"),
			     &other, &said),
	    0);
	sequence = fixture_sequence(other, "set");
	assert_true(sequence_period(other, &sequence, 0, &events));
	assert_int_equal(events, 3);
	/* The pointer to it is 0. */
	sequence = fixture_sequence(other, "set.3");
	assert_false(sequence_period(other, &sequence, 0, &events));
	manifest_free(other);
	sequence = fixture_sequence(manifest, "set");
	assert_false(sequence_period(manifest, &sequence, 0, &events));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_have_calls_arguments_and_slots),
		cmocka_unit_test(data_hold_values_and_pointers),
		cmocka_unit_test(variants_replace_values),
		cmocka_unit_test(masks_of_cpus_follow_the_machine),
		cmocka_unit_test(too_much_data_is_an_error),
		cmocka_unit_test(a_run_hands_over_what_the_manifest_says),
		cmocka_unit_test(a_word_that_does_not_fit_is_an_error),
		cmocka_unit_test(a_step_says_where_its_position_is),
		cmocka_unit_test(a_step_says_its_period),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
