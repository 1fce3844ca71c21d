/*
 * The operations on the only session: traces, buffers, start and stop.  The
 * front end calls one of these functions at a time, where sleeping is allowed.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_SESSION_SESSION_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_SESSION_SESSION_H

#include "driver/insntrace/core/buffer/buffer.h"
#include "driver/insntrace/core/session/state.h"
#include "driver/insntrace/insntrace.h"

/* To be called once before all others: reads the CPUs' features. */
void session_init(void);

/* ARGS: the operation's structure (insntrace.h), or NULL if it has none; read
 * and filled in place. */
enum insntrace_status session_run(enum op op, void *args);

/* OK if [OFFSET, +BYTES) is in one buffer and may be mapped now. */
enum insntrace_status session_check_map(uint64_t offset, uint64_t bytes);
/* The page at OFFSET, for a mapping. */
enum insntrace_status session_map_page(uint64_t offset, uint64_t *pa);

/* Stops and ends the session, if there is one. */
void session_abandon(void);

/*
 * The buffers that operations have removed since the last call: no trace refers
 * to them.  The caller unmaps those with .mapped from all clients, and calls
 * buffer_destroy_all().
 */
struct buffer *session_take_removed(void);

#endif
