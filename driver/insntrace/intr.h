/*
 * The PMIs of a trace buffer's chunks, taken as NMIs: each is a look at how far
 * this CPU's trace has come.  Nothing else happens in it, and no other NMI is
 * claimed.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_INTR_H
#define TOPAZ_DRIVER_INSNTRACE_INTR_H

#include "driver/insntrace/capture.h"

/* Puts the handler into the kernel's chain; false: that is full.  remove
 * returns when no CPU is inside the handler. */
bool intr_register(void);
void intr_remove(void);

/* This CPU's, interrupts off: begin before it traces into TOPA... */
void intr_begin(const struct topa *topa);
/* ... and end when tracing has stopped: waits for a PMI that is under way; what
 * all of them saw. */
void intr_end(struct capture_progress *progress);

#endif
