/* Counting, joining and remembering: none of it depends on an order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/explore/trial/stats.h"
#include "harness/explore/trial/visited.h"

static struct outcome
outcome_of(uint64_t cause, enum check_id id)
{
	struct outcome outcome = { .how = OUTCOME_WHOLE };

	if (cause != 0) {
		outcome.count = 1;
		outcome.violation[0].cause = outcome.violation[0].own = cause;
		outcome.violation[0].violation.id = id;
	}
	return outcome;
}

static void
add(struct stats *stats, uint32_t area, uint32_t first, uint64_t cause,
    enum deviation_kind kind)
{
	const struct schedule schedule = { 1, { { 0, kind, first, 0 } } };
	const struct outcome none = outcome_of(0, 0),
			     one = outcome_of(cause, CHECK_PANIC);

	stats_add(
	    stats, (struct rank){ area, first, 0 }, &schedule, &one, &none);
}

static void
joining_keeps_the_least_rank(void **state)
{
	struct stats *a = calloc(3, sizeof(*a)), *b = a + 1, *joined = a + 2;

	(void)state;
	assert_non_null(a);
	add(a, 0, 9, 77, DEVIATION_PMI);
	add(a, 1, 1, 77, DEVIATION_PMI);
	add(b, 0, 4, 77, DEVIATION_PMI);
	add(b, 0, 4, 77, DEVIATION_NMI);
	add(b, 0, 2, 88, DEVIATION_PMI);
	stats_join(joined, a);
	stats_join(joined, b);
	stats_sort(joined);
	assert_int_equal(joined->group_count, 3);
	assert_int_equal(joined->group[0].cause, 88);
	assert_int_equal(joined->group[1].rank.first, 4);
	assert_int_equal(joined->group[1].failing, 3);
	assert_int_equal(joined->group[1].schedule.deviation[0].insns, 4);
	assert_int_equal(joined->group[2].kinds, 1u << DEVIATION_NMI);
	memset(joined, 0, sizeof(*joined));
	stats_join(joined, b);
	stats_join(joined, a);
	stats_sort(joined);
	assert_int_equal(joined->group_count, 3);
	assert_int_equal(joined->group[1].rank.first, 4);
	assert_int_equal(joined->group[1].failing, 3);
	free(a);
}

static void
what_the_base_shows_needs_no_deviation(void **state)
{
	struct stats *stats = calloc(1, sizeof(*stats));
	const struct schedule schedule = { 1, { { 0, DEVIATION_PMI, 5, 0 } } };
	const struct outcome base = outcome_of(77, CHECK_PANIC);
	struct outcome both = outcome_of(77, CHECK_PANIC);

	(void)state;
	both.violation[1] = both.violation[0];
	both.violation[1].cause = 78;
	both.count = 2;
	stats_add(stats, (struct rank){ 0, 1, 0 }, &schedule, &both, &base);
	assert_int_equal(stats->group_count, 1);
	assert_int_equal(stats->group[0].cause, 78);
	assert_int_equal(outcome_beyond(&both, &base), 1);
	free(stats);
}

static void
more_groups_than_room_are_told(void **state)
{
	struct stats *stats = calloc(1, sizeof(*stats));

	(void)state;
	for (uint32_t i = 0; i < STATS_GROUPS_MAX; i++)
		add(stats, 0, i, 1000 + i, DEVIATION_PMI);
	assert_false(stats->overflow);
	add(stats, 0, 0, 999999, DEVIATION_PMI);
	assert_true(stats->overflow);
	assert_int_equal(stats->group_count, STATS_GROUPS_MAX);
	free(stats);
}

static void
faults_are_counted_by_what_became_of_them(void **state)
{
	static struct outcome none, lost, crash, told, unknown;
	struct stats_area area = { .done = 0 };

	(void)state;
	lost = outcome_of(5, CHECK_OVERWRITTEN_UNREPORTED);
	crash = outcome_of(6, CHECK_PAGE_FAULT);
	unknown = outcome_of(7, CHECK_UNMODELLED);
	told = none;
	told.reports = 1;
	stats_count_fault(&area, &none, &none);
	stats_count_fault(&area, &lost, &none);
	stats_count_fault(&area, &crash, &none);
	stats_count_fault(&area, &told, &none);
	stats_count_fault(&area, &lost, &lost);
	/* What could not be judged is none of these. */
	stats_count_fault(&area, &unknown, &none);
	assert_int_equal(area.tolerated, 2);
	assert_int_equal(area.silent, 1);
	assert_int_equal(area.broken, 1);
	assert_int_equal(area.detected, 1);
}

