/*
 * The runners of one build cache, one for each guest set-up, each opened once.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_RUNNER_POOL_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_RUNNER_POOL_H

#include "harness/explore/runner/runner.h"

#define SETUPS_MAX 160

struct runner_pool;

struct runner_pool *runner_pool_create(struct build_cache *build_cache);
void runner_pool_destroy(struct runner_pool *runner_pool);

/* Errors as of runner_open(). */
int runner_pool_get(struct runner_pool *runner_pool, unsigned cpus,
    const char *layout, const char *settings, struct runner **runner,
    struct tz_error *err);

/* The guest set-ups on which generated sequences run, in order; NULL after the last. */
struct setup {
	unsigned cpus;
	const char *layout;
};
const struct setup *setup_at(size_t index);

#endif
