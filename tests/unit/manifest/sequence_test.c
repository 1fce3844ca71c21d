/*
 * Goal: sequences as text and back, each wrong one by name, and what is left when
 * a step is dropped. Method: texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/manifest/fixture.h"

#include <cmocka.h>

static struct manifest *manifest;

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
text_comes_back_as_it_was(void **state)
{
	static const char *const texts[] = {
		"open",
		"open+set",
		"open-+1openb.1-+2set.1.4+3exit",
		"cpus+cpus+cpus",
		"set.2.3.5-",
	};
	char text[200];
	size_t i;

	(void)state;
	for (i = 0; i < TZ_ARRAY_LEN(texts); i++) {
		struct sequence sequence = fixture_sequence(manifest, texts[i]);

		assert_true(
		    sequence_format(manifest, &sequence, text, sizeof(text)));
		assert_string_equal(text, texts[i]);
		assert_true(sequence_format(
		    manifest, &sequence, text, strlen(texts[i]) + 1));
		assert_false(sequence_format(
		    manifest, &sequence, text, strlen(texts[i])));
	}
}

static void
steps_are_what_the_text_says(void **state)
{
	struct sequence sequence = fixture_sequence(
	    manifest, "0open+2setb.1.4-+set");

	(void)state;
	assert_int_equal(sequence.count, 3);
	assert_int_equal(sequence.step[0].actor, 0);
	assert_int_equal(sequence.step[1].actor, 2);
	assert_string_equal(
	    manifest_op_name(manifest, sequence.step[1].op), "setb");
	assert_true(sequence.step[1].async);
	assert_int_equal(sequence.step[1].variant_count, 2);
	assert_int_equal(sequence.step[1].variant[1], 4);
	assert_false(sequence.step[2].async);
}

static void
a_wrong_text_is_an_error_that_names_the_step(void **state)
{
	static const struct {
		const char *text, *said;
	} wrongs[] = {
		{ "", "step 0, \"\": no such operation" },
		{ "open+", "step 1, \"\": no such operation" },
		{ "open+shut", "step 1, \"shut\": no such operation" },
		{ "4open", "step 0, \"4open\": no such actor" },
		{ "12open", "step 0, \"12open\": no such operation" },
		{ "open.0", "step 0, \"open.0\": no such variant" },
		{ "open.2", "step 0, \"open.2\": no such variant" },
		{ "cpus.1", "no such variant" },
		{ "set.", "not [ACTOR]OPERATION[.VARIANT]...[-]" },
		{ "set.1x", "not [ACTOR]OPERATION[.VARIANT]...[-]" },
		{ "set--", "not [ACTOR]OPERATION[.VARIANT]...[-]" },
		{ "set.1.2", "two variants of one value" },
		{ "wait", "step 0, \"wait\": not an operation of this actor" },
	};
	struct sequence sequence;
	struct tz_error err;
	char many[800] = "open";
	size_t i;

	(void)state;
	for (i = 0; i < TZ_ARRAY_LEN(wrongs); i++) {
		if (sequence_parse(manifest, wrongs[i].text, &sequence, &err) !=
			-TZ_EUSAGE ||
		    strstr(err.text, wrongs[i].said) == NULL)
			fail_msg("%s: %s", wrongs[i].text, err.text);
	}
	for (i = 1; i < SCRIPT_STEPS_MAX; i++)
		strcat(many, "+open");
	assert_int_equal(sequence_parse(manifest, many, &sequence, &err), 0);
	strcat(many, "+open");
	assert_int_equal(
	    sequence_parse(manifest, many, &sequence, &err), -TZ_EUSAGE);
	assert_string_equal(err.text, "more than 64 steps");
}

/* "FROM", the step that goes, and what is left. */
static void
what_depended_on_a_dropped_step_goes_with_it(void **state)
{
	static const struct {
		const char *from;
		unsigned step;
		const char *to;
	} rows[] = {
		{ "open+set+cpus", 2, "open+set" },
		{ "open+set+cpus", 0, "cpus" },
		{ "open+openb+set+setb", 0, "openb+setb" },
		/* Another result is there. */
		{ "open+open+set", 0, "open+set" },
		{ "open+open+set", 1, "open+set" },
		/* It had no result before either. */
		{ "set+open+set", 1, "set" },
		/* The pointer that leads to the slot is one of another value. */
		{ "open+cpus+1wait", 0, "cpus" },
		{ "open+1wait+cpus", 1, "open+cpus" },
		{ "open", 0, "" },
	};
	char text[100];
	size_t i;

	(void)state;
	for (i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct sequence from = fixture_sequence(manifest, rows[i].from);

		sequence_drop(manifest, &from, rows[i].step, &from);
		assert_true(
		    sequence_format(manifest, &from, text, sizeof(text)));
		assert_string_equal(text, rows[i].to);
	}
}

