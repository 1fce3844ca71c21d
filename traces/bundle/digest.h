/*
 * Checks of a bundle's files: one XXH3-128 for every DIGEST_BLOCK_BYTES, so
 * that a damaged file is reported with the place of the damage.  The only user
 * of xxhash.  It detects accidental damage, not forgery.
 */
#ifndef TOPAZ_TRACES_BUNDLE_DIGEST_H
#define TOPAZ_TRACES_BUNDLE_DIGEST_H

#include "emu/base/base.h"

#define DIGEST_BLOCK_BYTES (UINT64_C(256) << 10)
#define DIGEST_TEXT_BYTES  33 /* 32 hexadecimal digits and NUL */

/* The digest of COUNT bytes as text. */
void digest_bytes(
    const void *bytes, size_t count, char text[DIGEST_TEXT_BYTES]);

/* Number of blocks of a file of COUNT bytes. */
static inline size_t
digest_blocks(uint64_t count)
{
	return (size_t)((count + DIGEST_BLOCK_BYTES - 1) / DIGEST_BLOCK_BYTES);
}

#endif
