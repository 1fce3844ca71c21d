/*
 * One trace of topaz reencode, re-encoded and printed.
 */
#ifndef TOPAZ_HARNESS_CMD_REENCODE_REENCODE_ONE_H
#define TOPAZ_HARNESS_CMD_REENCODE_REENCODE_ONE_H

#include "traces/reencode/reencode.h"

/* Re-encodes the COUNT BYTES that NAME is the name of; an exit code.  JSON: as a line. */
int reencode_one(const char *name, const uint8_t *bytes, uint64_t count,
    struct memory_image *memory_image, const struct reencode_options *options,
    bool json, struct tz_error *err);

/* The exit code of two traces: the worse one; CMD_NOTHING only if it is that of both. */
int reencode_worse(int code, int other);

#endif
