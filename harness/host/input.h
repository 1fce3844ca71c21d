/*
 * The files that topaz reads.  Only regular files are read, up to the size limit of their
 * kind (input.def).  A FIFO, a device, a socket or a file that is too large is refused
 * before the first byte, so reading never blocks and never uses unbounded memory.
 *
 * Every function returns 0, or an error with one line that names the file: -TZ_ENOENT: no
 * such file; -TZ_EUSAGE: it is not a regular file or is too large; -TZ_EIO: an error of
 * the host.
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

/* The size limit of a file of KIND, in bytes. */
uint64_t input_bytes_max(enum input_kind kind);

/*
 * Reads all of PATH: *COUNT bytes and a NUL; the caller frees *BYTES.  If the file grows
 * meanwhile, reads only as many bytes as it had when it was opened.
 */
int input_read(const char *path, enum input_kind kind, uint8_t **bytes,
    size_t *count, struct tz_error *err);

/* Opens PATH for piecewise reading; the caller closes *FILE. */
int input_open(
    const char *path, enum input_kind kind, FILE **file, struct tz_error *err);

/* Checks PATH, which another program will read. */
int input_check(const char *path, enum input_kind kind, struct tz_error *err);

#endif
