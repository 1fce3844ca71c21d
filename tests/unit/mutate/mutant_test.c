/*
 * Goal: a list of mutants that one program writes is what the other reads; what is cut
 * or changed is an error.  Method: a list with edits that hold anything, written to
 * memory, read again whole, cut at every byte and with words changed.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/mutate/mutant.h"

static void
add(struct mutant_list *list, enum mutant_operator op, const char *owner,
    uint32_t begin, const char *text)
{
	struct mutant mutant = { .op = op,
		.line = 3,
		.number = 1,
		.owner = strdup(owner),
		.in_function = begin % 2 == 0,
		.edit_count = 1,
		.edit = { { { begin, begin + 2 }, strdup(text) } } };

	mutant_add(list, &mutant);
}

static struct mutant_list
sample(void)
{
	struct mutant_list list = { .at = NULL };

	add(&list, OPERATOR_AND_OR, "f", 8, "||");
	add(&list, OPERATOR_DELETE_CALL, "f", 2, "line\n\nend 3\n\xff%n");
	add(&list, OPERATOR_DELETE_CALL, "g", 20, "");
	list.at[2].edit[1] = (struct edit){ { 30, 31 }, strdup(";") };
	list.at[2].edit_count = 2;
	mutant_list_settle(&list);
	return list;
}

static char *
write_sample(size_t *bytes)
{
	struct mutant_list list = sample();
	struct tz_error err;
	char *text;
	FILE *file = open_memstream(&text, bytes);

	assert_int_equal(mutant_list_write(file, &list, &err), 0);
	assert_int_equal(fclose(file), 0);
	mutant_list_free(&list);
	return text;
}

static int
read_list(char *text, size_t bytes, struct mutant_list *list)
{
	struct tz_error err;
	FILE *file = fmemopen(text, bytes, "r");
	int error;

	assert_non_null(file);
	*list = (struct mutant_list){ .at = NULL };
	error = mutant_list_read(file, list, &err);
	fclose(file);
	return error;
}

static void
a_list_is_read_as_it_was_written(void **state)
{
	struct mutant_list list, own = sample();
	size_t bytes;
	char *text = write_sample(&bytes);

	(void)state;
	assert_int_equal(read_list(text, bytes, &list), 0);
	assert_int_equal(list.count, own.count);
	for (size_t i = 0; i < list.count; i++) {
		const struct mutant *a = &list.at[i], *b = &own.at[i];

		assert_int_equal(a->op, b->op);
		assert_int_equal(a->line, b->line);
		assert_int_equal(a->number, b->number);
		assert_int_equal(a->in_function, b->in_function);
		assert_string_equal(a->owner, b->owner);
		assert_int_equal(a->edit_count, b->edit_count);
		for (unsigned j = 0; j < a->edit_count; j++) {
			assert_int_equal(
			    a->edit[j].at.begin, b->edit[j].at.begin);
			assert_int_equal(a->edit[j].at.end, b->edit[j].at.end);
			assert_string_equal(a->edit[j].text, b->edit[j].text);
		}
	}
	mutant_list_free(&list);
	mutant_list_free(&own);
	free(text);
}

static void
a_list_that_is_cut_is_none(void **state)
{
	struct mutant_list list;
	size_t bytes;
	char *text = write_sample(&bytes);

	(void)state;
	/* The newline after the count may be absent. */
	for (size_t i = 1; i + 1 < bytes; i++) {
		assert_int_equal(read_list(text, i, &list), -TZ_EFORMAT);
		mutant_list_free(&list);
	}
	free(text);
}

static void
a_list_that_was_changed_is_none(void **state)
{
	static const char *const bad[] = {
		"mutant nothing 1 1 1 1 f\nedit 1 2 0\n\n\nend 1\n",
		"mutant and-or 1 1 9 1 f\nedit 1 2 0\n\n\nend 1\n",
		"mutant and-or 1 1 0 1 f\nend 1\n",
		"mutant and-or 1 1 1 1 f\nedit 2 2 0\n\n\nend 1\n",
		"mutant and-or 1 1 1 1 f\nedit 1 2 99999999\n\n\nend 1\n",
		"mutant and-or 1 1 1 1 f\nedit 1 2 0\n\n\nend 2\n",
		"list\n",
	};
	struct mutant_list list;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(bad); i++) {
		char *text = strdup(bad[i]);

		assert_int_equal(
		    read_list(text, strlen(text), &list), -TZ_EFORMAT);
		mutant_list_free(&list);
		free(text);
	}
}

static void
a_change_is_listed_once_in_source_order(void **state)
{
	struct mutant_list list = { .at = NULL };

	(void)state;
	add(&list, OPERATOR_DELETE_CALL, "f", 9, ";");
	add(&list, OPERATOR_AND_OR, "f", 4, "||");
	add(&list, OPERATOR_DELETE_CALL, "f", 4, "||");
	add(&list, OPERATOR_DELETE_CALL, "f", 2, ";");
	add(&list, OPERATOR_DELETE_CALL, "g", 40, ";");
	mutant_list_settle(&list);
	assert_int_equal(list.count, 4);
	assert_int_equal(list.at[0].edit[0].at.begin, 2);
	assert_int_equal(list.at[1].op,
	    OPERATOR_DELETE_CALL < OPERATOR_AND_OR ? OPERATOR_DELETE_CALL
						   : OPERATOR_AND_OR);
	assert_int_equal(list.at[2].edit[0].at.begin, 9);
	assert_int_equal(list.at[3].number, 1);
	mutant_list_free(&list);
}

static void
operators_and_calls_have_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < OPERATOR_COUNT; i++) {
		const struct operator_info *info = operator_info(
		    (enum mutant_operator)i);

		assert_int_equal(operator_find(info->name), i);
		assert_true(info->text[0] != '\0' && info->reason[0] != '\0');
	}
	assert_int_equal(operator_find("none"), OPERATOR_COUNT);
	assert_int_equal(call_find(NULL, 0, "mtx_lock")->class, CALL_LOCK);
	assert_string_equal(
	    call_find(NULL, 0, "mtx_lock")->partner, "mtx_unlock");
	assert_int_equal(call_find(NULL, 0, "MPASS2")->class, CALL_ASSERTION);
	assert_null(call_find(NULL, 0, "wrmsr"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_read_as_it_was_written),
		cmocka_unit_test(a_list_that_is_cut_is_none),
		cmocka_unit_test(a_list_that_was_changed_is_none),
		cmocka_unit_test(a_change_is_listed_once_in_source_order),
		cmocka_unit_test(operators_and_calls_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
