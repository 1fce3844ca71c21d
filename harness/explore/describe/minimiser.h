/*
 * Minimisation of one finding: removes the deviations, layout words and operations that
 * the violation does not need.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_MINIMISER_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_MINIMISER_H

#include "harness/explore/describe/identity.h"

/* One cause in one sequence, while it is minimised. */
struct minimiser {
	struct campaign *campaign;
	struct witness witness;
	struct identity identity;
};

/*
 * Minimises .witness, and finds .identity again.  False: the violation does not occur
 * again (a bug of topaz).
 */
bool minimiser_run(struct minimiser *minimiser);

/* True if the user wants the findings at once. */
static inline bool
minimiser_hurries(const struct minimiser *minimiser)
{
	return minimiser->campaign->hurry != NULL &&
	    *minimiser->campaign->hurry;
}

/* The token of CAMPAIGN's ENTRY under SCHEDULE; "" if it does not fit. */
void minimiser_token(const struct campaign *campaign,
    const struct campaign_entry *entry, const struct schedule *schedule,
    char *text, size_t text_size);

#endif
