/*
 * Tracing on all CPUs at once: each into its buffer, started and stopped by the
 * kernel's rendezvous.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_TRACE_H
#define TOPAZ_DRIVER_INSNTRACE_TRACE_H

#include "driver/insntrace/buffer.h"
#include "driver/insntrace/hw.h"

/* BUFFERS: one for each CPU, none missing, untouched until trace_stop returns.
 * False: no place for the NMI handler; nothing has started. */
bool trace_start(const struct caps *caps, struct buffer *const *buffers);

/* No CPU traces when it returns, and each buffer's state says what it holds. */
void trace_stop(void);

#endif
