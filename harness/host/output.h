/*
 * The folder or the file that a command writes.  It grows beside its place and takes it
 * when it is whole, in one rename(2): who looks sees the old one or the new one.  A
 * folder that is there is replaced only if it is empty, or if topaz wrote it and nothing
 * else is in it (marker.h); no option changes that.  One process at a time writes to a
 * place.
 */
#ifndef TOPAZ_HARNESS_HOST_OUTPUT_H
#define TOPAZ_HARNESS_HOST_OUTPUT_H

#include "emu/base/base.h"

struct output;

/* What a folder holds; only the same kind is replaced. */
#define OUTPUT_BUNDLE   "bundle"
#define OUTPUT_FINDINGS "findings"

/*
 * Takes the folder PATH, before any work is done for it.  -TZ_EUSAGE: it may not be
 * replaced, and why, or another topaz writes to it; -TZ_EIO: the host refuses.
 */
int output_claim(const char *path, const char *kind, struct output **output,
    struct tz_error *err);

/*
 * The same for the file PATH, which is replaced whatever it holds: the user named it.  If
 * PATH is a device or a FIFO, it is written to itself.  -TZ_EUSAGE: it is a folder, or
 * another topaz writes to it; -TZ_EIO.
 */
int output_claim_file(
    const char *path, struct output **output, struct tz_error *err);

/* The new, empty folder to write to; or the path of the file to write. */
const char *output_new(const struct output *output);

/*
 * Puts the new folder in its place.  If that is no longer possible (something else has
 * come to lie there), it gets the first free name PATH.1, PATH.2 ..., which ERR
 * has: -TZ_EUSAGE.  -TZ_EIO: it cannot be written.  Frees OUTPUT in any case.
 */
int output_publish(struct output *output, struct tz_error *err);

/* Removes what was written and frees OUTPUT, which may be NULL. */
void output_abandon(struct output *output);

/* In the text of ERR, puts the folder as the user named it for the new one. */
void output_rename(const struct output *output, struct tz_error *err);

#endif
