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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_have_calls_arguments_and_slots),
		cmocka_unit_test(data_hold_values_and_pointers),
		cmocka_unit_test(variants_replace_values),
		cmocka_unit_test(masks_of_cpus_follow_the_machine),
		cmocka_unit_test(too_much_data_is_an_error),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