static bool
succeeds(const struct manifest *of, const char *text, unsigned cpus,
    const char *settings, unsigned step)
{
	struct sequence sequence = fixture_sequence(of, text);

	return sequence_succeeds(of, &sequence, cpus, settings, step);
}

/* What a scenario does, with its own values and accepted ones. */
static void
a_step_succeeds_where_all_before_are_a_scenarios(void **state)
{
	struct manifest *other;
	const char *said;

	(void)state;
	assert_int_equal(
	    fixture_read(
		fixture_with("owner: o", "owner: o\naccepts: [set.1.3, set.3]"),
		&other, &said),
	    0);
	assert_true(succeeds(other, "open+set", 1, "", 1));
	assert_true(succeeds(other, "open+set.3.1", 1, "", 1));
	assert_true(succeeds(other, "open+set.3", 1, "", 1));
	assert_false(succeeds(other, "open+set.1", 1, "", 1));
	assert_false(succeeds(other, "open+set+set", 1, "", 2));
	assert_false(succeeds(other, "set", 1, "", 0));
	assert_false(succeeds(other, "open+set", 2, "", 1));
	assert_false(succeeds(other, "open+set", 1, "slice=1", 1));
	assert_true(succeeds(other, "open-+1openb+set.1", 2, "slice=1", 2));
	assert_false(succeeds(other, "open+1openb", 2, "slice=1", 1));
	manifest_free(other);
}

static void
an_invalid_value_is_refused_where_the_manifest_says_so(void **state)
{
	struct sequence invalid = fixture_sequence(manifest, "open+set.2");
	struct manifest *other;
	const char *said;

	(void)state;
	assert_null(sequence_refused(manifest, &invalid, 1));
	assert_int_equal(fixture_read(fixture_with("configures: true",
					  "configures: true, refuses: true"),
			     &other, &said),
	    0);
	assert_string_equal(sequence_refused(other, &invalid, 1), "ctl");
	assert_null(sequence_refused(other, &invalid, 0));
	invalid.step[1].variant[0] = 1;
	assert_null(sequence_refused(other, &invalid, 1));
	manifest_free(other);
	/* Values that are refused together. */
	assert_int_equal(fixture_read(fixture_with("owner: o",
					  "owner: o\nrefuses: [set.3.1]"),
			     &other, &said),
	    0);
	assert_null(sequence_refused(other, &invalid, 1));
	invalid.step[1].variant[1] = 3;
	invalid.step[1].variant_count = 2;
	assert_string_equal(sequence_refused(other, &invalid, 1), "");
	manifest_free(other);
}

static void
a_guard_holds_from_a_success_on(void **state)
{
	struct sequence sequence;
	struct manifest *other;
	const char *said;
	bool holds;

	(void)state;
	assert_int_equal(fixture_read(fixture_with("configures: true",
					  "configures: true, guards: [open*]"),
			     &other, &said),
	    0);
	sequence = fixture_sequence(other, "set+open+set+openb+setb");
	assert_string_equal(
	    sequence_guard(other, &sequence, 0, 0, &holds), "open");
	assert_null(sequence_guard(other, &sequence, 1, 0, &holds));
	assert_null(sequence_guard(other, &sequence, 2, 0, &holds));
	/* The open failed. */
	assert_string_equal(
	    sequence_guard(other, &sequence, 2, 2, &holds), "open");
	assert_null(sequence_guard(other, &sequence, 4, 2, &holds));
	assert_string_equal(
	    sequence_guard(other, &sequence, 4, 8, &holds), "openb");
	/* Another actor's open, or one beside: it depends on the order. */
	sequence = fixture_sequence(other, "1open+set");
	assert_null(sequence_guard(other, &sequence, 1, 0, &holds));
	sequence = fixture_sequence(other, "open-+set");
	assert_null(sequence_guard(other, &sequence, 1, 2, &holds));
	manifest_free(other);
	/* A state that excludes it: not where only a failure could have given it. */
	assert_int_equal(
	    fixture_read(fixture_with("configures: true",
			     "configures: true, excludes: [open*]"),
		&other, &said),
	    0);
	sequence = fixture_sequence(other, "set+open+set+setb");
	assert_null(sequence_guard(other, &sequence, 0, 0, &holds));
	assert_string_equal(
	    sequence_guard(other, &sequence, 2, 0, &holds), "open");
	assert_true(holds);
	assert_null(sequence_guard(other, &sequence, 2, 2, &holds));
	assert_null(sequence_guard(other, &sequence, 3, 0, &holds));
	manifest_free(other);
}

