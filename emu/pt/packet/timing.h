/*
 * Timing packets other than CYC: TSC, TMA, MTC and CBR, from the clocks passed to
 * pt_unit_time().  Not modelled: a clock that stops with the PT logic in a deep
 * C-state, VMX TSC offset and scaling.
 *
 * Source: SDM vol. 3, 33.8.3 "Performance Monitoring and Timing", and the packets'
 * sections in 33.4.2.
 */
#ifndef TOPAZ_EMU_PT_PACKET_TIMING_H
#define TOPAZ_EMU_PT_PACKET_TIMING_H

struct pt_unit;

/* TraceEn went 0 -> 1: the cycle counter starts, and the first MTC is scheduled. */
void timing_begin(struct pt_unit *unit);

/* TSC and TMA, if enabled, then CBR: for PSB+, an enable, a wake. */
void timing_status(struct pt_unit *unit);

/* The crystal clock has reached the edge that was due: MTC, and the next edge. */
void timing_mtc(struct pt_unit *unit);

#endif
