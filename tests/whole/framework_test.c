/*
 * Goal: what comes to grief in the framework, by a failure of its own call, is no
 * finding of the driver's; the driver's own failures are.  What time decides is
 * said to be.  Method: every function that can fail made to, once each, in a
 * scenario of the FreeBSD backend; sequences with MTC packets and without.
 */
#include "tests/whole/whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/explore/describe/coverage.h"
#include "harness/explore/search/faults.h"
#include "tests/whole/campaigns.h"

static void
find_fail(const struct campaign *campaign, struct fault_result *result)
{
	struct fault_row row;
	size_t index = 0;

	while (fault_at(index, &row) && row.deviation != DEVIATION_FAIL)
		index++;
	faults_result(campaign, index, result);
}

static void
a_crash_is_the_drivers_only_where_the_driver_is_at_work(void **state)
{
	const struct build_cache_config config = {
		.driver = "freebsd-pt",
		.profile = "skylake",
		.source = whole_driver_source(),
	};
	struct campaign_options options = campaign_defaults();
	struct fault_result result;
	struct build_cache *build_cache;
	struct campaign campaign;
	struct tz_error err = { "" };
	size_t crashes = 0;

	(void)state;
	options.subject = "hwt-cpu";
	options.faults = options.kinds_named = true;
	options.kinds = UINT32_C(1) << DEVIATION_FAIL;
	if (build_cache_open(&config, &build_cache, &err) != 0 ||
	    campaign_run(&campaign, build_cache, &options, &err) != 0)
		fail_msg("%s", err.text);
	find_fail(&campaign, &result);
	assert_true(result.framework != 0);
	assert_true(result.broken != 0);
	for (uint32_t i = 0; i < campaign.stats->group_count; i++) {
		const struct stats_group *group = &campaign.stats->group[i];
		static struct finding finding;

		if (!outcome_is_crash(group->violation.id))
			continue;
		crashes++;
		campaigns_describe(&campaign, group, &finding, NULL);
		assert_non_null(strstr(finding.place.file, "pt.c"));
	}
	assert_true(crashes != 0);
	campaign_close(&campaign);
	build_cache_close(build_cache);
}

/* MTC packets keep states apart that are the same but for their time. */
static void
what_time_decides_is_said(void **state)
{
	static const struct {
		const char *config;
		bool timed;
	} rows[] = { { "config", false }, { "config.8", true } };
	const struct build_cache_config config = {
		.driver = "freebsd-pt",
		.profile = "skylake",
		.source = whole_driver_source(),
	};
	struct finding_summary *summary = calloc(1, sizeof(*summary));
	struct build_cache *build_cache;
	struct tz_error err = { "" };

	(void)state;
	assert_non_null(summary);
	if (build_cache_open(&config, &build_cache, &err) != 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct campaign_options options = campaign_defaults();
		struct campaign campaign;
		char subject[128];

		snprintf(subject, sizeof(subject),
		    "freebsd-pt@1,pages=open+alloc.2+map+%s+start+work+exit",
		    rows[i].config);
		options.subject = subject;
		options.kinds = UINT32_C(1) << DEVIATION_NMI;
		options.budget = 400;
		if (campaign_run(&campaign, build_cache, &options, &err) != 0)
			fail_msg("%s", err.text);
		coverage_fill(&campaign, summary);
		assert_int_equal(summary->coverage_count, 3);
		assert_int_equal(strstr(summary->coverage[0].how,
				     ", timed: fewer merged") != NULL,
		    rows[i].timed);
		assert_true(summary->coverage[0].merged != 0);
		campaign_close(&campaign);
	}
	free(summary);
	build_cache_close(build_cache);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_crash_is_the_drivers_only_where_the_driver_is_at_work),
		cmocka_unit_test(what_time_decides_is_said),
	};

	whole_init(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