/* The error that the last step of TEXT has to fail with; 0: nobody can say. */
static uint32_t
right_error(const struct manifest *of, const char *text, uint64_t failed)
{
	struct sequence sequence = fixture_sequence(of, text);

	return sequence_error(of, &sequence, sequence.count - 1, failed);
}

/* The manifest in which "set" has KEYS in place of "configures: true"; TEXT: its text. */
static struct manifest *
read_with_errors(char *text, size_t bytes, const char *keys)
{
	struct manifest *other;
	const char *said;

	snprintf(text, bytes, "%s%s", fixture_with("configures: true", keys),
	    "errors: {states: [open], guarded: 16, invalid: 22}\n");
	assert_int_equal(fixture_read(text, &other, &said), 0);
	return other;
}

static void
an_error_is_known_where_one_reason_is(void **state)
{
	static char text[16384], own[16384];
	struct manifest *other;
	const char *said, *at;

	(void)state;
	other = read_with_errors(text, sizeof(text),
	    "configures: true, guards: [open*], refuses: true");
	assert_int_equal(right_error(other, "open+set", 0), 0);
	assert_int_equal(right_error(other, "open+set.2", 0), 22);
	assert_int_equal(right_error(other, "set", 0), 16);
	assert_int_equal(right_error(other, "open+set", 1), 16);
	/* Two reasons; a state that has no known error; two actors. */
	assert_int_equal(right_error(other, "set.2", 0), 0);
	assert_int_equal(right_error(other, "setb", 0), 0);
	assert_int_equal(right_error(other, "1open+set", 0), 0);
	manifest_free(other);
	/* The value's own error. */
	at = strstr(text, "invalid: true}");
	assert_non_null(at);
	snprintf(
	    own, sizeof(own), "%.*serror: 5, %s", (int)(at - text), text, at);
	assert_int_equal(fixture_read(own, &other, &said), 0);
	assert_int_equal(right_error(other, "open+set.2", 0), 5);
	assert_int_equal(right_error(other, "set", 0), 16);
	manifest_free(other);
	snprintf(text, sizeof(text), "%s%s", fixture_text,
	    "errors: {states: [shut]}\n");
	assert_int_not_equal(fixture_read(text, &other, &said), 0);
	assert_non_null(strstr(said, "\"shut\": no operation gives"));
}

/* The number that row INDEX of the last step of TEXT has to be; -1: nobody can say. */
static int64_t
right_number(const struct manifest *of, const char *text, uint64_t failed,
    unsigned index)
{
	struct sequence sequence = fixture_sequence(of, text);
	struct manifest_answer answer;

	assert_true(sequence_answer(
	    of, &sequence, sequence.count - 1, failed, 3, index, &answer));
	return answer.kind == ANSWER_NUMBER ? (int64_t)answer.number : -1;
}

static void
an_answer_is_what_was_given(void **state)
{
	struct manifest *other;
	const char *said;

	(void)state;
	assert_int_equal(
	    fixture_read(fixture_with("configures: true",
			     "configures: true, answers: [{name: ctl, at: 0, "
			     "bytes: 8, is: given, of: setb}, {name: n, at: 8, "
			     "bytes: 4, is: cpus}]"),
		&other, &said),
	    0);
	assert_int_equal(right_number(other, "open+setb.1+set", 0, 0), 0x200c);
	assert_int_equal(right_number(other, "open+setb.1+set", 0, 1), 3);
	assert_int_equal(right_number(other, "open+setb.1+set", 2, 0), -1);
	assert_int_equal(right_number(other, "open+setb.1+setb+set", 0, 0), -1);
	assert_int_equal(
	    right_number(other, "open+setb.1+setb+set", 4, 0), 0x200c);
	assert_int_equal(right_number(other, "open+set", 0, 0), -1);
	assert_int_equal(right_number(other, "open-+setb.1+set", 0, 0), -1);
	/* What the operation needs does not hold. */
	assert_int_equal(right_number(other, "setb.1+set", 0, 1), -1);
	assert_int_equal(right_number(other, "open+setb.1+set", 1, 1), -1);
	manifest_free(other);
	/* Each buffer has its own: of which is asked? */
	assert_int_equal(
	    fixture_read(fixture_with("configures: true",
			     "configures: true, accumulates: true, answers: "
			     "[{name: ctl, at: 0, bytes: 8, is: given, of: "
			     "setb}]"),
		&other, &said),
	    0);
	assert_int_equal(right_number(other, "open+setb.1+set", 0, 0), 0x200c);
	assert_int_equal(right_number(other, "open+set+setb.1+set", 0, 0), -1);
	assert_int_equal(
	    right_number(other, "open+set+setb.1+set", 2, 0), 0x200c);
	manifest_free(other);
}

