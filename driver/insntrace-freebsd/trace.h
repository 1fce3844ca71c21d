/*
 * Traces into hwt's buffers, each of one CPU or of one thread.  While no CPU runs a
 * trace, its registers are in an XSAVE area.  Records tell hwt's reader how far the trace
 * has come.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_FREEBSD_TRACE_H
#define TOPAZ_DRIVER_INSNTRACE_FREEBSD_TRACE_H

#include <stdbool.h>
#include <stdint.h>

struct hwt_context;
struct hwt_thread;
struct hwt_vm;
struct trapframe;
struct trace;

/* ENXIO: the CPUs lack what the driver needs; or an error of the kernel's. */
int trace_load(void);
/* EBUSY: there are traces. */
int trace_unload(void);

/*
 * Makes the trace of THREAD, which need not have its context yet, or, if THREAD is NULL,
 * that of CPU in CTX.  May sleep.  EFBIG: the buffer has more pages than tables can have;
 * ENOMEM.
 */
int trace_create(struct hwt_context *ctx, int cpu, struct hwt_thread *thread,
    struct hwt_vm *vm, struct trace **result);
/* No CPU may run TRACE.  After the call, no record of it is sent. */
void trace_retire(struct trace *trace);
/* Retires TRACE, too. */
void trace_free(struct trace *trace);

/*
 * Sets the registers up as CTX is configured; nothing if that was done since the last
 * trace_reset().  Interrupts may be off.  EINVAL: CTX has no configuration, or these CPUs
 * cannot have it.
 */
int trace_configure(struct trace *trace, struct hwt_context *ctx);
bool trace_is_configured(const struct trace *trace);
void trace_reset(struct trace *trace);

/* Starts TRACE on this CPU, unless it traces already.  Interrupts must be off. */
void trace_enter(struct trace *trace);
/* Stops this CPU's trace, if it is of CTX.  Interrupts must be off. */
void trace_leave(struct hwt_context *ctx);

/* The position of the next byte, now.  May sleep. */
uint64_t trace_position(struct trace *trace);
/* Tells the reader of all bytes until now.  May sleep. */
void trace_tell(struct trace *trace);

#endif
