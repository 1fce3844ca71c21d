/*
 * A packet stream as text, read with libipt's packet decoder.  Kept apart from
 * emu/pt/unit.h, whose struct pt_event has a namesake in libipt.
 */
#ifndef TOPAZ_TESTS_UNIT_PT_PACKET_TEXT_H
#define TOPAZ_TESTS_UNIT_PT_PACKET_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Packets separated by blanks, PAD left out, IPs after their IPBytes.  Where the
 * stream does not decode to its end, "error" and libipt's number end the text.  The
 * caller frees it.
 */
char *packet_text_read(const uint8_t *stream, size_t bytes);

#endif
