/*
 * A folder with everything in it.  Symbolic links are entries like others: nothing
 * here follows one below the path that it is given.
 */
#ifndef TOPAZ_HARNESS_HOST_TREE_H
#define TOPAZ_HARNESS_HOST_TREE_H

#include <sys/stat.h>

#include "emu/base/base.h"

/* Folders in folders that are looked at; what lies deeper is an error. */
#define TREE_DEPTH_MAX  24
#define TREE_PATH_BYTES 1024 /* of a path, with its NUL */

/*
 * Removes what is in the folder PATH, but for its entry KEPT (or NULL).  False: something
 * could not be removed, and is there with all that would have come after it.
 * Async-signal-safe; errno is kept.
 */
bool tree_empty(const char *path, const char *kept);

/* Removes the folder PATH as well.  The same. */
bool tree_remove(const char *path);

/*
 * Is called with each entry's path below the top, a folder before what is in it.  Not
 * 0: the walk ends and returns that.
 */
typedef int (*tree_each)(void *arg, const char *name, const struct stat *st);

/*
 * Calls EACH for every entry below PATH, sorted by name in each folder.  -TZ_EIO: a
 * folder cannot be read, or lies too deep; -TZ_ENOENT: there is no folder PATH.
 */
int tree_walk(
    const char *path, tree_each each, void *arg, struct tz_error *err);

#endif
