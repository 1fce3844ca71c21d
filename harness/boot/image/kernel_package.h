/*
 * The kernel that is booted where the user names none: a package that ./bootstrap has
 * downloaded.
 */
#ifndef TOPAZ_HARNESS_BOOT_IMAGE_KERNEL_PACKAGE_H
#define TOPAZ_HARNESS_BOOT_IMAGE_KERNEL_PACKAGE_H

#include "harness/host/folder/tree.h"

#define KERNEL_PACKAGE_HELP \
 "(the newest 6.1 cloud package in ~/.cache/topaz/packages)"

/*
 * PATH: the newest package of Debian's 6.1 cloud kernel in the cache.  -TZ_ENOENT: there
 * is none; -TZ_EUSAGE: as of cache_set().
 */
int kernel_package_find(char path[TREE_PATH_BYTES], struct tz_error *err);

#endif
