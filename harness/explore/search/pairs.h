/*
 * Selects which pairs of deviations are run: all, or a sample of about a given number
 * of schedules.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_PAIRS_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_PAIRS_H

#include "harness/explore/parts/campaign_state.h"

/*
 * Adds an area of pairs for each of the first ENTRIES of CAMPAIGN, which have been
 * surveyed: about BUDGET schedules in total, or every pair if the user requests that
 * and gives no budget.  -TZ_EUSAGE: too many areas; errors as of campaign_part_run().
 */
int pairs_add(struct campaign *campaign, uint32_t entries, uint64_t budget,
    struct tz_error *err);

#endif
