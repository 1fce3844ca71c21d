/*
 * The traces into hwt's buffers, each of a CPU or of a thread.  The
 * registers of a trace are in an XSAVE area while no CPU has them.  Records
 * tell the reader how far the trace is.
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
 * Where sleeping is allowed.  Of THREAD, which may not have its context yet, or of CPU in
 * CTX (THREAD is NULL).  EFBIG: the buffer has more pages than tables can have; ENOMEM.
 */
int trace_create(struct hwt_context *ctx, int cpu, struct hwt_thread *thread,
    struct hwt_vm *vm, struct trace **result);
/* No CPU has it.  On return no record of it is sent any more. */
void trace_retire(struct trace *trace);
/* Retires it, too. */
void trace_free(struct trace *trace);

/* Does nothing if it was done since the last trace_reset().  EINVAL: these CPUs cannot have
 * the context's configuration, or there is none.  Interrupts may be off. */
int trace_configure(struct trace *trace, struct hwt_context *ctx);
bool trace_is_configured(const struct trace *trace);
void trace_reset(struct trace *trace);

/* With interrupts off: this CPU traces into it; nothing if it traces already. */
void trace_enter(struct trace *trace);
/* With interrupts off: this CPU does not trace for CTX. */
void trace_leave(struct hwt_context *ctx);

/* Where sleeping is allowed: the position of the next byte, now. */
uint64_t trace_position(struct trace *trace);
/* The same: tells the reader of all until now. */
void trace_tell(struct trace *trace);

#endif
