/*
 * Whole campaigns of the broken driver, and what they find, for tests that
 * compare.
 */
#ifndef TOPAZ_TESTS_WHOLE_CAMPAIGNS_H
#define TOPAZ_TESTS_WHOLE_CAMPAIGNS_H

#include "harness/explore/describe/describe.h"

/*
 * The scenarios and some sequences of the broken driver with PMIs and switches
 * alone, within BUDGET: those with NMIs have long windows.
 */
struct campaign_options campaigns_options(uint64_t budget);

/*
 * Runs a campaign and describes all that it finds; fails the test where that is
 * not possible.  To be freed by report_summary_free() and free().
 */
struct finding_summary *campaigns_run(
    struct build_cache *build_cache, const struct campaign_options *options);

/* Makes FINDING of GROUP, whose violation has to show again; KEPT may be NULL. */
void campaigns_describe(struct campaign *campaign,
    const struct stats_group *group, struct finding *finding,
    struct failure_window *kept);

/* Both have the same findings, in any order, to the token and the message. */
void campaigns_assert_equal(
    const struct finding_summary *a, const struct finding_summary *b);
bool campaigns_have(
    const struct finding_summary *summary, const struct finding *finding);

#endif
