/*
 * From control transfers and enables to packets: which and in what order, with
 * RET compression.  Not modelled: TSX, VMX, SMM, enclaves, timing, PTWRITE,
 * power events, event trace, deferred TIPs, long TNT; an overflow comes only when
 * it is asked for (steer.h).
 *
 * Source: SDM vol. 3, 33.7 "Packet Generation Scenarios".
 */
#ifndef TOPAZ_EMU_PT_FLOW_H
#define TOPAZ_EMU_PT_FLOW_H

#include "emu/pt/unit.h"

struct pt_resume;

/*
 * TraceEn went 0 -> 1 with output open: the packets of an enable whose next
 * instruction is at NLIP.  COUNT is STATUS.PacketByteCnt.
 */
void flow_enable(struct pt_unit *unit, const struct pt_context *at,
    uint64_t nlip, uint64_t count);

/* TraceEn went 0 -> 1 with output open: the packets of pt_unit_resume(). */
void flow_resume(struct pt_unit *unit, const struct pt_resume *resume);

/* Takes over where the CPU stands after an event; true if the trace stops. */
bool flow_move(struct pt_unit *unit, const struct pt_context *at, bool moved);

/* TraceEn is about to fall by the instruction at CLIP: packets and flush. */
void flow_disable(struct pt_unit *unit, uint64_t clip);

#endif
