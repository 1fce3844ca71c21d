/*
 * Operations on a folder with its content.  Symbolic links below the given path are
 * entries like others; no function follows them.
 */
#ifndef TOPAZ_HARNESS_HOST_FOLDER_TREE_H
#define TOPAZ_HARNESS_HOST_FOLDER_TREE_H

#include <sys/stat.h>

#include "emu/base/base.h"

/* Depth of nested folders; a deeper one is an error. */
#define TREE_DEPTH_MAX  24
#define TREE_PATH_BYTES 1024 /* of a path, with its NUL */

/* Creates the folder PATH with MODE unless it exists.  -TZ_EIO. */
int tree_make(const char *path, mode_t mode, struct tz_error *err);

/*
 * Removes the content of the folder PATH, except its entry KEPT (or NULL).  False: an
 * entry could not be removed; it and the entries after it are still there.
 * Async-signal-safe; errno is kept.
 */
bool tree_empty(const char *path, const char *kept);

/* Like tree_empty(), and removes the folder PATH itself. */
bool tree_remove(const char *path);

/*
 * Called with the path of each entry relative to the top, a folder before its entries.  A
 * return value other than 0 ends the walk, which returns it.
 */
typedef int (*tree_each)(void *arg, const char *name, const struct stat *st);

/*
 * Calls EACH for every entry below PATH, sorted by name in each folder.  -TZ_EIO: a
 * folder cannot be read, or is nested too deeply; -TZ_ENOENT: no folder PATH.
 */
int tree_walk(
    const char *path, tree_each each, void *arg, struct tz_error *err);

#endif
