/*
 * The packets of a stream as lines of text, in ptdump's columns: offset, name,
 * payload.  It uses libipt's packet layer directly and interprets nothing.
 */
#ifndef TOPAZ_TRACES_DECODE_PACKETS_H
#define TOPAZ_TRACES_DECODE_PACKETS_H

#include "emu/base/base.h"

#include <stdio.h>

/*
 * Prints the packets of COUNT bytes from the first PSB on.  SIGNATURE and ERRATA
 * as of image_config().  PADs are left out unless WITH_PADS.  After a packet that libipt
 * refuses, printing continues at the next PSB.  Returns the number of refused packets, or
 * -TZ_EIO (no memory).
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
