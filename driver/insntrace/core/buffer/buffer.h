/*
 * A trace buffer: its configuration, its chunks and tables, and its state after the last Stop.  Frames may be freed only while
 * tracing into them is off; the caller ensures this.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_BUFFER_BUFFER_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_BUFFER_BUFFER_H

#include "driver/insntrace/core/buffer/topa.h"
#include "driver/insntrace/insntrace.h"

struct xstate;

struct buffer {
	struct buffer *next; /* in a list for buffer_destroy_all */
	uint32_t descriptor;
	struct insntrace_config config;
	struct topa topa;
	struct xstate *xstate; /* of a thread's trace; a page, or NULL */
	bool mapped;           /* a client has mapped it */
	struct insntrace_buffer_state state;
	enum insntrace_status state_status; /* the result of GetBufferState */
};

/* CONFIG has passed config_check; THREAD: it is for a thread.  NULL: no memory. */
struct buffer *buffer_create(
    uint32_t descriptor, const struct insntrace_config *config, bool thread);

/* Frees a list of buffers, which no client maps any more. */
void buffer_destroy_all(struct buffer *list);

/* The offset in the device's mappings of OFFSET in the buffer. */
uint64_t buffer_map_offset(const struct buffer *buffer, uint64_t offset);

/* The frame at OFFSET, below the buffer's size. */
uint64_t buffer_frame(const struct buffer *buffer, uint64_t offset);

#endif
