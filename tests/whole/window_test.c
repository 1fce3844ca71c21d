/*
 * Goal: a finding's window has the outcome of every boundary at which its last
 * deviation is possible.  Method: the broken driver of broken.h; the window's ticks,
 * which marks and merging make cheap, against whole runs of their tokens.
 */
#include "tests/whole/broken.h"
#include "tests/whole/campaigns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/explore/describe/replay.h"
#include "harness/explore/runner/runner_pool.h"

#define TICK_STEP 5 /* of the passing ticks, each so-manieth is run */

static struct build_cache *build_cache;

/* Does what TICK's token shows agree with its outcome? */
static void
assert_tick(struct runner_pool *runner_pool, const struct finding_tick *tick,
    uint64_t cause, struct replayed *replayed)
{
	struct runner *runner;
	struct token token;
	struct tz_error err = { "" };
	bool whole;

	assert_int_equal(token_parse(tick->token, &token, &err), 0);
	if (replay_token(runner_pool, build_cache_manifest(build_cache), &token,
		NULL, STEPPING_NONE, replayed, &runner, &err) != 0)
		fail_msg("%s", err.text);
	whole = replayed->outcome.how == OUTCOME_WHOLE;
	assert_int_equal(tick->outcome != TICK_NONE, whole);
	assert_int_equal(tick->outcome == TICK_FAIL,
	    whole && outcome_has(&replayed->outcome, cause));
}

static const struct stats_group *
find_pmi_lost(const struct campaign *campaign)
{
	uint32_t i = 0;

	while (i < campaign->stats->group_count &&
	    campaign->stats->group[i].violation.id != CHECK_PMI_LOST)
		i++;
	assert_true(i < campaign->stats->group_count);
	return &campaign->stats->group[i];
}

