/*
 * One trace of topaz reencode, re-encoded and printed.
 */
#ifndef TOPAZ_HARNESS_CMD_REENCODE_REENCODE_ONE_H
#define TOPAZ_HARNESS_CMD_REENCODE_REENCODE_ONE_H

#include "harness/cmd/reencode/reencode_page.h"
#include "harness/cmd/reencode/reencode_progress.h"
#include "traces/reencode/reencode.h"

/* Where the results go, besides the exit code. */
struct reencode_output {
	bool json;                  /* a line for each trace instead of text */
	struct reencode_page *page; /* NULL: none */
	enum cmd_progress progress;
};

/* Re-encodes the COUNT BYTES that NAME is the name of; an exit code. */
int reencode_one(const char *name, const uint8_t *bytes, uint64_t count,
    struct memory_image *memory_image, const struct reencode_options *options,
    const struct reencode_output *output, struct tz_error *err);

/* The exit code of two traces: the worse one; CMD_NOTHING only if it is that of both. */
int reencode_worse(int code, int other);

#endif
