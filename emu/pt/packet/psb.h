/*
 * PSB+, from which a decoder can start, and the wait for a place where it may be sent.
 *
 * Source: SDM vol. 3, 33.3.7 "Decoder Synchronization (PSB+)".
 */
#ifndef TOPAZ_EMU_PT_PACKET_PSB_H
#define TOPAZ_EMU_PT_PACKET_PSB_H

#include "emu/base/base.h"

struct pt_unit;

/*
 * Upper bound, in bytes, of a PSB+ with its padding and the TNT before it, without
 * deferred TIPs: see psb_most().
 */
#define PSB_BYTES 128

/* Upper bound, in bytes, of what psb_send() would write now. */
unsigned psb_most(const struct pt_unit *unit);

/*
 * PSB+.  IP is that of the next instruction, PACKET_EN whether the stream is in
 * the traced state there (an enable sends PSB+ before its TIP.PGE: false).
 */
void psb_send(struct pt_unit *unit, bool packet_en, uint64_t ip);

/*
 * Sends the PSB+ that is due, before the instruction at IP; it stays due where it
 * cannot be sent.
 */
void psb_send_due(struct pt_unit *unit, uint64_t ip);

/* The end of an event at IP with all its packets sent: PSB+, where DUE. */
void psb_end_event(struct pt_unit *unit, bool due, uint64_t ip);

#endif
