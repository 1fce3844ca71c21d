/*
 * Turns control transfers and enables into packets: which packets, in which order,
 * with RET compression and the CFE packets of Event Trace.
 *
 * Source: SDM vol. 3, 33.7 "Packet Generation Scenarios".
 */
#ifndef TOPAZ_EMU_PT_FLOW_H
#define TOPAZ_EMU_PT_FLOW_H

#include "emu/pt/packet/packet.h"
#include "emu/pt/unit.h"

struct pt_resume;

/*
 * TraceEn went 0 -> 1 with output open: the packets of an enable whose next
 * instruction is at NLIP.  COUNT is STATUS.PacketByteCnt; CFE the Event Trace event
 * that enabled tracing, if there was one.
 */
void flow_enable(struct pt_unit *unit, const struct pt_context *at,
    uint64_t nlip, uint64_t count, enum packet_cfe cfe);

/* TraceEn went 0 -> 1 with output open: the packets of pt_unit_resume(). */
void sync_flow(struct pt_unit *unit, const struct pt_resume *resume);

/* TraceEn is about to fall by the instruction at CLIP: packets and flush. */
void flow_disable(struct pt_unit *unit, uint64_t clip);

/* TraceEn falls with a transfer whose own packets were sent. */
void flow_trace_off(struct pt_unit *unit);

/* TraceStop: its packet, unless that is LOST, then Stopped. */
void flow_stop(struct pt_unit *unit, bool lost);

/*
 * Sends the PSB+ that is due, before the instruction at IP; it stays due where it
 * cannot be sent.
 */
void flow_psb(struct pt_unit *unit, uint64_t ip);

/* The end of an event at IP with all its packets sent: PSB+, where DUE. */
void flow_end(struct pt_unit *unit, bool due, uint64_t ip);

/* CFE of TYPE; OWN_FUP: a FUP follows that belongs to it. */
void flow_send_cfe(
    struct pt_unit *unit, enum packet_cfe type, bool own_fup, uint8_t vector);

#endif
