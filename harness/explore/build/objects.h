/*
 * The compiled objects in a folder of findings, saved by build_cache_keep(), and
 * copying them from the folders of shards to the merged folder.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_BUILD_OBJECTS_H
#define TOPAZ_HARNESS_EXPLORE_BUILD_OBJECTS_H

#include "emu/base/base.h"

/* True if FOLDER has objects for `topaz replay --from`. */
bool objects_are_in(const char *folder);

/*
 * Copies the objects of FROM to TO; does not overwrite files in TO.  -TZ_EIO;
 * -TZ_EUSAGE: a path is too long.
 */
int objects_copy(const char *from, const char *to, struct tz_error *err);

#endif