/* Ticks that were judged with marks and merging are what whole runs show. */
static void
every_boundary_of_a_window_is_judged(void **state)
{
	struct campaign_options options = campaigns_options(400);
	struct failure_window *kept = calloc(1, sizeof(*kept));
	struct replayed *replayed = calloc(1, sizeof(*replayed));
	struct runner_pool *runner_pool = runner_pool_create(build_cache);
	struct finding_timeline timeline = { .cpu_count = 0 }, again = timeline;
	size_t counts[4] = { 0 };
	struct campaign campaign;
	static struct finding finding;
	struct tz_error err = { "" };

	(void)state;
	assert_true(kept != NULL && replayed != NULL && runner_pool != NULL);
	options.subject = BROKEN_ONE_CPU;
	options.kinds |= UINT32_C(1) << DEVIATION_PMI;
	if (campaign_run(&campaign, build_cache, &options, &err) != 0)
		fail_msg("%s", err.text);
	campaigns_describe(&campaign, find_pmi_lost(&campaign), &finding, kept);
	if (failure_window_ticks(&campaign, &finding, kept, &timeline, &err) !=
		0 ||
	    failure_window_ticks(&campaign, &finding, NULL, &again, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(kept->count, timeline.tick_count);
	assert_int_equal(again.tick_count, timeline.tick_count);
	for (size_t i = 0; i < timeline.tick_count; i++) {
		const struct finding_tick *tick = &timeline.tick[i];

		assert_int_equal(tick->outcome, again.tick[i].outcome);
		counts[tick->outcome]++;
		if (tick->token[0] == '\0')
			assert_int_equal(tick->outcome, TICK_NONE);
		else if (i % TICK_STEP == 0 || tick->outcome == TICK_FAIL)
			assert_tick(runner_pool, tick, finding.own, replayed);
	}
	print_message("%zu pass, %zu fail, %zu merged, %zu not\n", counts[0],
	    counts[1], counts[2], counts[3]);
	assert_int_equal(finding.window_failing, counts[TICK_FAIL]);
	assert_int_equal(
	    finding.window_count, timeline.tick_count - counts[TICK_NONE]);
	assert_true(counts[TICK_MERGED] != 0);
	finding_timeline_free(&timeline);
	finding_timeline_free(&again);
	runner_pool_destroy(runner_pool);
	campaign_close(&campaign);
	free(replayed);
	free(kept);
}

/* SCHEDULE's PMI to where no boundary is, tracing is on and it shows CAUSE, too. */
static void
move_between(struct trial *trial, uint64_t cause, struct schedule *schedule)
{
	const struct boundary_list *list = &trial->list;
	struct outcome *outcome = calloc(1, sizeof(*outcome));
	bool found = false;

	assert_non_null(outcome);
	assert_int_equal(schedule->count, 1);
	assert_int_equal(schedule->deviation[0].kind, DEVIATION_PMI);
	for (size_t i = 0; i + 1 < list->count && !found; i++) {
		if (!(list->at[i].flags & BOUNDARY_TRIGGER) ||
		    list->at[i + 1].insns <= list->at[i].insns + 1)
			continue;
		schedule->deviation[0].insns = list->at[i].insns + 1;
		trial_run(trial, schedule, outcome);
		found = outcome->how == OUTCOME_WHOLE &&
		    outcome_has(outcome, cause);
	}
	assert_true(found);
	free(outcome);
}

/* Random schedules and older tokens have such. */
static void
a_place_between_the_boundaries_is_in_its_window(void **state)
{
	struct campaign_options options = campaigns_options(200);
	const struct trial_options once = { .merge = false };
	struct finding_timeline timeline = { .cpu_count = 0 };
	struct stats_group group;
	struct campaign campaign;
	static struct finding finding;
	struct runner *runner;
	struct trial trial;
	struct tz_error err = { "" };
	size_t own = 0;
	uint64_t place;

	(void)state;
	options.subject = BROKEN_ONE_CPU;
	options.kinds = UINT32_C(1) << DEVIATION_PMI;
	if (campaign_run(&campaign, build_cache, &options, &err) != 0)
		fail_msg("%s", err.text);
	group = *find_pmi_lost(&campaign);
	if (campaign_entry_runner(
		&campaign, &campaign.entries.at[0], &runner, &err) != 0 ||
	    trial_open(&trial, runner, &campaign.entries.at[0].sequence, &once,
		&err) != 0)
		fail_msg("%s", err.text);
	move_between(&trial, group.cause, &group.schedule);
	place = group.schedule.deviation[0].insns;
	trial_close(&trial);
	campaigns_describe(&campaign, &group, &finding, NULL);
	if (failure_window_ticks(&campaign, &finding, NULL, &timeline, &err) !=
	    0)
		fail_msg("%s", err.text);
	assert_true(finding.window_failing > 0);
	assert_true(finding.window_count > finding.window_failing);
	assert_true(finding.passing[0] != '\0');
	while (own < timeline.tick_count &&
	    (timeline.tick[own].cpu != group.schedule.deviation[0].cpu ||
		timeline.tick[own].insns != place))
		own++;
	assert_true(own < timeline.tick_count);
	assert_int_equal(timeline.tick[own].outcome, TICK_FAIL);
	assert_string_equal(timeline.tick[own].token, finding.token);
	/* In its place: after what this CPU did before. */
	while (own-- != 0 &&
	    timeline.tick[own].cpu != group.schedule.deviation[0].cpu)
		continue;
	assert_true(own != SIZE_MAX && timeline.tick[own].insns == place - 1);
	finding_timeline_free(&timeline);
	campaign_close(&campaign);
}

/* The user has interrupted: what was found is given as it was found. */
static void
a_hurry_leaves_the_window_out(void **state)
{
	struct campaign_options options = campaigns_options(200);
	struct failure_window *kept = calloc(1, sizeof(*kept));
	struct finding_timeline timeline = { .cpu_count = 0 };
	const volatile bool hurry = true;
	struct campaign campaign;
	struct stats_group group;
	static struct finding finding;
	struct token token;
	struct tz_error err = { "" };

	(void)state;
	assert_non_null(kept);
	options.subject = BROKEN_ONE_CPU;
	options.kinds = UINT32_C(1) << DEVIATION_PMI;
	if (campaign_run(&campaign, build_cache, &options, &err) != 0)
		fail_msg("%s", err.text);
	group = *find_pmi_lost(&campaign);
	assert_int_equal(group.schedule.count, 1);
	group.schedule.count = 2;
	group.schedule.deviation[1] = group.schedule.deviation[0];
	group.schedule.deviation[0].kind = DEVIATION_HOLD;
	group.schedule.deviation[0].insns--;
	group.schedule.deviation[0].param = 10;
	campaign.hurry = &hurry;
	campaigns_describe(&campaign, &group, &finding, kept);
	if (failure_window_ticks(&campaign, &finding, kept, &timeline, &err) !=
		0 ||
	    token_parse(finding.token, &token, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(token.schedule.count, 2);
	assert_int_equal(finding.check, CHECK_PMI_LOST);
	assert_int_equal(finding.window_count, 0);
	assert_int_equal(kept->count, 0);
	assert_int_equal(timeline.tick_count, 0);
	campaign_close(&campaign);
	free(kept);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_boundary_of_a_window_is_judged),
		cmocka_unit_test(
		    a_place_between_the_boundaries_is_in_its_window),
		cmocka_unit_test(a_hurry_leaves_the_window_out),
	};
	int failed;

	broken_init();
	build_cache = broken_workshop();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	build_cache_close(build_cache);
	return failed;
}
