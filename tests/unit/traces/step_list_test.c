/*
 * Goal: a step list gives back what was put in, wherever it is read, and keeps a program
 * that repeats itself in little memory. Method: against a plain array, with several readers
 * in turns and at random places.
 */
#include "traces/bundle/step_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Some chunks and a part of one. */
#define STEPS (5 * STEP_LIST_CHUNK + 1234)

static uint32_t
step_of(size_t index)
{
	/* A loop of 100 steps; each 5000 steps another one. */
	return index % 5000 == 0 ? (uint32_t)index : (uint32_t)(index % 100);
}

static void
fill(struct step_list *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(step_list_add(list, step_of(i), NULL), 0);
	assert_int_equal(list->count, count);
}

static void
each_step_is_given_back_at_any_length(void **state)
{
	static const size_t counts[] = { 1, STEP_LIST_CHUNK - 1,
		STEP_LIST_CHUNK, STEP_LIST_CHUNK + 1, 2 * STEP_LIST_CHUNK,
		STEPS };

	(void)state;
	for (size_t n = 0; n < TZ_ARRAY_LEN(counts); n++) {
		struct step_list list = { 0 };

		fill(&list, counts[n]);
		for (size_t i = 0; i < counts[n]; i++)
			assert_int_equal(step_list_at(&list, i), step_of(i));
		step_list_free(&list);
	}
}

static void
readers_take_turns(void **state)
{
	struct step_list list = { 0 };
	uint32_t random = 1;

	(void)state;
	fill(&list, STEPS);
	/* One more than there are slots, and one that jumps about. */
	for (size_t i = 0; i < STEP_LIST_CHUNK; i += 7) {
		for (size_t reader = 0; reader <= STEP_LIST_SLOTS; reader++) {
			size_t at = reader * STEP_LIST_CHUNK + i;

			assert_int_equal(step_list_at(&list, at), step_of(at));
		}
		random = random * 1664525 + 1013904223;
		assert_int_equal(step_list_at(&list, random % STEPS),
		    step_of(random % STEPS));
	}
	step_list_free(&list);
}

static void
what_repeats_takes_little_memory(void **state)
{
	struct step_list list = { 0 };
	size_t bytes = 0;

	(void)state;
	fill(&list, STEPS);
	assert_int_equal(list.packed_count, STEPS / STEP_LIST_CHUNK);
	for (size_t i = 0; i < list.packed_count; i++)
		bytes += list.packed[i].count;
	assert_true(bytes < STEPS / 10);
	step_list_free(&list);
	assert_int_equal(list.count, 0);
}

static uint32_t
random_of(size_t index)
{
	return (uint32_t)(((uint64_t)index + 1) * 0x9e3779b97f4a7c15 >> 29);
}

/* Steps that do not get smaller: the first chunks are in memory, the others are not. */
static void
what_is_too_much_for_memory_is_in_a_file(void **state)
{
	struct step_list list = { 0 };
	size_t count = 40 * STEP_LIST_CHUNK + 7;

	(void)state;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(step_list_add(&list, random_of(i), NULL), 0);
	assert_in_range(list.kept, STEP_LIST_KEPT / 2, STEP_LIST_KEPT);
	assert_in_range(list.kept + list.spilt,
	    list.packed_count * STEP_LIST_CHUNK * sizeof(uint32_t),
	    list.packed_count *
		ZFILE_PACKED_MAX(STEP_LIST_CHUNK * sizeof(uint32_t)));
	for (size_t i = 0; i < count; i++) {
		size_t other = random_of(i) % count;

		assert_int_equal(step_list_at(&list, i), random_of(i));
		if (i % 20011 == 0)
			assert_int_equal(
			    step_list_at(&list, other), random_of(other));
	}
	step_list_free(&list);
}

/* TMPDIR cannot be written to: an error, and what was there stays. */
static void
no_room_for_the_file_is_an_error(void **state)
{
	struct step_list list = { 0 };
	struct tz_error err = { "" };
	size_t count = 0;
	int error = 0;

	(void)state;
	setenv("TMPDIR", "/nowhere", 1);
	while (error == 0 && count < 40 * STEP_LIST_CHUNK) {
		error = step_list_add(&list, random_of(count), &err);
		count += error == 0;
	}
	unsetenv("TMPDIR");
	assert_int_equal(error, -TZ_EIO);
	assert_non_null(strstr(err.text, "/nowhere"));
	step_list_free(&list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: the process has one folder for its temporary files. */
		cmocka_unit_test(no_room_for_the_file_is_an_error),
		cmocka_unit_test(each_step_is_given_back_at_any_length),
		cmocka_unit_test(readers_take_turns),
		cmocka_unit_test(what_repeats_takes_little_memory),
		cmocka_unit_test(what_is_too_much_for_memory_is_in_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
