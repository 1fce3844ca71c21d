/*
 * Goal: what a campaign finds depends on driver, options and seed alone, and every
 * token that it gives replays exactly.  Method: small campaigns of the broken
 * driver of broken.h, run in several ways and compared; the program itself for what
 * it refuses.
 */
#define _GNU_SOURCE
#include "tests/whole/broken.h"
#include "tests/whole/campaigns.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "harness/explore/describe/replay.h"
#include "harness/explore/parts/campaign_part.h"
#include "harness/explore/runner/runner_pool.h"
#include "harness/explore/search/faults.h"
#include "harness/explore/search/placements.h"
#include "harness/host/stop.h"
#include "harness/report/report.h"

#define BUDGET      600
#define RACE_BUDGET 1500 /* half of it: all placements of one switch */
#define REPLAYS     20

static const char *topaz; /* the program */
static struct build_cache *build_cache;
static struct finding_summary *found; /* by one job, seed 0 */

static void
drop(struct finding_summary *summary)
{
	report_summary_free(summary);
	free(summary);
}

static int
open_all(void **state)
{
	const struct campaign_options options = campaigns_options(BUDGET);

	(void)state;
	build_cache = broken_workshop();
	found = campaigns_run(build_cache, &options);
	return 0;
}

static int
close_all(void **state)
{
	(void)state;
	drop(found);
	build_cache_close(build_cache);
	return 0;
}

static void
the_masked_entry_is_found(void **state)
{
	bool masked = false;

	(void)state;
	for (size_t i = 0; i < found->finding_count; i++) {
		const struct finding *finding = &found->finding[i];

		print_message("%s (%s): %s\n", finding->message, finding->kinds,
		    finding->token);
		masked |= strstr(finding->message, "LVT entry masked") != NULL;
	}
	assert_true(masked);
}

/* The race needs one switch, at few places: every place of one is tried. */
static void
the_race_is_found(void **state)
{
	struct campaign_options options = campaigns_options(RACE_BUDGET);
	struct finding_summary *race;
	bool exhaustive = false, freed = false;

	(void)state;
	options.subject = BROKEN_TWO_CPUS;
	options.kinds = UINT32_C(1) << DEVIATION_SWITCH;
	race = campaigns_run(build_cache, &options);
	for (size_t i = 0; i < race->coverage_count; i++)
		exhaustive |= strcmp(race->coverage[i].how, "exhaustive") == 0;
	assert_true(exhaustive);
	for (size_t i = 0; i < race->finding_count; i++) {
		const struct finding *finding = &race->finding[i];

		freed |= strcmp(finding->kinds, "cpu") == 0 &&
		    strstr(finding->message, "use after free") != NULL;
	}
	assert_true(freed);
	drop(race);
}

static void
jobs_do_not_matter(void **state)
{
	struct campaign_options options = campaigns_options(BUDGET);
	struct finding_summary *other;

	(void)state;
	options.jobs = 3;
	other = campaigns_run(build_cache, &options);
	campaigns_assert_equal(found, other);
	assert_int_equal(found->schedules, other->schedules);
	drop(other);
}

/* Where runs merge depends on who runs them, and is not compared. */
static void
assert_same_counts(
    const struct finding_summary *a, const struct finding_summary *b)
{
	assert_int_equal(a->schedules, b->schedules);
	assert_int_equal(a->coverage_count, b->coverage_count);
	for (size_t i = 0; i < a->coverage_count; i++) {
		assert_string_equal(a->coverage[i].what, b->coverage[i].what);
		assert_int_equal(a->coverage[i].done, b->coverage[i].done);
		assert_int_equal(a->coverage[i].total, b->coverage[i].total);
		assert_int_equal(
		    a->coverage[i].failing, b->coverage[i].failing);
	}
}

/* The findings of SUMMARY as they are reported, without what a shard adds. */
static char *
json_of(struct finding_summary *summary)
{
	struct tz_error err;
	char *text = NULL, *last;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	assert_non_null(file);
	assert_int_equal(report_json(file, summary, &err), 0);
	fclose(file);
	/* The last line is the summary, with how runs were merged. */
	last = memrchr(text, '\n', bytes - 1);
	if (last != NULL)
		last[1] = '\0';
	return text;
}

