/*
 * The states of the driver and which operation is allowed in which.  Pure.
 *
 *   CLOSED --Initialize--> ALLOCATED --Start--> ACTIVE
 *   CLOSED <--Terminate--  ALLOCATED <--Stop--  ACTIVE
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_SESSION_STATE_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_SESSION_STATE_H

#include <stdbool.h>

enum state {
	STATE_CLOSED,    /* no traces */
	STATE_ALLOCATED, /* traces, with or without buffers */
	STATE_ACTIVE,    /* tracing is on */
	STATE_COUNT,
};

enum op {
	OP_INITIALIZE,
	OP_TERMINATE,
	OP_GET_ALLOCATION,
	OP_ALLOCATE_BUFFER,
	OP_FREE_BUFFER,
	OP_GET_BUFFER_CONFIG,
	OP_GET_BUFFER_STATE,
	OP_GET_CHUNK, /* and mapping it */
	OP_START,
	OP_STOP,
	OP_ASSIGN_THREAD,
	OP_RELEASE_THREAD,
	OP_COUNT,
};

/* The state after OP has succeeded in STATE; false: BAD_STATE. */
bool state_next(enum state state, enum op op, enum state *next);

#endif
