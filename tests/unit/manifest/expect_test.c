/*
 * Goal: what an accepted configuration asks the MSRs to be. Method: rows of a
 * small driver, and of the real ones where it matters most.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/manifest/fixture.h"

#include <cmocka.h>

static const char *root;
static struct check_expect rows[CHECK_EXPECT_MAX];

static int
expect(const struct manifest *manifest, const char *text, unsigned step)
{
	struct sequence sequence = fixture_sequence(manifest, text);

	return sequence_expect(manifest, &sequence, step, rows);
}

static void
assert_row(int index, uint32_t msr, uint64_t mask, uint64_t value)
{
	assert_int_equal(rows[index].msr, msr);
	assert_int_equal(rows[index].mask, mask);
	assert_int_equal(rows[index].value, value);
}

static void
rows_follow_values_and_conditions(void **state)
{
	struct manifest *manifest = fixture_manifest();

	(void)state;
	assert_int_equal(expect(manifest, "open+set", 0), -1);
	/* .ctl has not 4; .freq is odd. */
	assert_int_equal(expect(manifest, "open+set", 1), 2);
	assert_row(0, 0x570, 0xfffe, 0x2008);
	assert_string_equal(rows[0].field, "ctl");
	assert_row(1, 0x572, 0xff, 9);
	/* 5 + 5 - 1, shifted. */
	assert_int_equal(expect(manifest, "set.1.4", 0), 3);
	assert_row(0, 0x570, 0xfffe, 0x200c);
	assert_row(1, 0x571, 0xff0, 0x90);
	assert_string_equal(rows[1].field, "freq");
	/* A field behind a null pointer has no value. */
	assert_int_equal(expect(manifest, "set.1.3", 0), 2);
	assert_row(0, 0x570, 0xfffe, 0x200c);
	assert_row(1, 0x572, 0xff, 9);
	/* An invalid one that is accepted asks for nothing. */
	assert_int_equal(expect(manifest, "set.2", 0), 0);
	manifest_free(manifest);
}

/* Two contexts: whichever traces, this holds. */
static void
contexts_together_ask_for_what_they_have_in_common(void **state)
{
	struct manifest *manifest = fixture_manifest();

	(void)state;
	assert_int_equal(expect(manifest, "set+setb.1", 1), 1);
	assert_row(0, 0x572, 0xff, 9);
	assert_int_equal(expect(manifest, "set+setb", 1), 2);
	/* The same context's configuration replaces the one before. */
	assert_int_equal(expect(manifest, "set.1+set", 1), 2);
	assert_row(0, 0x570, 0xfffe, 0x2008);
	assert_int_equal(expect(manifest, "set.1+setb+set", 2), 2);
	manifest_free(manifest);
}

/* A later configuration of one context says nothing of another. */
static void
each_context_asks_for_its_own(void **state)
{
	struct manifest *manifest = fixture_manifest();
	struct sequence sequence = fixture_sequence(manifest, "set+setb.1");

	(void)state;
	assert_int_equal(sequence_expect_own(manifest, &sequence, 1, rows), 3);
	assert_row(0, 0x570, 0xfffe, 0x200c);
	assert_int_equal(sequence_expect_own(manifest, &sequence, 0, rows), 2);
	assert_row(0, 0x570, 0xfffe, 0x2008);
	manifest_free(manifest);
}

static unsigned
context(const struct manifest *manifest, const char *text, unsigned step)
{
	struct sequence sequence = fixture_sequence(manifest, text);

	return sequence_context(manifest, &sequence, step);
}

static struct manifest *
driver(const char *name)
{
	struct manifest *manifest;
	struct tz_error err;

	if (manifest_read(root, name, &manifest, &err) != 0)
		fail_msg("%s", err.text);
	return manifest;
}

static bool
has(int count, uint32_t msr, uint64_t mask, uint64_t value)
{
	int i;

	for (i = 0; i < count; i++) {
		if (rows[i].msr == msr && (rows[i].mask & mask) == mask &&
		    (rows[i].value & mask) == value)
			return true;
	}
	return false;
}

