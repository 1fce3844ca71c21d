#include "tests/whole/campaigns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/explore/describe/coverage.h"
#include "harness/explore/describe/findings.h"

struct campaign_options
campaigns_options(uint64_t budget)
{
	struct campaign_options options = campaign_defaults();

	/* Pairs of PMIs take long to describe: a test that wants PMIs adds them. */
	options.kinds = UINT32_C(1) << DEVIATION_NMI |
	    UINT32_C(1) << DEVIATION_SWITCH;
	options.budget = budget;
	return options;
}

struct finding_summary *
campaigns_run(
    struct build_cache *build_cache, const struct campaign_options *options)
{
	struct finding_summary *summary = calloc(1, sizeof(*summary));
	struct tz_error err = { "" };
	struct findings *findings;
	struct campaign campaign;
	bool interrupted = false;

	assert_non_null(summary);
	if (campaign_run(&campaign, build_cache, options, &err) != 0)
		fail_msg("%s", err.text);
	assert_false(campaign.parts.interrupted);
	snprintf(summary->driver, sizeof(summary->driver), "%s",
	    build_cache_config(build_cache)->driver);
	snprintf(summary->profile, sizeof(summary->profile), "%s",
	    build_cache_config(build_cache)->profile);
	snprintf(summary->sha256, sizeof(summary->sha256), "%s",
	    build_cache_sha256(build_cache));
	coverage_fill(&campaign, summary);
	if (findings_make(&campaign, summary, &interrupted, &findings, &err) !=
	    0)
		fail_msg("%s", err.text);
	if (findings_unshown(findings) != 0)
		fail_msg("'%s' does not show again",
		    findings_unshown_text(findings, 0));
	findings_free(findings);
	campaign_close(&campaign);
	return summary;
}

void
campaigns_describe(struct campaign *campaign, const struct stats_group *group,
    struct finding *finding, struct failure_window *kept)
{
	const struct witness witness = { *campaign_entry_of(campaign, group),
		group->schedule, group->violation.id, group->own };
	struct identity identity;
	struct tz_error err = { "" };

	assert_true(identity_find(campaign, &witness, &identity));
	if (describe_finding(campaign, group, &identity, finding, kept, &err) !=
	    0)
		fail_msg("%s", err.text);
}

bool
campaigns_have(
    const struct finding_summary *summary, const struct finding *finding)
{
	for (size_t i = 0; i < summary->finding_count; i++) {
		const struct finding *other = &summary->finding[i];

		if (other->check == finding->check &&
		    other->cause == finding->cause &&
		    strcmp(other->kinds, finding->kinds) == 0 &&
		    strcmp(other->token, finding->token) == 0 &&
		    strcmp(other->message, finding->message) == 0)
			return true;
	}
	return false;
}

void
campaigns_assert_equal(
    const struct finding_summary *a, const struct finding_summary *b)
{
	for (size_t i = 0; i < a->finding_count; i++) {
		if (!campaigns_have(b, &a->finding[i]))
			fail_msg("missing: %s, %s", a->finding[i].message,
			    a->finding[i].token);
	}
	for (size_t i = 0; i < b->finding_count; i++) {
		if (!campaigns_have(a, &b->finding[i]))
			fail_msg("new: %s, %s", b->finding[i].message,
			    b->finding[i].token);
	}
	assert_int_equal(a->finding_count, b->finding_count);
}