/* A run is passed, failed or not judged, and says which rows were not. */
static void
each_run_has_one_verdict(void **state)
{
	static struct outcome none, fails, unknown;
	struct stats *stats = calloc(1, sizeof(*stats));

	(void)state;
	assert_non_null(stats);
	fails = outcome_of(5, CHECK_LEAK);
	unknown = outcome_of(7, CHECK_UNMODELLED);
	unknown.unjudged[REASON_ENDED] = CHECK_BIT(CHECK_LEAK);
	stats_count(stats, 3, &none, &none);
	stats_count(stats, 3, &fails, &none);
	stats_count(stats, 3, &fails, &fails);
	stats_count(stats, 3, &unknown, &none);
	assert_int_equal(stats->area[3].failing, 1);
	assert_int_equal(stats->area[3].unjudged, 1);
	assert_int_equal(stats->unjudged[REASON_ENDED][CHECK_LEAK], 1);
	assert_int_equal(stats->area[3].base_fails, 0);
	stats_count(stats, 3, &fails, NULL);
	stats_count(stats, 3, &unknown, NULL);
	assert_int_equal(stats->area[3].base_fails, 1);
	assert_int_equal(stats->area[3].base_unjudged, 1);
	assert_int_equal(stats->area[3].failing, 1);
	free(stats);
}

/* What a part of the boundaries has met, the next one does not know. */
static void
states_are_forgotten_but_for_the_kept_ones(void **state)
{
	struct visited *visited = visited_create(10000);
	static struct outcome one, two;

	(void)state;
	one = outcome_of(5, CHECK_PANIC);
	two = outcome_of(6, CHECK_PANIC);
	assert_null(visited_meet(visited, 1));
	assert_true(visited_end(visited, &one));
	assert_true(visited_keep(visited));
	for (unsigned part = 0; part < 3; part++) {
		visited_know(visited, 2);
		for (uint64_t i = 10; i < 3000; i++) {
			assert_null(visited_meet(visited, i << 20));
			assert_true(visited_end(visited, &two));
		}
		assert_int_equal(
		    visited_meet(visited, 1)->violation[0].cause, 5);
		assert_int_equal(
		    visited_meet(visited, 2)->violation[0].cause, 5);
		assert_int_equal(visited_meet(visited, UINT64_C(10) << 20)
				     ->violation[0]
				     .cause,
		    6);
		visited_forget(visited);
	}
	visited_destroy(visited);
}

static void
states_are_met_again(void **state)
{
	struct visited *visited = visited_create(1000);
	const struct outcome one = outcome_of(5, CHECK_PANIC),
			     two = outcome_of(6, CHECK_PANIC);
	const struct outcome *met;

	(void)state;
	assert_null(visited_meet(visited, 10));
	assert_null(
	    visited_meet(visited, 74)); /* the same place in the table */
	/* A state that the current run itself has been in is not known yet. */
	assert_null(visited_meet(visited, 10));
	assert_true(visited_end(visited, &one));
	met = visited_meet(visited, 74);
	assert_non_null(met);
	assert_int_equal(met->violation[0].cause, 5);
	assert_null(visited_meet(visited, 11));
	assert_true(visited_end(visited, &two));
	assert_int_equal(visited_meet(visited, 11)->violation[0].cause, 6);
	assert_int_equal(visited_meet(visited, 10)->violation[0].cause, 5);
	visited_destroy(visited);
}

static void
a_table_grows_and_knows_more_of_the_first_run(void **state)
{
	struct visited *visited = visited_create(10000);
	const struct outcome one = outcome_of(5, CHECK_PANIC),
			     two = outcome_of(6, CHECK_PANIC),
			     none = { .count = 0 };

	(void)state;
	visited_know(visited, 3); /* there is no first run yet */
	assert_null(visited_meet(visited, 1));
	assert_true(visited_end(visited, &one));
	visited_know(visited, 2);
	for (uint64_t i = 10; i < 5000; i++) {
		assert_null(visited_meet(visited, i << 20));
		assert_true(visited_end(visited, i % 2 == 0 ? &two : &none));
	}
	visited_know(visited, UINT64_C(10) << 20);
	assert_null(visited_meet(visited, 3));
	assert_int_equal(visited_meet(visited, 1)->violation[0].cause, 5);
	assert_int_equal(visited_meet(visited, 2)->violation[0].cause, 5);
	for (uint64_t i = 10; i < 5000; i++)
		assert_int_equal(
		    visited_meet(visited, i << 20)->count, i % 2 == 0);
	assert_int_equal(
	    visited_meet(visited, UINT64_C(10) << 20)->violation[0].cause, 6);
	visited_destroy(visited);
}

static void
a_full_table_forgets_nothing(void **state)
{
	struct visited *visited = visited_create(4);
	const struct outcome one = outcome_of(5, CHECK_PANIC);

	(void)state;
	for (uint64_t i = 1; i <= 9; i++)
		assert_null(visited_meet(visited, i * 1000));
	assert_true(visited_end(visited, &one));
	for (uint64_t i = 1; i <= 4; i++)
		assert_non_null(visited_meet(visited, i * 1000));
	for (uint64_t i = 5; i <= 9; i++)
		assert_null(visited_meet(visited, i * 1000));
	visited_destroy(visited);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joining_keeps_the_least_rank),
		cmocka_unit_test(what_the_base_shows_needs_no_deviation),
		cmocka_unit_test(more_groups_than_room_are_told),
		cmocka_unit_test(faults_are_counted_by_what_became_of_them),
		cmocka_unit_test(each_run_has_one_verdict),
		cmocka_unit_test(states_are_forgotten_but_for_the_kept_ones),
		cmocka_unit_test(states_are_met_again),
		cmocka_unit_test(a_table_grows_and_knows_more_of_the_first_run),
		cmocka_unit_test(a_full_table_forgets_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