/* OPTIONS, in SHARDS of which the last is the first to be joined. */
static struct finding_summary *
run_shards(struct campaign_options options, unsigned shards)
{
	struct finding_summary *all = NULL, *other;
	struct tz_error err = { "" };

	options.shards = shards;
	for (options.shard = shards; options.shard != 0; options.shard--) {
		other = campaigns_run(build_cache, &options);
		if (all == NULL) {
			all = other;
			continue;
		}
		if (report_merge(all, other, &err) != 0)
			fail_msg("%s", err.text);
		drop(other);
	}
	return all;
}

static void
shards_together_find_the_same(void **state)
{
	struct campaign_options options = campaigns_options(BUDGET);
	struct finding_summary *one, *all;
	char *expected, *got;

	(void)state;
	options.kinds |= UINT32_C(1) << DEVIATION_PMI;
	options.budget = BUDGET / 3;
	one = campaigns_run(build_cache, &options);
	all = run_shards(options, 3);
	expected = json_of(one);
	got = json_of(all);
	assert_string_equal(expected, got);
	assert_same_counts(one, all);
	free(expected);
	free(got);
	drop(all);
	drop(one);
}

/* Shards run on machines with different numbers of CPUs. */
static void
each_schedule_is_in_one_share(void **state)
{
	struct campaign campaign = { .options.shards = 3 };
	unsigned taken[60] = { 0 };

	(void)state;
	for (unsigned shard = 1; shard <= 3; shard++) {
		campaign.options.shard = shard;
		campaign.parts.workers = shard + 1;
		for (unsigned worker = 0; worker <= shard; worker++) {
			unsigned share, shares;

			campaign_part_share(&campaign, worker, &share, &shares);
			for (unsigned i = share; i < TZ_ARRAY_LEN(taken);
			     i += shares)
				taken[i]++;
		}
	}
	for (unsigned i = 0; i < TZ_ARRAY_LEN(taken); i++)
		assert_int_equal(taken[i], 1);
}

static void
a_second_time_is_the_same(void **state)
{
	struct campaign_options options = campaigns_options(BUDGET);
	struct build_cache *again = broken_workshop();
	struct finding_summary *one, *other;

	(void)state;
	options.subject = BROKEN_TWO_CPUS;
	options.kinds |= UINT32_C(1) << DEVIATION_PMI;
	one = campaigns_run(build_cache, &options);
	other = campaigns_run(again, &options);
	assert_true(one->finding_count != 0);
	campaigns_assert_equal(one, other);
	for (size_t i = 0; i < one->finding_count; i++) {
		assert_string_equal(
		    one->finding[i].token, other->finding[i].token);
		assert_int_equal(
		    one->finding[i].state_hash, other->finding[i].state_hash);
	}
	drop(one);
	drop(other);
	build_cache_close(again);
}

/* The finding of SUMMARY with CAUSE whose deviations are as SCHEDULE says. */
static bool
has_schedule(const struct finding_summary *summary, uint64_t cause,
    const struct schedule *schedule)
{
	struct token token;
	struct tz_error err;

	for (size_t i = 0; i < summary->finding_count; i++) {
		if (summary->finding[i].cause == cause &&
		    token_parse(summary->finding[i].token, &token, &err) == 0 &&
		    token.schedule.count == schedule->count &&
		    token.schedule.deviation[0].insns ==
			schedule->deviation[0].insns)
			return true;
	}
	return false;
}

static void
another_seed_draws_other_schedules(void **state)
{
	struct campaign_options options = campaigns_options(BUDGET);
	struct finding_summary *one, *other;
	struct token token;
	struct tz_error err;
	size_t same = 0;

	(void)state;
	options.subject = BROKEN_TWO_CPUS;
	options.kinds |= UINT32_C(1) << DEVIATION_PMI;
	one = campaigns_run(build_cache, &options);
	options.seed = 77;
	other = campaigns_run(build_cache, &options);
	for (size_t i = 0; i < one->finding_count; i++) {
		assert_int_equal(
		    token_parse(one->finding[i].token, &token, &err), 0);
		same += has_schedule(
		    other, one->finding[i].cause, &token.schedule);
	}
	assert_true(same < one->finding_count);
	drop(one);
	drop(other);
}

