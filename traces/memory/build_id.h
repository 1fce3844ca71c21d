/*
 * The build id of an ELF file.
 */
#ifndef TOPAZ_TRACES_MEMORY_BUILD_ID_H
#define TOPAZ_TRACES_MEMORY_BUILD_ID_H

#include "emu/base/base.h"

/* In hexadecimal, and a NUL. */
#define BUILD_ID_HEX_BYTES 41

/*
 * Puts the build id of the file PATH into HEX; "" if it is no 64-bit ELF file, or has no
 * build id of up to 20 bytes within its first 64 KiB.
 */
void build_id_read(const char *path, char hex[BUILD_ID_HEX_BYTES]);

/* COUNT bytes, 20 at most, in hexadecimal. */
void build_id_format(
    const uint8_t *bytes, unsigned count, char hex[BUILD_ID_HEX_BYTES]);

#endif
