/*
 * The window of a finding: where a schedule fails and where it passes, with its last
 * deviation at every boundary.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_FAILURE_WINDOW_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_FAILURE_WINDOW_H

#include "harness/explore/describe/minimiser.h"

/*
 * The outcomes at the boundaries of a window.  They are determined once and used again
 * by a caller that has memory for them; a window that is longer is run again.
 */
#define FAILURE_WINDOW_MAX (128 * 1024)
struct failure_window {
	uint32_t count;                      /* 0: not known */
	uint8_t outcome[FAILURE_WINDOW_MAX]; /* enum tick_outcome */
};

/*
 * Fills in the window of FINDING, which MINIMISER has minimised, and the token of the
 * nearest schedule that passes.  KNOWN or NULL.  Errors as of trial_open().
 */
int failure_window_find(struct minimiser *minimiser, struct finding *finding,
    struct failure_window *known, struct tz_error *err);

/*
 * The outcomes of the last deviation of FINDING at all boundaries; KNOWN or NULL.
 * Errors as of campaign_entry_read() and trial_open().
 */
int failure_window_ticks(struct campaign *campaign,
    const struct finding *finding, struct failure_window *known,
    struct finding_timeline *timeline, struct tz_error *err);

#endif
