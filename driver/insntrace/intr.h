/*
 * The PMI of a trace buffer's last chunk, taken as an NMI: it counts the wraps
 * of this CPU's buffer.  Nothing else happens in it, and no other NMI is
 * claimed.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_INTR_H
#define TOPAZ_DRIVER_INSNTRACE_INTR_H

#include <stdbool.h>
#include <stdint.h>

/* Puts the handler into the kernel's chain; false: that is full.  remove
 * returns when no CPU is inside the handler. */
bool intr_register(void);
void intr_remove(void);

/* This CPU's, interrupts off: begin before tracing starts... */
void intr_begin(void);
/* ... and end when it has stopped: waits for a PMI that is under way, and
 * returns the number of wraps since begin. */
uint64_t intr_end(void);

#endif
