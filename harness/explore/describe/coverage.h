/*
 * Coverage lines: what a campaign ran, and what it did not.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_COVERAGE_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_COVERAGE_H

#include "harness/explore/search/campaign.h"
#include "harness/finding/finding.h"

/* Fills in the coverage rows of SUMMARY, and its counts of schedules. */
void coverage_fill(
    const struct campaign *campaign, struct finding_summary *summary);

#endif
