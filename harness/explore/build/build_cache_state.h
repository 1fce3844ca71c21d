/*
 * What a build cache consists of, for those that compile and load the driver: this folder,
 * ../runner/ and harness/mutate/.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_BUILD_BUILD_CACHE_STATE_H
#define TOPAZ_HARNESS_EXPLORE_BUILD_BUILD_CACHE_STATE_H

#include "harness/build_set.h"
#include "harness/explore/build/build_cache.h"
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
	uint16_t check; /* the CHECK field of tokens; valid if .checked */
	bool cuts;      /* build_cache_cut() */
};

/* The objects of a driver; the first call compiles them. */
int build_cache_build(struct build_cache *build_cache, bool invariants,
    const struct build_set **set, struct tz_error *err);

/*
 * objects.c: writes only DIRECTORY/objects/sha256, for objects that are already there.
 * -TZ_EIO.
 */
int build_cache_keep_sha256(const struct build_cache *build_cache,
    const char *directory, struct tz_error *err);

/*
 * objects.c: loads the objects that build_cache_keep() saved.  -TZ_ENOENT: no objects
 * with, or without, INVARIANTS as requested.
 */
int build_cache_load(
    struct build_cache *build_cache, bool invariants, struct tz_error *err);

#endif
