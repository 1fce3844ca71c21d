/*
 * The files that topaz reads.  Only regular files are read, and none that is larger
 * than its kind may be (input.def): a FIFO, a device, a socket or a file without end
 * is refused before the first byte, so no input waits or grows without bound.
 *
 * Every function returns 0, or with one line that names the file: -TZ_ENOENT where
 * there is no such file, -TZ_EUSAGE where it is not a regular file or is too large,
 * -TZ_EIO where the host refuses.
 */
#ifndef TOPAZ_HARNESS_HOST_INPUT_H
#define TOPAZ_HARNESS_HOST_INPUT_H

#include <stdio.h>

#include "emu/base/base.h"

enum input_kind {
#define INPUT(id, name, bytes_max) INPUT_##id,
#include "harness/host/input.def"
#undef INPUT
	INPUT_KIND_COUNT
};

/* The most bytes that a file of KIND may have. */
uint64_t input_bytes_max(enum input_kind kind);

/*
 * Reads PATH whole: *COUNT bytes and a NUL after them, to be freed.  Of a file that
 * changes meanwhile at most as many bytes as it had at first.
 */
int input_read(const char *path, enum input_kind kind, uint8_t **bytes,
    size_t *count, struct tz_error *err);

/* Opens PATH for piecewise reading; the caller closes *FILE. */
int input_open(
    const char *path, enum input_kind kind, FILE **file, struct tz_error *err);

/* Checks PATH, which another program will read. */
int input_check(const char *path, enum input_kind kind, struct tz_error *err);

#endif
