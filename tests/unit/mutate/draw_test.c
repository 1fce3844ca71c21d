/*
 * Goal: what is drawn is spread over operators and functions, depends on the seed alone,
 * and fewer are a part of more.  Method: a list with many mutants of one operator in
 * one function and few elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/mutate/mutate.h"

static void
add(struct mutate_list *list, enum mutant_operator op, const char *owner)
{
	static uint32_t begin = 1;
	struct mutant mutant = { .op = op,
		.owner = strdup(owner),
		.edit_count = 1,
		.edit = { { { begin, begin + 1 }, strdup(";") } } };

	begin++;
	mutant_add(&list->mutants, &mutant);
}

/* 40 calls in "big", 2 in each of "f" and "g"; a lock in "f"; 3 negations in "g". */
static int
make_list(void **state)
{
	struct mutate_list *list = calloc(1, sizeof(*list));

	*state = list;
	if (list == NULL)
		return 1;
	list->source = calloc(1, sizeof(*list->source));
	list->source_count = 1;
	list->source[0].name = strdup("d.c");
	for (unsigned i = 0; i < 40; i++)
		add(list, OPERATOR_DELETE_CALL, "big");
	for (unsigned i = 0; i < 2; i++) {
		add(list, OPERATOR_DELETE_CALL, "f");
		add(list, OPERATOR_DELETE_CALL, "g");
	}
	add(list, OPERATOR_DROP_LOCK, "f");
	for (unsigned i = 0; i < 3; i++)
		add(list, OPERATOR_NEGATE_CONDITION, "g");
	mutant_list_settle(&list->mutants);
	return 0;
}

static int
free_list(void **state)
{
	mutate_list_free(*state);
	free(*state);
	return 0;
}

static void
draw(struct mutate_list *list, uint64_t seed, size_t count)
{
	struct tz_error err;

	assert_int_equal(mutate_draw(list, seed, count, &err), 0);
	for (size_t i = 1; i < list->drawn_count; i++)
		assert_true(list->drawn[i - 1] < list->drawn[i]);
}

static size_t
count_of(
    const struct mutate_list *list, enum mutant_operator op, const char *owner)
{
	size_t count = 0;

	for (size_t i = 0; i < list->drawn_count; i++) {
		const struct mutant *one = &list->mutants.at[list->drawn[i]];

		count += one->op == op &&
		    (owner == NULL || strcmp(one->owner, owner) == 0);
	}
	return count;
}

static void
operators_have_as_many_each(void **state)
{
	struct mutate_list *list = *state;

	draw(list, 0, 3);
	assert_int_equal(count_of(list, OPERATOR_DELETE_CALL, NULL), 1);
	assert_int_equal(count_of(list, OPERATOR_DROP_LOCK, NULL), 1);
	assert_int_equal(count_of(list, OPERATOR_NEGATE_CONDITION, NULL), 1);
	draw(list, 0, 7);
	assert_int_equal(count_of(list, OPERATOR_NEGATE_CONDITION, NULL), 3);
	assert_int_equal(count_of(list, OPERATOR_DELETE_CALL, NULL), 3);
}

static void
functions_have_as_many_each(void **state)
{
	struct mutate_list *list = *state;

	draw(list, 5, 10);
	assert_int_equal(count_of(list, OPERATOR_DELETE_CALL, "big"), 2);
	assert_int_equal(count_of(list, OPERATOR_DELETE_CALL, "f"), 2);
	assert_int_equal(count_of(list, OPERATOR_DELETE_CALL, "g"), 2);
}

static void
fewer_are_a_part_of_more(void **state)
{
	struct mutate_list *list = *state;
	size_t few[12], all[20];

	draw(list, 7, 12);
	assert_int_equal(list->drawn_count, 12);
	memcpy(few, list->drawn, sizeof(few));
	draw(list, 7, 20);
	memcpy(all, list->drawn, sizeof(all));
	for (size_t i = 0; i < TZ_ARRAY_LEN(few); i++) {
		bool found = false;

		for (size_t j = 0; j < TZ_ARRAY_LEN(all); j++)
			found |= few[i] == all[j];
		assert_true(found);
	}
}

static void
another_seed_draws_others(void **state)
{
	struct mutate_list *list = *state;
	size_t one[12];

	draw(list, 1, 12);
	memcpy(one, list->drawn, sizeof(one));
	draw(list, 1, 12);
	assert_memory_equal(one, list->drawn, sizeof(one));
	draw(list, 2, 12);
	assert_memory_not_equal(one, list->drawn, sizeof(one));
}

static void
no_count_and_too_large_a_count_draw_all(void **state)
{
	struct mutate_list *list = *state;

	draw(list, 1, 0);
	assert_int_equal(list->drawn_count, 48);
	draw(list, 1, 1000);
	assert_int_equal(list->drawn_count, 48);
}

static void
named_ones_are_chosen(void **state)
{
	struct mutate_list *list = *state;
	struct tz_error err;

	assert_int_equal(
	    mutate_choose(
		list, "d.c:g:negate-condition:2,d.c:f:drop-lock:1", &err),
	    0);
	assert_int_equal(list->drawn_count, 2);
	assert_int_equal(count_of(list, OPERATOR_DROP_LOCK, "f"), 1);
	assert_int_equal(
	    mutate_choose(list, "d.c:f:drop-lock:2", &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, "d.c:f:drop-lock:2: no such mutant"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_have_as_many_each),
		cmocka_unit_test(functions_have_as_many_each),
		cmocka_unit_test(fewer_are_a_part_of_more),
		cmocka_unit_test(another_seed_draws_others),
		cmocka_unit_test(no_count_and_too_large_a_count_draw_all),
		cmocka_unit_test(named_ones_are_chosen),
	};

	return cmocka_run_group_tests(tests, make_list, free_list);
}
