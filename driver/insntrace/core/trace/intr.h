/*
 * The PMIs of a trace buffer's chunks, taken as NMIs: each one reads the
 * position of this CPU's trace and does nothing else.  Other NMIs are not
 * claimed.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_TRACE_INTR_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_TRACE_INTR_H

#include "driver/insntrace/core/buffer/capture.h"

/* Registers the NMI handler; false: the kernel's chain is full.  intr_remove
 * returns when no CPU is inside the handler. */
bool intr_register(void);
void intr_remove(void);

/* For this CPU, interrupts off: begin before it traces into TOPA, from PROGRESS on... */
void intr_begin(
    const struct topa *topa, const struct capture_progress *progress);
/* ... and end after tracing has stopped: waits for a pending PMI; PROGRESS
 * receives what all of them read. */
void intr_end(struct capture_progress *progress);

/* Between the two, in an NMI handler: what the last PMI's read. */
struct capture_progress intr_progress(void);
/* Between the two, off: reads the position now, with tracing off meanwhile. */
struct capture_progress intr_look(void);

#endif