/* A state that may have ended leaves open which error is right. */
static void
a_state_may_have_ended(void **state)
{
	static char text[16384];
	struct manifest *other;

	(void)state;
	other = read_with_errors(text, sizeof(text),
	    "configures: true, guards: [open*], refuses: true, may_take: "
	    "[open*]");
	assert_int_equal(right_error(other, "open+set.2", 0), 22);
	assert_int_equal(right_error(other, "open+set+set.2", 0), 0);
	assert_int_equal(right_error(other, "open+set+set.2", 2), 22);
	assert_int_equal(right_error(other, "open+set+open+set.2", 0), 22);
	manifest_free(other);
}

/* A strict step needs one before it that a correct driver does not refuse. */
static void
what_is_refused_gives_no_state(void **state)
{
	static const struct {
		const char *open;
		unsigned count;
	} rows[] = {
		{ "gives: [open*]}", 2 },
		{ "gives: [open*], guards: [loaded]}", 2 },
		{ "gives: [open*], guards: [openb]}", 1 },
		{ "gives: [open*], excludes: [openb]}", 2 },
		{ "gives: [open*], excludes: [loaded]}", 1 },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct sequence sequence;
		struct manifest *other;
		const char *said;

		assert_int_equal(
		    fixture_read(fixture_with("gives: [open*]}", rows[i].open),
			&other, &said),
		    0);
		sequence = fixture_sequence(other, "open+1wait+cpus");
		sequence_drop(other, &sequence, 2, &sequence);
		assert_int_equal(sequence.count, rows[i].count);
		manifest_free(other);
	}
}

/* All states of `traced` hold for certain. */
static void
a_thread_is_traced_in_states(void **state)
{
	struct sequence sequence;
	struct manifest *other;
	const char *said;

	(void)state;
	sequence = fixture_sequence(manifest, "cpus");
	assert_true(sequence_is_traced(manifest, &sequence, 0, 0));
	assert_int_equal(fixture_read(fixture_with("initial: [loaded]",
					  "initial: [loaded]\ntraced: [none]"),
			     &other, &said),
	    -TZ_EFORMAT);
	assert_non_null(strstr(said, "no operation gives this state"));
	assert_int_equal(
	    fixture_read(fixture_with("initial: [loaded]",
			     "initial: [loaded]\ntraced: [open, openb]"),
		&other, &said),
	    0);
	sequence = fixture_sequence(other, "open+openb+cpus");
	assert_true(sequence_is_traced(other, &sequence, 2, 0));
	assert_false(sequence_is_traced(other, &sequence, 1, 0));
	assert_false(sequence_is_traced(other, &sequence, 2, 2));
	sequence = fixture_sequence(other, "open-+openb+cpus");
	assert_false(sequence_is_traced(other, &sequence, 2, 0));
	manifest_free(other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_comes_back_as_it_was),
		cmocka_unit_test(steps_are_what_the_text_says),
		cmocka_unit_test(a_wrong_text_is_an_error_that_names_the_step),
		cmocka_unit_test(what_depended_on_a_dropped_step_goes_with_it),
		cmocka_unit_test(
		    a_step_succeeds_where_all_before_are_a_scenarios),
		cmocka_unit_test(an_answer_is_what_was_given),
		cmocka_unit_test(a_state_may_have_ended),
		cmocka_unit_test(what_is_refused_gives_no_state),
		cmocka_unit_test(a_thread_is_traced_in_states),
		cmocka_unit_test(
		    an_invalid_value_is_refused_where_the_manifest_says_so),
		cmocka_unit_test(a_guard_holds_from_a_success_on),
		cmocka_unit_test(an_error_is_known_where_one_reason_is),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
