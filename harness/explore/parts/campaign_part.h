/*
 * The parts of a campaign, which run one after another, each in as many workers as it is
 * worth, at most options.jobs.  After each
 * one, the campaign can end, or be resumed from.  Progress is one count of schedules
 * over all parts; a part that has not begun is counted by its budget, so the total
 * decreases if the part turns out to be smaller.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_PARTS_CAMPAIGN_PART_H
#define TOPAZ_HARNESS_EXPLORE_PARTS_CAMPAIGN_PART_H

#include "harness/explore/parts/campaign_state.h"
#include "harness/explore/parts/workers.h"

/*
 * The next part, of about that many SCHEDULES: runs WORK as workers_run() does, and
 * reports progress under NAME; does nothing if the part was completed before the
 * exploration was interrupted.  Errors as of workers_run().
 */
int campaign_part_run(struct campaign *campaign, const char *name,
    uint64_t schedules, workers_work work, void *arg, struct tz_error *err);

/*
 * Which schedules are WORKER's, of all shards: those with number SHARE, modulo SHARES.
 * Those of a shard do not depend on the number of workers.
 */
void campaign_part_share(const struct campaign *campaign, unsigned worker,
    unsigned *share, unsigned *shares);

/* WORKER has completed its share of AREA; notes it in STATS. */
void campaign_part_end(const struct campaign *campaign, size_t area,
    unsigned worker, struct stats *stats);
/* This process has done AREA without workers. */
void campaign_part_end_all(const struct campaign *campaign, size_t area);

/* The number of schedules of area NUMBER in this shard, as far as known. */
uint64_t campaign_part_expects(const struct campaign *campaign, size_t number);

/* True if AREA finished; false if it was interrupted. */
bool campaign_part_ended(const struct campaign *campaign, size_t area);

/* The user requested an end: no new part begins. */
void campaign_part_interrupt(struct campaign *campaign);

/* True if the campaign was interrupted or .ends_at ended it: no new part begins. */
bool campaign_part_is_over(struct campaign *campaign);

/* True if the next part, or the last one, was completed before the interruption. */
bool campaign_part_is_resuming(const struct campaign *campaign);

/* True if run number INDEX, of those that are not placements, belongs to this shard. */
bool campaign_part_is_own(const struct campaign *campaign, uint64_t index);

#endif
