/*
 * Goal: config-applied tells what is ignored, what is left over and what came too
 * late apart, and the state's hash, too.  Method: one MSR, configured once or more,
 * and the words that the message ends in.
 */
#include "tests/unit/check/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ASK(bits)  DO(EXPECT, 0x570, 0x300c, bits)
#define ON_AS(ctl) EV(TRACE_ON, ctl, 0, 0)

static const struct {
	const char *words;
	struct rig_step steps[8];
} runs[] = {
	{ "too little", { ASK(0x200c), ON_AS(0x2005) } },
	{ "too much", { ASK(0x2008), ON_AS(0x200d) } },
	{ "another value", { ASK(0x2008), ON_AS(0x2005) } },
	{ "as it was asked for before",
	    { ASK(0x200c), ASK(0x2008), ON_AS(0x200d) } },
	{ "too much", { ASK(0x2008), ASK(0x2004), ON_AS(0x200d) } },
	{ "too little", { ASK(0x2008), ASK(0x200c), ON_AS(0x2009) } },
	{ "as it was asked for before",
	    { ASK(0x200c), ASK(0x2008), ASK(0x2008), ON_AS(0x200d) } },
	{ "as it was asked for before",
	    { ASK(0x300c), ASK(0x200c), ASK(0x2008), ON_AS(0x200d) } },
	{ "too much",
	    { ASK(0x300c), ASK(0x200c), ASK(0x2008), ON_AS(0x300d) } },
	{ "too much",
	    { ASK(0x200c), DO(CONTEXT, 1, 0, 0), DO(NAMED, 0, 0, 0),
		ASK(0x2008), DO(REGION_AT, RIG_BUFFER, 0, 0), ON_AS(0x200d) } },
};

static void
each_difference_has_its_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(runs); i++) {
		struct check *check = rig_create(false);
		const char *words;

		rig_play(check, runs[i].steps);
		assert_int_equal(check_count(check), 1);
		assert_int_equal(check_at(check, 0)->id, CHECK_CONFIG_APPLIED);
		words = strstr(check_at(check, 0)->text, "): ");
		assert_non_null(words);
		assert_string_equal(words + 3, runs[i].words);
		check_destroy(check);
	}
}

/* While an operation configures nothing is expected; it may be refused. */
static void
a_refused_configuration_is_no_other_one(void **state)
{
	static const struct rig_step begin[] = { ASK(0x200c), ASK(0x2008),
		{ 0 } };
	static const struct rig_step end[] = { ASK(0x2008), ON_AS(0x200d),
		{ 0 } };
	struct check *check = rig_create(false);

	(void)state;
	rig_play(check, begin);
	check_configured(check, 0, NULL, 0);
	rig_play(check, end);
	assert_int_equal(check_count(check), 1);
	assert_non_null(strstr(check_at(check, 0)->text, "asked for before"));
	check_destroy(check);
}

/*
 * A configuration that was accepted while tracing started: either is right until the
 * next start, a mixture is not.
 */
static void
after_a_start_at_the_same_time_either_is_right(void **state)
{
	static const struct rig_step begin[] = { ASK(0x2008), ASK(0x2004),
		{ 0 } };
	static const struct {
		bool starts;
		uint64_t ctl;
		uint32_t violations;
	} cases[] = {
		{ false, 0x2005, 0 },
		{ false, 0x2009, 0 },
		{ false, 0x200d, 1 },
		{ true, 0x2005, 0 },
		{ true, 0x2009, 1 },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(cases); i++) {
		const struct rig_step end[] = { ON_AS(cases[i].ctl), { 0 } };
		struct check *check = rig_create(false);
		uint64_t hash;

		rig_play(check, begin);
		hash = check_hash(check);
		check_configured_late(check, 0);
		assert_int_not_equal(check_hash(check), hash);
		if (cases[i].starts)
			check_starting(check);
		rig_play(check, end);
		assert_int_equal(check_count(check), cases[i].violations);
		check_destroy(check);
	}
}

static void
what_was_asked_for_before_is_of_the_state(void **state)
{
	static const struct rig_step steps[][3] = {
		{ ASK(0x200c), ASK(0x2008) },
		{ ASK(0x2004), ASK(0x2008) },
	};
	uint64_t hash[TZ_ARRAY_LEN(steps)];

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(steps); i++) {
		struct check *check = rig_create(false);

		rig_play(check, steps[i]);
		hash[i] = check_hash(check);
		check_destroy(check);
	}
	assert_int_not_equal(hash[0], hash[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_difference_has_its_words),
		cmocka_unit_test(a_refused_configuration_is_no_other_one),
		cmocka_unit_test(
		    after_a_start_at_the_same_time_either_is_right),
		cmocka_unit_test(what_was_asked_for_before_is_of_the_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