static void
freebsd_fields_arrive_at_their_msrs(void **state)
{
	struct manifest *manifest = driver("freebsd-pt");
	int count;

	(void)state;
	count = expect(manifest, "config", 0);
	assert_true(has(count, 0x570, 0x20fc, 0x200c));
	assert_true(has(count, 0x570, 0x200, 0));
	assert_true(has(count, 0x570, 0x2, 0));
	assert_true(has(count, 0x570, UINT64_C(0xffff00000000), 0));
	assert_true(has(count, 0x570, 0xf000000, 0));
	/* CR3Filter with a CR3; two ranges; PSB frequency 2. */
	count = expect(manifest, "config.7.14", 0);
	assert_true(has(count, 0x570, 0x80, 0x80));
	assert_true(has(count, 0x572, UINT64_MAX, 0x200000));
	count = expect(manifest, "config.16.21", 0);
	assert_true(has(
	    count, 0x570, UINT64_C(0xffff00000000), UINT64_C(0x1100000000)));
	assert_true(has(count, 0x580, UINT64_MAX, 0xd400000));
	assert_true(has(count, 0x581, UINT64_MAX, 0xf4fffff));
	assert_true(
	    has(count, 0x582, UINT64_MAX, UINT64_C(0xffffffff80000000)));
	assert_true(has(count, 0x583, UINT64_MAX, UINT64_MAX));
	assert_true(has(count, 0x570, 0xf000000, 0x2000000));
	/* What a frequency sets beside it nobody has asked for, or against. */
	assert_false(has(expect(manifest, "config.19", 0), 0x570, 0x200, 0));
	/* MTC frequency only with MTCEn. */
	assert_false(
	    has(expect(manifest, "config.19", 0), 0x570, 0x3c000, 0xc000));
	assert_true(
	    has(expect(manifest, "config.8.19", 0), 0x570, 0x3c000, 0xc000));
	manifest_free(manifest);
}

static void
insntrace_ranges_end_with_their_last_byte(void **state)
{
	struct manifest *manifest = driver("insntrace");
	int count = expect(manifest, "allocbuf.20.38.41", 0);

	(void)state;
	assert_true(has(
	    count, 0x570, UINT64_C(0xfffffffffffffefe), UINT64_C(0x10000200c)));
	assert_true(has(count, 0x580, UINT64_MAX, 0xe400000));
	assert_true(has(count, 0x581, UINT64_MAX, 0xe4fffff));
	/* Another CPU's buffer has another configuration: either may come. */
	assert_int_equal(expect(manifest, "allocbuf+allocbuf.13", 1), 0);
	assert_int_equal(expect(manifest, "allocbuf.13+allocbuf.13", 1), 1);
	manifest_free(manifest);
}

/* A node belongs to the context that was made last when it was opened. */
static void
steps_belong_to_the_context_that_was_made(void **state)
{
	struct manifest *manifest = driver("freebsd-pt");
	const char *two = "open+alloc.4+map+config+allocb.4.11+mapb.1+configb"
			  "+alloc.2+config+map+config";

	(void)state;
	assert_int_equal(context(manifest, two, 0), 0);
	assert_int_equal(context(manifest, two, 1), 2);
	assert_int_equal(context(manifest, two, 2), 2);
	assert_int_equal(context(manifest, two, 3), 2);
	assert_int_equal(context(manifest, two, 5), 5);
	assert_int_equal(context(manifest, two, 6), 5);
	/* The node is the first one's until another is opened. */
	assert_int_equal(context(manifest, two, 8), 2);
	assert_int_equal(context(manifest, two, 10), 8);
	/* Either of two that run at once may be the last. */
	assert_int_equal(
	    context(manifest, "open+alloc.4-+1alloc.4.11+map.1+config", 4), 0);
	manifest_free(manifest);
	manifest = driver("insntrace");
	assert_int_equal(context(manifest, "open+init+allocbuf", 2), 0);
	manifest_free(manifest);
}

/* What the judges are told of a step. */
static void
flags_say_what_an_operation_means(void **state)
{
	struct manifest *manifest = driver("insntrace");
	struct sequence sequence = fixture_sequence(
	    manifest, "load+allocbuf+start+stop+read+unload");
	static const unsigned flags[] = { MANIFEST_CHANGES,
		MANIFEST_CONFIGURES | MANIFEST_CHANGES | MANIFEST_REFUSES,
		MANIFEST_STARTS | MANIFEST_CHANGES | MANIFEST_TAKES,
		MANIFEST_STOPS | MANIFEST_CHANGES | MANIFEST_TAKES,
		MANIFEST_REREADS | MANIFEST_COLLECTS,
		MANIFEST_UNLOADS | MANIFEST_CHANGES | MANIFEST_TAKES };
	unsigned i;

	(void)state;
	for (i = 0; i < sequence.count; i++)
		assert_int_equal(
		    sequence_flags(manifest, &sequence, i), flags[i]);
	manifest_free(manifest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_follow_values_and_conditions),
		cmocka_unit_test(
		    contexts_together_ask_for_what_they_have_in_common),
		cmocka_unit_test(each_context_asks_for_its_own),
		cmocka_unit_test(steps_belong_to_the_context_that_was_made),
		cmocka_unit_test(freebsd_fields_arrive_at_their_msrs),
		cmocka_unit_test(insntrace_ranges_end_with_their_last_byte),
		cmocka_unit_test(flags_say_what_an_operation_means),
	};

	root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
