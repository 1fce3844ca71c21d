/*
 * Compiled objects beside findings, as build_cache_keep() puts them away: from the folders
 * of shards into the one that joins them.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_OBJECTS_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_OBJECTS_H

#include "emu/base/base.h"

/* Has FOLDER objects for `topaz replay --from`? */
bool objects_are_in(const char *folder);

/*
 * Copies what FROM has of them to TO, but nothing that TO has already.  -TZ_EIO;
 * -TZ_EUSAGE: a path is too long.
 */
int objects_copy(const char *from, const char *to, struct tz_error *err);

#endif
