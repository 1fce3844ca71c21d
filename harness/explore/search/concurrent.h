/*
 * Two operations of one object at once: each pair in a whole life of the driver's,
 * with one switch to another CPU or task wherever, during the two, a call to the
 * kernel returns to the driver or to the framework that it is part of, and at some
 * places between (boundary_collect_calls()).
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_CONCURRENT_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_CONCURRENT_H

#include "harness/explore/search/campaign.h"

#define CONCURRENT_SCHEDULES 16 /* of each pair, about */

/* About BUDGET schedules.  Errors as of campaign_runner() and workers_run(). */
int concurrent_explore(
    struct campaign *campaign, uint64_t budget, struct tz_error *err);

#endif
