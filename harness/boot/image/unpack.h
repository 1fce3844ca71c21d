/*
 * Compressed data and archives of others, by libarchive.  Every function is bounded: more
 * than BYTES_MAX bytes of content are refused.  The caller frees *OUT.  Each returns 0;
 * -TZ_EFORMAT: the data are corrupt, truncated, larger than BYTES_MAX or of no known
 * kind; -TZ_EIO: no memory.
 */
#ifndef TOPAZ_HARNESS_BOOT_IMAGE_UNPACK_H
#define TOPAZ_HARNESS_BOOT_IMAGE_UNPACK_H

#include "emu/base/base.h"

/* A piece of memory. */
struct bytes {
	uint8_t *at;
	size_t count;
};

/*
 * Decompresses DATA: one stream of gzip, bzip2, LZMA, XZ, LZ4 (also its legacy frame) or
 * zstd.  NAME begins the message.
 */
int unpack_stream(const char *name, struct bytes data, size_t bytes_max,
    struct bytes *out, struct tz_error *err);

/*
 * The first regular file of the archive DATA (ar, tar, cpio or rpm, compressed or not)
 * whose path, without a leading "./", matches one of PATTERNS (glob(7); the last is NULL).
 * -TZ_ENOENT: no path matches.
 */
int unpack_member(const char *name, struct bytes data,
    const char *const patterns[], size_t bytes_max, struct bytes *out,
    struct tz_error *err);

#endif
