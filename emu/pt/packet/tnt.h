/*
 * Pending branch outcomes, and TIPs deferred with them, until a TNT packet holds
 * them.  The bits of a short TNT (6) collect in struct pt_fast alone.  Where the
 * micro-architecture's .tnt_bits is 47, each 6 bits of struct pt_fast move to a
 * long TNT.  Where its .deferred_tip is set, a TIP waits until the TNT before it is
 * full.
 *
 * Source: SDM vol. 3, 33.4.2.1 "Taken/Not-taken (TNT) Packet"; 33.4.2.3 "Deferred
 * TIPs".
 */
#ifndef TOPAZ_EMU_PT_PACKET_TNT_H
#define TOPAZ_EMU_PT_PACKET_TNT_H

#include "emu/base/base.h"

struct pt_unit;

/* Adds the outcome of a branch; sends the packet if it is then full. */
void tnt_add(struct pt_unit *unit, bool taken);

/*
 * TIP of an indirect branch to TARGET, now or later.  True: the TIP is deferred,
 * and nothing was sent.
 */
bool tnt_tip(struct pt_unit *unit, uint64_t target);

/* Sends the pending TNT, then the pending TIPs. */
void tnt_flush(struct pt_unit *unit);

#endif
