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

#include "harness/explore/describe.h"
#include "harness/explore/setups.h"

#define TICK_STEP 5 /* of the passing ticks, each so-manieth is run */

static struct workshop *workshop;

/* Does what TICK's token shows agree with its outcome? */
static void
assert_tick(struct setups *setups, const struct finding_tick *tick,
    uint64_t cause, struct replayed *replayed)
{
	struct runner *runner;
	struct token token;
	struct tz_error err = { "" };
	bool whole;

	assert_int_equal(token_parse(tick->token, &token, &err), 0);
	if (describe_replay(setups, workshop_manifest(workshop), &token, NULL,
		STEPPING_NONE, replayed, &runner, &err) != 0)
		fail_msg("%s", err.text);
	whole = replayed->outcome.how == OUTCOME_WHOLE;
	assert_int_equal(tick->outcome != TICK_NONE, whole);
	assert_int_equal(tick->outcome == TICK_FAIL,
	    whole && outcome_has(&replayed->outcome, cause));
}

static const struct tally_group *
find_pmi_lost(const struct campaign *campaign)
{
	uint32_t i = 0;

	while (i < campaign->tally->group_count &&
	    campaign->tally->group[i].violation.id != CHECK_PMI_LOST)
		i++;
	assert_true(i < campaign->tally->group_count);
	return &campaign->tally->group[i];
}

/* Ticks that were judged with marks and merging are what whole runs show. */
static void
every_boundary_of_a_window_is_judged(void **state)
{
	struct campaign_options options = campaigns_options(200);
	struct describe_kept *kept = calloc(1, sizeof(*kept));
	struct replayed *replayed = calloc(1, sizeof(*replayed));
	struct setups *setups = setups_create(workshop);
	struct finding_story story = { .cpu_count = 0 }, again = story;
	size_t counts[4] = { 0 };
	struct campaign campaign;
	struct finding finding;
	struct tz_error err = { "" };

	(void)state;
	assert_true(kept != NULL && replayed != NULL && setups != NULL);
	options.subject = BROKEN_ONE_CPU;
	if (campaign_run(&campaign, workshop, &options, &err) != 0)
		fail_msg("%s", err.text);
	if (describe_finding(&campaign, find_pmi_lost(&campaign), &finding,
		kept, &err) != 0 ||
	    describe_ticks(&campaign, &finding, kept, &story, &err) != 0 ||
	    describe_ticks(&campaign, &finding, NULL, &again, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(kept->count, story.tick_count);
	assert_int_equal(again.tick_count, story.tick_count);
	for (size_t i = 0; i < story.tick_count; i++) {
		const struct finding_tick *tick = &story.tick[i];

		assert_int_equal(tick->outcome, again.tick[i].outcome);
		counts[tick->outcome]++;
		if (tick->token[0] == '\0')
			assert_int_equal(tick->outcome, TICK_NONE);
		else if (i % TICK_STEP == 0 || tick->outcome == TICK_FAIL)
			assert_tick(setups, tick, finding.cause, replayed);
	}
	print_message("%zu pass, %zu fail, %zu merged, %zu not\n", counts[0],
	    counts[1], counts[2], counts[3]);
	assert_int_equal(finding.window_failing, counts[TICK_FAIL]);
	assert_int_equal(
	    finding.window_count, story.tick_count - counts[TICK_NONE]);
	assert_true(counts[TICK_MERGED] != 0);
	finding_story_free(&story);
	finding_story_free(&again);
	setups_destroy(setups);
	campaign_close(&campaign);
	free(replayed);
	free(kept);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_boundary_of_a_window_is_judged),
	};
	int failed;

	broken_init();
	workshop = broken_workshop();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	workshop_close(workshop);
	return failed;
}
