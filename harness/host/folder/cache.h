/*
 * A folder of files that can be made again, of this user: $XDG_CACHE_HOME/topaz/NAME, else
 * $HOME/.cache/topaz/NAME, or a folder that the user names.  A file is written beside its
 * place and renamed, by one process at a time.  When the files have more than BYTES_MAX
 * bytes in all, those that were used longest ago are removed.  Files with other names are
 * not touched.
 */
#ifndef TOPAZ_HARNESS_HOST_FOLDER_CACHE_H
#define TOPAZ_HARNESS_HOST_FOLDER_CACHE_H

#include "harness/host/folder/tree.h"

#define CACHE_KEY_BYTES 33 /* 32 hexadecimal digits and NUL */

struct cache {
	char path[TREE_PATH_BYTES];
	uint64_t bytes_max;
};

/*
 * Sets CACHE; creates nothing.  PATH NULL: the user's.  -TZ_EUSAGE: the path is too long,
 * or the environment has neither XDG_CACHE_HOME nor HOME.
 */
int cache_set(struct cache *cache, const char *path, const char *name,
    uint64_t bytes_max, struct tz_error *err);

/* The path of the file KEY, whether it exists or not. */
void cache_file(
    const struct cache *cache, const char *key, char path[TREE_PATH_BYTES]);

/* The file KEY was used now. */
void cache_used(const struct cache *cache, const char *key);

/*
 * MAKE creates the file PATH, which becomes the file KEY.  Errors: those of MAKE; -TZ_EIO:
 * the folder cannot be made or written.
 */
typedef int (*cache_make)(void *arg, const char *path, struct tz_error *err);
int cache_store(const struct cache *cache, const char *key, cache_make make,
    void *arg, struct tz_error *err);

#endif