/* TOKEN as often as REPLAYS on runners of OF. */
static void
replay_often(struct build_cache *of, const struct finding *finding)
{
	struct runner_pool *runner_pool = runner_pool_create(of);
	struct replayed *replayed = calloc(1, sizeof(*replayed));
	uint64_t events = 0;
	struct runner *runner;
	struct token token;
	struct tz_error err = { "" };
	uint16_t check;

	assert_non_null(runner_pool);
	assert_non_null(replayed);
	assert_int_equal(token_parse(finding->token, &token, &err), 0);
	assert_int_equal(build_cache_check(of, &check, &err), 0);
	assert_int_equal(token.check, check);
	for (unsigned i = 0; i < REPLAYS; i++) {
		const struct check_violation *violation = NULL;

		if (replay_token(runner_pool, build_cache_manifest(of), &token,
			NULL, STEPPING_NONE, replayed, &runner, &err) != 0)
			fail_msg("%s", err.text);
		for (unsigned j = 0; j < replayed->outcome.count; j++) {
			if (replayed->outcome.violation[j].own == finding->own)
				violation =
				    &replayed->outcome.violation[j].violation;
		}
		if (violation == NULL) {
			fail_msg("%s passes", finding->token);
			return;
		}
		assert_int_equal(violation->id, finding->check);
		assert_int_equal(violation->event, finding->event);
		assert_int_equal(replayed->state_hash, finding->state_hash);
		if (violation == &replayed->outcome.violation[0].violation)
			assert_string_equal(
			    replayed->where.function, finding->place.function);
		assert_true(replayed->events >= violation->event);
		if (i == 0)
			events = replayed->events;
		assert_int_equal(replayed->events, events);
	}
	free(replayed);
	runner_pool_destroy(runner_pool);
}

static void
every_token_replays_each_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < found->finding_count; i++)
		replay_often(build_cache, &found->finding[i]);
}

static void
tokens_replay_with_objects_that_were_kept(void **state)
{
	struct build_cache_config config = *build_cache_config(build_cache);
	struct build_cache *kept;
	struct tz_error err = { "" };

	(void)state;
	assert_int_equal(
	    build_cache_keep(build_cache, broken_folder(), &err), 0);
	config.objects = broken_folder();
	config.cc = "/nonexistent/cc";
	if (build_cache_open(&config, &kept, &err) != 0)
		fail_msg("%s", err.text);
	replay_often(kept, &found->finding[0]);
	build_cache_close(kept);
}

/* The exit code of `topaz replay TOKEN`; what it says in SAID. */
static int
run_replay(const char *token, char *said, size_t said_size)
{
	char command[2048];
	size_t count;
	FILE *pipe;

	snprintf(command, sizeof(command),
	    "'%s' replay --drivers '%s' '%s' 2>&1", topaz, broken_folder(),
	    token);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	count = fread(said, 1, said_size - 1, pipe);
	said[count] = '\0';
	return WEXITSTATUS(pclose(pipe));
}

static void
the_program_replays_and_refuses(void **state)
{
	const char *good = found->finding[0].token;
	char said[4096], token[FINDING_TOKEN_BYTES];
	char *check;

	(void)state;
	if (run_replay(good, said, sizeof(said)) != 1)
		fail_msg("%s: %s", good, said);
	assert_non_null(
	    strstr(said, check_info(found->finding[0].check)->name));
	snprintf(token, sizeof(token), "%s", good);
	check = token + strlen(token) - 4;
	check[0] = check[0] == '0' ? '1' : '0';
	assert_int_equal(run_replay(token, said, sizeof(said)), 4);
	assert_non_null(strstr(said, "insntrace"));
	assert_non_null(strstr(said, check));
	assert_int_equal(
	    run_replay("tz1:nobody:skylake:0::0000", said, sizeof(said)), 2);
	assert_non_null(strstr(said, "nobody"));
	assert_int_equal(run_replay("tz1:broken", said, sizeof(said)), 2);
	snprintf(token, sizeof(token), "tz1:insntrace=jump:skylake:0::%s",
	    good + strlen(good) - 4);
	assert_int_equal(run_replay(token, said, sizeof(said)), 2);
	assert_non_null(strstr(said, "jump"));
}

