/*
 * The packets of a stream as lines of text, in ptdump's columns: offset, name,
 * payload.  Its own use of libipt's packet layer; nothing is interpreted.
 */
#ifndef TOPAZ_TRACES_DECODE_PACKETS_H
#define TOPAZ_TRACES_DECODE_PACKETS_H

#include "emu/base/base.h"

#include <stdio.h>

/*
 * Prints the packets of COUNT bytes from the first PSB on.  SIGNATURE and ERRATA
 * as of image_config().  PADs are left out unless WITH_PADS.  After a
 * packet that libipt refuses goes on at the next PSB; returns how many it
 * refused, or -TZ_EIO (no memory).
 */
int packets_print(const uint8_t *bytes, size_t count, uint32_t signature,
    uint32_t errata, bool with_pads, FILE *file);

/*
 * Writes the packet at byte OFFSET of COUNT bytes to TEXT as one of those lines,
 * without its offset.
 */
void packets_describe(
    const uint8_t *bytes, size_t count, size_t offset, char *text, size_t room);

#endif
