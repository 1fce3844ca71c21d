/* How many schedules with one deviation an effort runs. */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_PLACEMENTS_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_PLACEMENTS_H

#include "harness/explore/parts/campaign_state.h"

/*
 * Runs a first sample of the schedules with one deviation of the first AREAS areas of
 * CAMPAIGN, which were surveyed, and estimates how many instructions all of them
 * execute.  If that is more than INSNS, the same fraction of each area's schedules is
 * selected, by rank and seed.  Every shard runs the whole sample, because all must
 * select the same schedules; its results are not counted.  -TZ_EIO: no memory.
 */
int placements_bound(struct campaign *campaign, uint32_t areas, uint64_t insns,
    struct tz_error *err);

#endif
