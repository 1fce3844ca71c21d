/*
 * Goal: what an exploration finds depends neither on merging and reduction nor on
 * jobs, shards and when it runs.  Method: the broken driver of broken.h, explored
 * in all these ways; each must give the same.
 */
#include "tests/whole/broken.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/explore/describe.h"
#include "harness/explore/setups.h"
#include "harness/report/report.h"

#define KINDS \
 (UINT32_C(1) << ACT_PMI | UINT32_C(1) << ACT_NMI | UINT32_C(1) << ACT_SWITCH)
#define SMALL_BUDGET 400
#define WARM_RUNS    3000
#define MANY_RUNS    100000
#define LEAK_BYTES   (4u << 20)

static struct workshop *workshop;
static struct setups *setups;

static int
open_all(void **state)
{
	(void)state;
	workshop = broken_workshop();
	setups = setups_create(workshop);
	return setups == NULL ? -1 : 0;
}

static int
close_all(void **state)
{
	(void)state;
	setups_destroy(setups);
	workshop_close(workshop);
	return 0;
}

/* The scenario or sequence SUBJECT, ready for placements. */
static void
open_trial(struct trial *trial, const char *subject,
    const struct trial_options *options)
{
	struct campaign_entry entry;
	struct runner *runner;
	struct token token;
	struct tz_error err = { "" };

	if (token_parse_subject(subject, &token, &err) != 0 ||
	    campaign_entry_read(
		workshop_manifest(workshop), &token, &entry, &err) != 0 ||
	    setups_get(setups, entry.cpus, entry.layout, entry.settings,
		&runner, &err) != 0 ||
	    trial_open(trial, runner, &entry.sequence, options, &err) != 0)
		fail_msg("%s: %s", subject, err.text);
}

static const struct trial_share everything = { .workers = 1,
	.keep = TRIAL_KEEP_ALL };

/* Does GROUP need more kinds of deviation than another of its cause? */
static bool
is_larger(const struct tally *tally, const struct tally_group *group)
{
	for (uint32_t i = 0; i < tally->group_count; i++) {
		const struct tally_group *other = &tally->group[i];

		if (other->cause == group->cause &&
		    other->kinds != group->kinds &&
		    (other->kinds & ~group->kinds) == 0)
			return true;
	}
	return false;
}

static bool
has_group(const struct tally *tally, const struct tally_group *group)
{
	for (uint32_t i = 0; i < tally->group_count; i++) {
		if (tally->group[i].cause == group->cause &&
		    tally->group[i].kinds == group->kinds)
			return true;
	}
	return false;
}

/* Every group of A that needs no more kinds than another is in B. */
static void
assert_groups_in(const struct tally *a, const struct tally *b, const char *how)
{
	for (uint32_t i = 0; i < a->group_count; i++) {
		const struct tally_group *group = &a->group[i];

		if (!is_larger(a, group) && !has_group(b, group))
			fail_msg("%s: kinds %#x: %s", how, group->kinds,
			    group->violation.text);
	}
}

/* SUBJECT in one way, at depth 1 or at 1 and 2. */
static struct tally *
explore(const char *subject, bool merge, bool reduce, unsigned depth)
{
	const struct trial_options options = { .kinds = KINDS,
		.kinds2 = UINT32_C(1) << ACT_PMI | UINT32_C(1) << ACT_SWITCH,
		.merge = merge,
		.reduce = reduce };
	struct tally *tally = calloc(1, sizeof(*tally));
	struct trial trial;

	assert_non_null(tally);
	open_trial(&trial, subject, &options);
	assert_int_equal(trial.base.count, 0);
	trial_one(&trial, &everything, tally, 0);
	assert_int_equal(tally->area[0].done, trial_count(&trial));
	if (depth == 2)
		trial_two(&trial, &everything, tally, 1);
	for (uint32_t g=0;g<tally->group_count;g++) print_message("%x %s\n", tally->group[g].kinds, tally->group[g].violation.text);
	print_message("%s, merge %d, reduce %d: %u groups of %lu and %lu "
		      "schedules, %lu merged\n",
	    subject, merge, reduce, tally->group_count,
	    (unsigned long)tally->area[0].done,
	    (unsigned long)tally->area[1].done,
	    (unsigned long)(tally->area[0].merged + tally->area[1].merged));
	trial_close(&trial);
	return tally;
}

static void
check_ways(const char *subject, uint32_t groups_min)
{
	struct tally *plain = explore(subject, false, false, 1);

	assert_true(plain->group_count >= groups_min);
	for (unsigned way = 1; way < 4; way++) {
		struct tally *other = explore(
		    subject, (way & 1) != 0, (way & 2) != 0, 1);

		assert_groups_in(plain, other, "missing");
		assert_groups_in(other, plain, "new");
		assert_int_equal(other->area[0].merged != 0, (way & 1) != 0);
		if (way == 1)
			assert_int_equal(
			    other->area[0].failing, plain->area[0].failing);
		free(other);
	}
	free(plain);
}

static void
one_cpu_shows_the_same_in_all_ways(void **state)
{
	(void)state;
	check_ways(BROKEN_ONE_CPU, 3);
}

static void
two_cpus_show_the_same_in_all_ways(void **state)
{
	(void)state;
	check_ways(BROKEN_TWO_CPUS, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_cpu_shows_the_same_in_all_ways),
		cmocka_unit_test(two_cpus_show_the_same_in_all_ways),
	};

	broken_init();
	return cmocka_run_group_tests(tests, open_all, close_all);
}
