/*
 * The inside of a workshop, for runner.c: objects that are compiled once.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_WORKSHOP_H
#define TOPAZ_HARNESS_EXPLORE_WORKSHOP_H

#include "harness/build_set.h"
#include "harness/explore/runner.h"
#include "harness/plan.h"
#include "harness/run.h"

struct workshop {
	struct workshop_config config;
	struct run_options options;
	struct plan plan;
	struct manifest *manifest;
	struct build_set set[2]; /* without and with INVARIANTS */
	bool built[2];
	char sha256[65];
	bool checked;
	uint16_t check; /* of tokens, once .checked */
	bool cuts;      /* workshop_cut() */
};

/* The objects of a driver, compiled at the first call. */
int workshop_build(struct workshop *workshop, bool invariants,
    const struct build_set **set, struct tz_error *err);

/*
 * objects.c: writes DIRECTORY/objects/sha256 alone, beside objects that somebody else
 * has put there.  -TZ_EIO.
 */
int workshop_keep_sha256(const struct workshop *workshop, const char *directory,
    struct tz_error *err);

/*
 * objects.c: the objects that workshop_keep() has put away.  -TZ_ENOENT: there are
 * none of that kind.
 */
int workshop_load(
    struct workshop *workshop, bool invariants, struct tz_error *err);

#endif
