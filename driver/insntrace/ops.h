/*
 * The operations on the one session that there can be: traces, buffers, start
 * and stop.  Any process may call them; the one that called Initialize owns the
 * session, which ends with it.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_OPS_H
#define TOPAZ_DRIVER_INSNTRACE_OPS_H

#include "driver/insntrace/insntrace.h"
#include "driver/insntrace/state.h"

struct process;

/* Once, before any other: what the CPU can do. */
void ops_init(void);

/* ARGS: the operation's structure (insntrace.h), or NULL where it has none;
 * read and filled in place.  Sleeps. */
enum insntrace_status ops_run(enum op op, void *args);

/* Whether [OFFSET, +BYTES) lies in one buffer and may be mapped now. */
enum insntrace_status ops_check_map(uint64_t offset, uint64_t bytes);
/* The frame at OFFSET, for a mapping. */
enum insntrace_status ops_map_frame(uint64_t offset, uint64_t *pa);

/* Stops tracing and frees everything, if OWNER (NULL: anyone) has a session. */
void ops_abandon(const struct process *owner);

#endif
