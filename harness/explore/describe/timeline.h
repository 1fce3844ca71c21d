/*
 * The timeline of a finding: repeats its run and records all observable events, the
 * outcome at every boundary, and the events of the nearest passing run.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_TIMELINE_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_TIMELINE_H

#include "harness/explore/describe/failure_window.h"

/*
 * Records the complete run of FINDING for its page; KNOWN or NULL.  If CAMPAIGN's .hurry
 * prevented the search for a window, its outcomes are missing.  TIMELINE is to be freed
 * after success only.  Errors as of replay_token() and failure_window_ticks().
 */
int timeline_make(struct campaign *campaign, const struct finding *finding,
    struct failure_window *known, struct finding_timeline *timeline,
    struct tz_error *err);

/* Records only the events of the run of FINDING. */
int timeline_make_events(struct campaign *campaign,
    const struct finding *finding, struct finding_timeline *timeline,
    struct tz_error *err);

#endif
