/*
 * An exploration of one driver: its scenarios with every placement of one deviation,
 * generated sequences, placements in those that reach new code, pairs, and finally
 * random schedules; all within a budget that counts schedules.  The results depend only
 * on driver, options and seed, not on jobs and shards.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_CAMPAIGN_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_CAMPAIGN_H

#include "harness/explore/parts/campaign_entry.h"

/* The default options of `topaz explore`. */
struct campaign_options campaign_defaults(void);

/*
 * Errors as of runner_open() and sequence_parse(); -TZ_ENOENT: no such scenario.
 * CAMPAIGN must be closed also after an error.
 */
int campaign_run(struct campaign *campaign, struct build_cache *build_cache,
    const struct campaign_options *options, struct tz_error *err);
void campaign_close(struct campaign *campaign);

/* A hash of everything that determines the results of CAMPAIGN's options. */
uint64_t campaign_key(struct build_cache *build_cache,
    const struct campaign_options *options, uint16_t check);

#endif
