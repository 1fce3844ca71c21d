/*
 * The folder or the file that a command writes.  It is written beside its path and moved
 * there when it is complete, in one rename(2): other processes see the old one or the new
 * one.  An existing folder is replaced only if it is empty, or if topaz wrote it and
 * nothing else is in it (marker.h); no option changes that.  One process at a time writes
 * to a path.
 */
#ifndef TOPAZ_HARNESS_HOST_FOLDER_OUTPUT_H
#define TOPAZ_HARNESS_HOST_FOLDER_OUTPUT_H

#include "emu/base/base.h"

struct output;

/* The kind of a folder; only a folder of the same kind is replaced. */
#define OUTPUT_BUNDLE   "bundle"
#define OUTPUT_FINDINGS "findings"
#define OUTPUT_BOOT     "boot"

/*
 * Reserves the folder PATH, before any work is done for it.  -TZ_EUSAGE: it may not be
 * replaced, with the cause, or another topaz writes to it; -TZ_EIO: an error of the host.
 */
int output_claim(const char *path, const char *kind, struct output **output,
    struct tz_error *err);

/*
 * The same for the file PATH, which is replaced whatever its content: the user named it.
 * A device or a FIFO is written directly.  -TZ_EUSAGE: PATH is a folder, or another topaz
 * writes to it; -TZ_EIO.
 */
int output_claim_file(
    const char *path, struct output **output, struct tz_error *err);

/* The new, empty folder to write to; or the path of the file to write. */
const char *output_new(const struct output *output);

/*
 * Moves the new folder to its path.  -TZ_EUSAGE: something else has appeared at the path;
 * the folder is moved to the first free name of PATH.1, PATH.2 ..., which ERR names.
 * -TZ_EIO: it cannot be written.  Frees OUTPUT in any case.
 */
int output_publish(struct output *output, struct tz_error *err);

/* Removes what was written and frees OUTPUT, which may be NULL. */
void output_abandon(struct output *output);

/*
 * In the text of ERR, replaces the path of the new folder by the path that the user gave.
 */
void output_rename(const struct output *output, struct tz_error *err);

#endif
