/*
 * Progress of an exploration: one count of schedules over all parts.  A part that has
 * not begun is counted by its budget, so the total decreases if the part turns out to
 * be smaller.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_PARTS_CAMPAIGN_PROGRESS_H
#define TOPAZ_HARNESS_EXPLORE_PARTS_CAMPAIGN_PROGRESS_H

#include "harness/explore/parts/campaign_state.h"

/* True if AREA finished; false if it was interrupted. */
bool campaign_progress_ended(const struct campaign *campaign, size_t area);

/*
 * Calls the progress function of CAMPAIGN, if there is one, while PART runs; STATS_LIST
 * of JOBS workers is not joined yet.
 */
void campaign_progress_report(const struct campaign *campaign, const char *part,
    const struct stats *stats_list, unsigned jobs);

#endif
