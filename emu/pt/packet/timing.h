/*
 * Timing packets: TSC, TMA, MTC, CBR and CYC, from the clocks passed to
 * pt_unit_time().  Not modelled: a clock that stops with the PT logic in a deep
 * C-state, VMX TSC offset and scaling.
 *
 * Source: SDM vol. 3, 33.8.3 "Performance Monitoring and Timing", and the packets'
 * sections in 33.4.2.
 */
#ifndef TOPAZ_EMU_PT_PACKET_TIMING_H
#define TOPAZ_EMU_PT_PACKET_TIMING_H

struct pt_unit;

/* TraceEn went 0 -> 1: the cycle counter starts at 0, and the first MTC is scheduled. */
void timing_begin(struct pt_unit *unit);

/*
 * To be called before a CYC-eligible packet is placed: sends a CYC where CYCEn is
 * 1, the threshold is reached and none was sent in this cycle.
 */
void timing_cyc(struct pt_unit *unit);

/* TSC and TMA, if enabled, then CBR: for PSB+, an enable, a wake. */
void timing_status(struct pt_unit *unit);

/* The end of an overflow: a CYC with its duration, then OVF. */
void timing_overflow(struct pt_unit *unit);

#endif
