/*
 * Tracing on all CPUs at once: each into its buffer, started and stopped by the
 * kernel's rendezvous.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_TRACE_TRACE_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_TRACE_TRACE_H

#include "driver/insntrace/core/buffer/buffer.h"
#include "driver/insntrace/core/buffer/capture.h"
#include "driver/insntrace/core/hw/hw.h"

/* Fills in the state of BUFFER: PROGRESS and LAST as for capture_decode. */
void trace_decode(struct buffer *buffer,
    const struct capture_progress *progress, const struct hw_capture *last);

/* BUFFERS: one for each CPU, not NULL, unchanged until trace_stop returns.
 * False: no slot for the NMI handler; nothing has started. */
bool trace_start(const struct caps *caps, struct buffer *const *buffers);

/* On return no CPU traces, and each buffer's state is filled in. */
void trace_stop(void);

#endif
