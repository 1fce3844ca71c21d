/*
 * The cycle counter, and CYC packets.
 *
 * Source: SDM vol. 3, 33.4.2.14 "Cycle Count (CYC) Packet".
 */
#ifndef TOPAZ_EMU_PT_PACKET_CYC_H
#define TOPAZ_EMU_PT_PACKET_CYC_H

#include "emu/base/base.h"

struct pt_unit;

/* True if CYC packets are sent: a processor whose counter has no bits sends none. */
bool cyc_is_on(const struct pt_unit *unit);

/* TraceEn went 0 -> 1: the counter starts. */
void cyc_begin(struct pt_unit *unit);

/* The counter is 0 now. */
void cyc_restart(struct pt_unit *unit);

/* True if CYCs are on and *COUNT, the counter's value, has reached the threshold. */
bool cyc_is_due(const struct pt_unit *unit, uint64_t *count);

/*
 * To be called before a CYC-eligible packet is placed: sends a CYC if it is due and
 * none was sent in this cycle.
 */
void cyc_send(struct pt_unit *unit);

/*
 * Sends a CYC that belongs to no packet before the counter wraps, so that the cycles
 * add up.
 */
void cyc_wrap(struct pt_unit *unit);

#endif
