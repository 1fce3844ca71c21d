/*
 * Two concurrent operations on one object: each pair in a complete life cycle of the
 * driver, with one switch to another CPU or task.  The switch is placed wherever,
 * during the two operations, a call to the kernel returns to the driver or its
 * framework, and at some boundaries between (boundary_collect_calls()).
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_CONCURRENT_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_CONCURRENT_H

#include "harness/explore/parts/campaign_state.h"

#define CONCURRENT_SCHEDULES 16 /* of each pair, approximately */

/* Runs about BUDGET schedules.  Errors as of campaign_entry_runner() and workers_run(). */
int concurrent_explore(
    struct campaign *campaign, uint64_t budget, struct tz_error *err);

#endif
