/*
 * TraceEn 0 -> 1 and 1 -> 0, and TraceStop: output begins and ends, with the packets at
 * both ends of a trace.
 *
 * Source: SDM vol. 3, 33.2.8.3 "Enabling and Disabling Packet Generation with TraceEn".
 */
#ifndef TOPAZ_EMU_PT_TRACE_H
#define TOPAZ_EMU_PT_TRACE_H

#include "emu/pt/packet/packet.h"
#include "emu/pt/unit.h"

/* TraceEn 0 -> 1 without its packets: IA32_RTIT_CTL already has the new value. */
void trace_open(struct pt_unit *unit);

/*
 * TraceEn 0 -> 1 with the packets of an enable at AT, whose next instruction is at NLIP:
 * IA32_RTIT_CTL already has the new value.  CFE: the Event Trace event that goes with it.
 */
void trace_on(struct pt_unit *unit, const struct pt_context *at, uint64_t nlip,
    enum packet_cfe cfe);

/* TraceEn 1 -> 0, after its packets were sent: output ends, counts freeze. */
void trace_off(struct pt_unit *unit);

/* TraceEn 1 -> 0 with a transfer whose own packets were sent: they are flushed. */
void trace_off_flushed(struct pt_unit *unit);

/* TraceEn 1 -> 0 by the instruction at CLIP, with the packets of a disable. */
void trace_disable(struct pt_unit *unit, uint64_t clip);

/* TraceStop: its packet, unless that is LOST, then Stopped. */
void trace_stop(struct pt_unit *unit, bool lost);

#endif
