/*
 * Minimisation of one finding, for describe.c and failure_window.c only.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_MINIMISER_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_MINIMISER_H

#include "harness/explore/describe/describe.h"

/* One cause in one sequence, while it is minimised. */
struct minimiser {
	struct campaign *campaign;
	struct witness witness;
	struct identity identity;
};

/* The token of SMALL's entry under SCHEDULE; "" if it does not fit. */
void minimiser_token(const struct minimiser *minimiser,
    const struct schedule *schedule, char *text, size_t text_size);

/* True if the user wants the findings at once. */
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
