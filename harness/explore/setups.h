/*
 * Runners of a workshop by set-up of the guest, each opened once.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SETUPS_H
#define TOPAZ_HARNESS_EXPLORE_SETUPS_H

#include "harness/explore/runner.h"

#define SETUPS_MAX 160

struct setups;

struct setups *setups_create(struct workshop *workshop);
void setups_destroy(struct setups *setups);

/* Errors as of runner_open(). */
int setups_get(struct setups *setups, unsigned cpus, const char *layout,
    const char *settings, struct runner **runner, struct tz_error *err);

/* The set-ups on which generated sequences run, in turn: NULL past the last. */
struct setup {
	unsigned cpus;
	const char *layout;
};
const struct setup *setup_at(size_t index);

#endif
