/*
 * One cause while it becomes a finding, shared by describe.c and window.c and by
 * nobody else.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SMALL_H
#define TOPAZ_HARNESS_EXPLORE_SMALL_H

#include "harness/explore/describe.h"

/* One cause in one sequence, while it becomes smaller. */
struct small {
	struct campaign *campaign;
	struct witness witness;
	struct identity identity;
};

/* The token of SMALL's entry under SCHEDULE; "" where it does not fit. */
void small_token(const struct small *small, const struct schedule *schedule,
    char *text, size_t text_size);

/* Is the user in a hurry? */
static inline bool
small_hurries(const struct small *small)
{
	return small->campaign->hurry != NULL && *small->campaign->hurry;
}

/* window.c: the finding's window, and the nearest schedule that passes. */
int small_window(struct small *small, struct finding *finding,
    struct describe_kept *kept, struct tz_error *err);

#endif
