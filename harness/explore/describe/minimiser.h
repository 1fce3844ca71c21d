/*
 * One cause while it becomes a finding, shared by describe.c and failure_window.c and by
 * nobody else.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_MINIMISER_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_MINIMISER_H

#include "harness/explore/describe/describe.h"

/* One cause in one sequence, while it becomes smaller. */
struct minimiser {
	struct campaign *campaign;
	struct witness witness;
	struct identity identity;
};

/* The token of SMALL's entry under SCHEDULE; "" where it does not fit. */
void minimiser_token(const struct minimiser *minimiser,
    const struct schedule *schedule, char *text, size_t text_size);

/* Is the user in a hurry? */
static inline bool
minimiser_hurries(const struct minimiser *minimiser)
{
	return minimiser->campaign->hurry != NULL &&
	    *minimiser->campaign->hurry;
}

/* failure_window.c: the finding's window, and the nearest schedule that passes. */
int minimiser_window(struct minimiser *minimiser, struct finding *finding,
    struct describe_kept *kept, struct tz_error *err);

#endif
