/*
 * The operations on the only session: traces, buffers, start and stop.  Any
 * process may call them; the process that called Initialize owns the session,
 * which ends with it.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_OPS_H
#define TOPAZ_DRIVER_INSNTRACE_OPS_H

#include "driver/insntrace/insntrace.h"
#include "driver/insntrace/state.h"

struct process;

/* To be called once before all others: reads the CPUs' features. */
void ops_init(void);

/* ARGS: the operation's structure (insntrace.h), or NULL if it has none; read
 * and filled in place.  Sleeps. */
enum insntrace_status ops_run(enum op op, void *args);

/* OK if [OFFSET, +BYTES) is in one buffer and may be mapped now. */
enum insntrace_status ops_check_map(uint64_t offset, uint64_t bytes);
/* The frame at OFFSET, for a mapping. */
enum insntrace_status ops_map_frame(uint64_t offset, uint64_t *pa);

/* If OWNER (NULL: any process) has a session, stops and frees it. */
void ops_abandon(const struct process *owner);

#endif
