/*
 * A reader of PT packets that shares nothing with the unit that writes them: a
 * table made from the SDM's drawings of the packets, vol. 3, 33.4.2 "Packet
 * Definitions".  It knows what libipt does not: PEBS blocks, bit 7 of PWRE.
 */
#ifndef TOPAZ_TESTS_PACKETS_READER_H
#define TOPAZ_TESTS_PACKETS_READER_H

#include <stddef.h>
#include <stdint.h>

/*
 * The packets of BYTES of STREAM, separated by blanks, without PAD; the words are
 * those of README.md.  Bytes that are no packet end the text with "?offset:byte".
 * To be freed; NULL: out of memory.
 */
char *reader_text(const uint8_t *stream, size_t bytes);

/*
 * Calls SEE with the name of each row of the reader's tables: each packet, each
 * form of an IP packet.  The names are those that begin a packet's text.
 */
void reader_each_name(void (*see)(void *arg, const char *name), void *arg);

#endif
