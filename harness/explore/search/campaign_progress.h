/*
 * How far an exploration is, of all that it is going to do: one count of schedules over
 * all parts.  What a part that has not begun will have is known by its budget only, so
 * the total becomes less where a part has fewer.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_CAMPAIGN_PROGRESS_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_CAMPAIGN_PROGRESS_H

#include "harness/explore/search/campaign.h"

/*
 * Calls the progress function of CAMPAIGN, if there is one, while PART runs; TALLIES of
 * JOBS workers are not joined yet.
 */
void campaign_progress_tell(const struct campaign *campaign, const char *part,
    const struct stats *stats_list, unsigned jobs);

#endif
