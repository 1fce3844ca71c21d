/*
 * The PT state component of the XSAVE feature set: the trace registers of a thread,
 * which move with it from CPU to CPU.  SDM vol. 1, 13.5.6 "PT State": it has two
 * filter ranges, the other registers are not in it.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_HW_XSTATE_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_HW_XSTATE_H

#include "driver/insntrace/core/hw/hw.h"

#define XSTATE_RANGES 2u

/* An area in the compacted format; 64-byte aligned, less than a page. */
struct xstate;

/* AREA, all 0: tracing begins with SETUP when it is loaded first. */
void xstate_init(struct xstate *area, const struct hw_setup *setup);

/* AREA, which no CPU has loaded: tracing goes on where it is, with the rest of SETUP.  It
 * has not stopped by itself: xstate_init() then. */
void xstate_change(struct xstate *area, const struct hw_setup *setup);

/*
 * On each CPU, off: begin before its first load, end after its last save, with what
 * begin has returned.
 */
uint64_t xstate_begin(void);
void xstate_end(uint64_t xss);

/* Tracing goes on where AREA says, unless it has stopped by itself: AREA has that, too.
 * TraceEn must be 0. */
void xstate_load(const struct xstate *area);
/* TraceEn = 0; everything written is in memory, and AREA says where to go on. */
void xstate_save(struct xstate *area);

/* The registers of AREA, which no CPU has loaded. */
void xstate_capture(const struct xstate *area, struct hw_capture *capture);

#endif
