/*
 * The file ".topaz" of a folder that topaz wrote.  It names every entry of the folder,
 * with the size and a digest of each file, and ends in a digest of itself:
 *
 *   topaz 1 findings
 *   d objects
 *   f 15834 0b2c9d0f31a5e6c8 index.html
 *   end 94d3...
 *
 * It shows which entries of the folder topaz did not write.
 */
#ifndef TOPAZ_HARNESS_HOST_FOLDER_MARKER_H
#define TOPAZ_HARNESS_HOST_FOLDER_MARKER_H

#include "emu/base/base.h"

#define MARKER_NAME ".topaz"

/* Writes the marker of the folder PATH as it is now.  KIND is one word.  -TZ_EIO. */
int marker_write(const char *path, const char *kind, struct tz_error *err);

/*
 * Checks that the folder PATH, NAME in messages, is empty, or is of KIND and holds only
 * what topaz wrote.  -TZ_EUSAGE: it is not, with the first entry that differs; -TZ_ENOENT:
 * no such folder; -TZ_EIO.
 */
int marker_check(
    const char *path, const char *name, const char *kind, struct tz_error *err);

#endif
