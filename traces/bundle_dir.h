/*
 * The directory of a bundle that is being written: where it grows, how it takes
 * the place of an older one, and its removal.  It knows the layout of folders
 * (images/, objects/), not what the files hold.
 */
#ifndef TOPAZ_TRACES_BUNDLE_DIR_H
#define TOPAZ_TRACES_BUNDLE_DIR_H

#include "emu/base.h"

/*
 * Makes a new directory beside PATH, with its folders; *TEMP is its path, which
 * the caller frees.  -TZ_EUSAGE: PATH exists and may not be replaced; -TZ_EIO.
 */
int bundle_dir_create(const char *path, char **temp, struct tz_error *err);

/* Puts TEMP at PATH, in place of the bundle that may be there.  -TZ_EIO. */
int bundle_dir_publish(
    const char *temp, const char *path, struct tz_error *err);

/* Removes a bundle's directory; what it does not know it leaves there. */
void bundle_dir_remove(const char *path);

#endif
