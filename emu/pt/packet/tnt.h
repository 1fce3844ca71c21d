/*
 * Outcomes of branches until a TNT packet takes them, and TIPs that wait with them.
 * Short TNT (6 bits) gathers in struct pt_fast alone.  Where the micro-architecture's .tnt_bits
 * is 47, full sixes of struct pt_fast go on to a long one; where its .deferred_tip
 * is set, a TIP waits behind TNT bits that are not full.
 *
 * Source: SDM vol. 3, 33.4.2.1 "Taken/Not-taken (TNT) Packet"; 33.4.2.3 "Deferred
 * TIPs".
 */
#ifndef TOPAZ_EMU_PT_PACKET_TNT_H
#define TOPAZ_EMU_PT_PACKET_TNT_H

#include "emu/base/base.h"

struct pt_unit;

/* No bit and no TIP is pending. */
bool tnt_is_empty(const struct pt_unit *unit);

/* Forgets all that is pending: it is lost. */
void tnt_forget(struct pt_unit *unit);

/* Adds the outcome of a branch; one that fills the packet sends it. */
void tnt_add(struct pt_unit *unit, bool taken);

/*
 * TIP of an indirect branch to TARGET, now or later.  True: it waits, and nothing
 * was sent.
 */
bool tnt_tip(struct pt_unit *unit, uint64_t target);

/* Sends what is pending: TNT, then TIPs. */
void tnt_flush(struct pt_unit *unit);

#endif
