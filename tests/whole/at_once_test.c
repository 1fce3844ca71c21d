/*
 * Goal: the general search finds a defect of the FreeBSD backend that only two
 * operations at once show: configure leaves bits of the configuration before.  A start
 * that overtakes its configuration is not reported as a defect.  Method:
 * the pairs of `topaz explore`, of the source as it is and of one without that
 * defect; and the finding's token again.
 */
#include "tests/whole/whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/explore/describe/replay.h"
#include "harness/explore/parts/effort.h"
#include "harness/explore/runner/runner_pool.h"
#include "harness/explore/search/concurrent.h"
#include "tests/whole/campaigns.h"

#define REPLAYS  3
#define LEAVES   "pt_ext->rtit_ctl |= cfg->rtit_ctl;"
#define REPLACES "pt_ext->rtit_ctl  = cfg->rtit_ctl;"

static void
open_campaign(const char *source, struct campaign *campaign)
{
	const struct build_cache_config config = {
		.driver = "freebsd-pt",
		.profile = "skylake",
		.source = source,
	};
	const uint64_t budget = effort_info(EFFORT_QUICK)->parts.calls;
	struct tz_error err = { "" };

	*campaign = (struct campaign){ .options = campaign_defaults() };
	if (build_cache_open(&config, &campaign->build_cache, &err) != 0)
		fail_msg("%s", err.text);
	campaign->runner_pool = runner_pool_create(campaign->build_cache);
	campaign->area = calloc(STATS_AREAS_MAX, sizeof(*campaign->area));
	campaign->stats = calloc(1, sizeof(*campaign->stats));
	assert_true(campaign->runner_pool != NULL && campaign->area != NULL &&
	    campaign->stats != NULL);
	if (concurrent_explore(campaign, budget, &err) != 0)
		fail_msg("%s", err.text);
	assert_true(campaign->area_count != 0);
}

static void
close_campaign(struct campaign *campaign)
{
	struct build_cache *build_cache = campaign->build_cache;

	campaign_close(campaign);
	build_cache_close(build_cache);
}

/* The group whose message is about IA32_RTIT_CTL and ends in WORDS. */
static const struct stats_group *
find_group(const struct campaign *campaign, const char *words)
{
	for (uint32_t i = 0; i < campaign->stats->group_count; i++) {
		const struct stats_group *group = &campaign->stats->group[i];
		const char *text = group->violation.text;
		size_t length = strlen(text), end = strlen(words);

		if (group->violation.id == CHECK_CONFIG_APPLIED &&
		    strncmp(text, "rtit_ctl: ", 10) == 0 && length > end &&
		    strcmp(text + length - end, words) == 0)
			return group;
	}
	return NULL;
}

static void
assert_replays(struct campaign *campaign, const struct stats_group *group)
{
	struct replayed *replayed = calloc(1, sizeof(*replayed));
	static struct finding finding;
	struct runner *runner;
	struct token token;
	struct tz_error err = { "" };

	assert_non_null(replayed);
	campaigns_describe(campaign, group, &finding, NULL);
	if (token_parse(finding.token, &token, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(finding.class, FINDING_SCHEDULE);
	assert_string_equal(finding.kinds, "cpu");
	for (unsigned i = 0; i < REPLAYS; i++) {
		if (replay_token(campaign->runner_pool,
			build_cache_manifest(campaign->build_cache), &token,
			NULL, STEPPING_NONE, replayed, &runner, &err) != 0)
			fail_msg("%s", err.text);
		assert_true(outcome_has(&replayed->outcome, group->cause));
		assert_int_equal(replayed->state_hash, finding.state_hash);
	}
	free(replayed);
}

static void
bits_of_the_configuration_before_are_found(void **state)
{
	const char *source = whole_driver_source();
	const struct stats_group *group;
	struct campaign campaign;

	(void)state;
	open_campaign(source, &campaign);
	group = find_group(&campaign, ": too much");
	assert_non_null(group);
	assert_replays(&campaign, group);
	/* The framework's race, by which a configuration comes too late. */
	assert_null(find_group(&campaign, "asked for before"));
	close_campaign(&campaign);
}

/* A copy of the driver, at PATH, whose configure replaces what was there. */
static void
write_repaired(const char *source, const char *path)
{
	FILE *from = fopen(source, "r"), *to = fopen(path, "w");
	unsigned repaired = 0;
	char line[256];

	assert_true(from != NULL && to != NULL);
	while (fgets(line, sizeof(line), from) != NULL) {
		char *at = strstr(line, LEAVES);

		if (at != NULL)
			memcpy(at, REPLACES, strlen(REPLACES));
		repaired += at != NULL;
		assert_true(fputs(line, to) >= 0);
	}
	assert_int_equal(repaired, 1);
	assert_int_equal(fclose(from) | fclose(to), 0);
}

static void
without_the_defect_nothing_is_found(void **state)
{
	const char *path = whole_options("freebsd-pt", "pt.c").output;
	struct campaign campaign;

	(void)state;
	assert_int_equal(strlen(LEAVES), strlen(REPLACES));
	write_repaired(whole_driver_source(), path);
	open_campaign(path, &campaign);
	assert_null(find_group(&campaign, ": too much"));
	assert_null(find_group(&campaign, "asked for before"));
	close_campaign(&campaign);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bits_of_the_configuration_before_are_found),
		cmocka_unit_test(without_the_defect_nothing_is_found),
	};

	whole_init(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