static void
open_campaign(struct campaign *campaign, const struct campaign_options *options)
{
	struct tz_error err = { "" };

	if (campaign_run(campaign, build_cache, options, &err) != 0)
		fail_msg("%s", err.text);
}

static const struct stats_group *
find_group(const struct campaign *campaign, enum check_id id)
{
	for (uint32_t i = 0; i < campaign->stats->group_count; i++) {
		if (campaign->stats->group[i].violation.id == id)
			return &campaign->stats->group[i];
	}
	fail_msg("no %s", check_info(id)->name);
	return NULL;
}

/* A full buffer's PMI is the first of two: what is between and after is needless. */
static void
the_fewest_operations_are_left(void **state)
{
	struct campaign_options options = campaigns_options(20);
	struct campaign campaign;
	static struct finding finding;

	(void)state;
	options.subject = "insntrace=load+open+getalloc+init+command+allocbuf"
			  "+getconfig+start+yield+work.2+stop+getstate+sleep";
	open_campaign(&campaign, &options);
	campaigns_describe(
	    &campaign, find_group(&campaign, CHECK_PMI_LOST), &finding, NULL);
	assert_string_equal(finding.steps, "open+init+allocbuf+start+work.2");
	assert_int_equal(finding.class, FINDING_BASE);
	assert_string_equal(finding.kinds, "");
	campaign_close(&campaign);
}

static void
a_needless_deviation_is_dropped(void **state)
{
	struct campaign_options options = campaigns_options(200);
	const struct stats_group *lost;
	struct campaign campaign;
	struct stats_group group;
	static struct finding finding;
	struct token token;
	struct tz_error err = { "" };

	(void)state;
	options.subject = BROKEN_ONE_CPU;
	options.kinds |= UINT32_C(1) << DEVIATION_PMI;
	open_campaign(&campaign, &options);
	lost = find_group(&campaign, CHECK_PMI_LOST);
	if (lost == NULL) {
		fail_msg("no PMI was lost");
		return;
	}
	group = *lost;
	assert_int_equal(group.schedule.count, 1);
	group.schedule.count = 2;
	group.schedule.deviation[1] = group.schedule.deviation[0];
	group.schedule.deviation[0].kind = DEVIATION_HOLD;
	group.schedule.deviation[0].insns--;
	group.schedule.deviation[0].param = 10;
	group.kinds |= UINT32_C(1) << DEVIATION_HOLD;
	campaigns_describe(&campaign, &group, &finding, NULL);
	assert_string_equal(finding.kinds, "pmi");
	assert_int_equal(token_parse(finding.token, &token, &err), 0);
	assert_int_equal(token.schedule.count, 1);
	assert_int_equal(token.schedule.deviation[0].kind, DEVIATION_PMI);
	assert_int_equal(token.schedule.deviation[0].insns,
	    group.schedule.deviation[1].insns);
	assert_true(finding.passing[0] != '\0');
	assert_in_range(finding.window_failing, 1, finding.window_count - 1);
	campaign_close(&campaign);
}

/* What becomes of a fault is one of four things, at each point that it has. */
static void
faults_are_counted_by_point(void **state)
{
	struct campaign_options options = campaigns_options(4000);
	struct fault_result result;
	struct campaign campaign;
	struct fault_row row;
	uint64_t points = 0;
	size_t index = 0;

	(void)state;
	options.subject = BROKEN_ONE_CPU;
	options.faults = true;
	options.kinds_named = true;
	options.kinds = UINT32_C(1) << DEVIATION_LVT;
	open_campaign(&campaign, &options);
	while (fault_at(index, &row) && row.deviation != DEVIATION_LVT)
		index++;
	faults_result(&campaign, index, &result);
	for (size_t i = 0; i < campaign.area_count; i++) {
		const struct stats_area *area = &campaign.stats->area[i];

		points += area->done - area->impossible - area->unjudged;
	}
	assert_string_equal(result.name, "lvt");
	assert_true(result.points > 10);
	assert_int_equal(result.points, points);
	assert_int_equal(result.points,
	    result.detected + result.tolerated + result.silent + result.broken +
		result.framework);
	campaign_close(&campaign);
}

