/*
 * The traces into hwt's buffers.  A trace is of a CPU or of a thread; its registers are in
 * an XSAVE area, with which it begins and ends on a CPU.  Its progress is told by records.
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
/* On return no record of it is sent any more; no CPU may have it. */
void trace_retire(struct trace *trace);
/* Retires it, too. */
void trace_free(struct trace *trace);

/* EINVAL: the context's configuration is none for these CPUs.  A trace that was configured
 * since its last trace_reset() stays as it is.  Any context, off included. */
int trace_configure(struct trace *trace, struct hwt_context *ctx);
bool trace_is_configured(const struct trace *trace);
void trace_reset(struct trace *trace);

/* Off: this CPU traces into it; nothing if it traces already. */
void trace_enter(struct trace *trace);
/* Off: this CPU does not trace for CTX. */
void trace_leave(struct hwt_context *ctx);
/* Off: true if this CPU traces. */
bool trace_is_here(void);

/* Where sleeping is allowed: the position of the next byte, now. */
uint64_t trace_position(struct trace *trace);
/* The same: tells the reader of all until now. */
void trace_tell(struct trace *trace);

#endif
