/*
 * Tracing of threads: each has a buffer of its own, whose registers are loaded when the
 * thread gets a CPU and saved when it leaves the CPU, whichever that is.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_TRACE_THREAD_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_TRACE_THREAD_H

#include "driver/insntrace/core/buffer/buffer.h"
#include "driver/insntrace/core/hw/hw.h"

/* From open to close a thread that ends is taken from its trace.  At close no slot has a
 * thread. */
void thread_open(void);
void thread_close(void);

/*
 * Trace SLOT is of THREAD; it is traced from now on if tracing is on.
 * NO_RESOURCES: the slot has a thread, or the thread a slot; INVALID_ARGS: no such
 * thread.
 */
enum insntrace_status thread_assign(uint32_t slot, uint32_t thread);
/* On return the slot's thread is not traced.  INVALID_ARGS: it has none. */
enum insntrace_status thread_release(uint32_t slot);

/* As trace_start and trace_stop; BUFFERS: COUNT, one for each slot. */
bool thread_start(
    const struct caps *caps, struct buffer *const *buffers, uint32_t count);
void thread_stop(void);

#endif