/* Each effort has its part for pairs, however many of them merge at once. */
static void
pairs_are_about_as_many_as_wanted(void **state)
{
	struct campaign_options options = campaigns_options(0);
	uint64_t wanted = effort_info(EFFORT_QUICK)->parts.pairs;
	struct campaign campaign;
	uint64_t pairs = 0;

	(void)state;
	options.sequences = false;
	options.effort = EFFORT_QUICK;
	open_campaign(&campaign, &options);
	for (size_t i = 0; i < campaign.area_count; i++) {
		if (campaign.area[i].kind == AREA_TWO)
			pairs += campaign.stats->area[i].done;
	}
	print_message(
	    "%lu pairs of %lu\n", (unsigned long)pairs, (unsigned long)wanted);
	assert_in_range(pairs, wanted / 4, wanted * 4);
	campaign_close(&campaign);
}

/* The fraction of the schedules that INSNS instructions are enough for. */
static double
fraction(struct campaign *campaign, uint64_t insns)
{
	struct tz_error err = { "" };

	assert_int_equal(placements_bound(campaign, 1, insns, &err), 0);
	return (double)campaign->area[0].keep / (double)TRIAL_KEEP_ALL;
}

/* An effort that is too small for all schedules with one deviation samples them. */
static void
an_effort_bounds_the_instructions(void **state)
{
	struct campaign_options options = campaigns_options(20);
	struct campaign campaign;
	double some[2], half;

	(void)state;
	options.subject = BROKEN_ONE_CPU;
	for (unsigned i = 0; i < 2; i++) {
		options.jobs = 1 + 2 * i;
		open_campaign(&campaign, &options);
		assert_true(fraction(&campaign, UINT64_MAX / 2) == 1);
		some[i] = fraction(&campaign, 2000000);
		half = fraction(&campaign, 1000000);
		assert_true(some[i] > 0 && some[i] < 1);
		assert_in_range(
		    (int64_t)(1e6 * some[i] / half), 1990000, 2010000);
		campaign_close(&campaign);
	}
	assert_true(some[0] == some[1]);
	for (unsigned i = 1; i < EFFORT_COUNT; i++)
		assert_true(effort_info((enum effort)i)->parts.insns >
		    effort_info((enum effort)(i - 1))->parts.insns);
}

static void
interrupt_once_something_is_found(void *arg, const char *what, uint64_t done,
    uint64_t total, uint64_t findings)
{
	(void)arg;
	(void)what;
	if (findings != 0 && done < total)
		stop_request();
}

static void
an_interrupt_keeps_what_was_found(void **state)
{
	struct campaign_options options = campaigns_options(0);
	struct campaign campaign;

	(void)state;
	options.subject = BROKEN_ONE_CPU;
	options.kinds |= UINT32_C(1) << DEVIATION_PMI;
	options.merge = false;
	options.progress = interrupt_once_something_is_found;
	open_campaign(&campaign, &options);
	assert_true(campaign.parts.interrupted);
	assert_true(campaign.stats->group_count != 0);
	assert_in_range(
	    campaign.stats->area[0].done, 1, campaign.area[0].total - 1);
	for (size_t i = 1; i < campaign.area_count; i++)
		assert_int_equal(campaign.stats->area[i].done, 0);
	campaign_close(&campaign);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_masked_entry_is_found),
		cmocka_unit_test(the_race_is_found),
		cmocka_unit_test(jobs_do_not_matter),
		cmocka_unit_test(shards_together_find_the_same),
		cmocka_unit_test(each_schedule_is_in_one_share),
		cmocka_unit_test(a_second_time_is_the_same),
		cmocka_unit_test(another_seed_draws_other_schedules),
		cmocka_unit_test(every_token_replays_each_time),
		cmocka_unit_test(tokens_replay_with_objects_that_were_kept),
		cmocka_unit_test(the_program_replays_and_refuses),
		cmocka_unit_test(the_fewest_operations_are_left),
		cmocka_unit_test(a_needless_deviation_is_dropped),
		cmocka_unit_test(faults_are_counted_by_point),
		cmocka_unit_test(pairs_are_about_as_many_as_wanted),
		cmocka_unit_test(an_effort_bounds_the_instructions),
		cmocka_unit_test(an_interrupt_keeps_what_was_found),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: campaign_test TOPAZ\n");
		return 2;
	}
	topaz = argv[1];
	broken_init();
	return cmocka_run_group_tests(tests, open_all, close_all);
}
