/*
 * The inside of a build cache, for runner.c: objects that are compiled once.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_BUILD_CACHE_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_BUILD_CACHE_H

#include "harness/build_set.h"
#include "harness/explore/runner/runner.h"
#include "harness/plan.h"
#include "harness/run.h"

struct build_cache {
	struct build_cache_config config;
	struct run_options options;
	struct plan plan;
	struct manifest *manifest;
	struct build_set set[2]; /* without and with INVARIANTS */
	bool built[2];
	char sha256[65];
	bool checked;
	uint16_t check; /* of tokens, once .checked */
	bool cuts;      /* build_cache_cut() */
};

/* The objects of a driver, compiled at the first call. */
int build_cache_build(struct build_cache *build_cache, bool invariants,
    const struct build_set **set, struct tz_error *err);

/*
 * objects.c: writes DIRECTORY/objects/sha256 alone, beside objects that somebody else
 * has put there.  -TZ_EIO.
 */
int build_cache_keep_sha256(const struct build_cache *build_cache,
    const char *directory, struct tz_error *err);

/*
 * objects.c: the objects that build_cache_keep() has put away.  -TZ_ENOENT: there are
 * none of that kind.
 */
int build_cache_load(
    struct build_cache *build_cache, bool invariants, struct tz_error *err);

#endif
