/*
 * A trace buffer: its configuration, its chunks and tables, and its state
 * after the last Stop.  Frames may be freed only while tracing into them
 * is off; the caller ensures this.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_BUFFER_BUFFER_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_BUFFER_BUFFER_H

#include "driver/insntrace/core/buffer/topa.h"
#include "driver/insntrace/core/hw/hw.h"
#include "driver/insntrace/insntrace.h"

struct xstate;

/* Pages of the front end's, in place of chunks of a page that are allocated. */
struct buffer_pages {
	uint64_t (*page)(void *arg, uint32_t index); /* its physical address */
	void *arg;
};

struct buffer {
	struct buffer *next; /* in a list for buffer_destroy_all */
	uint32_t descriptor;
	struct insntrace_config config;
	struct topa topa;
	struct xstate *xstate; /* of a thread's trace; a page, or NULL */
	bool given;            /* its pages are the front end's */
	bool mapped;           /* a client has mapped it */
	struct insntrace_buffer_state state;
	enum insntrace_status state_status; /* the result of GetBufferState */
};

/*
 * CONFIG has passed config_check, unless PAGES are given (not NULL): then only its chunks
 * count.  MOVES: it is for a trace that moves from CPU to CPU.  NULL: no memory.
 */
struct buffer *buffer_create(uint32_t descriptor,
    const struct insntrace_config *config, bool moves,
    const struct buffer_pages *pages);

/* The registers with which tracing into BUFFER begins; RANGE_COUNT: that the CPU has. */
void buffer_setup(
    const struct buffer *buffer, uint32_t range_count, struct hw_setup *setup);

/* Frees a list of buffers, which no client maps any more. */
void buffer_destroy_all(struct buffer *list);

/* The offset in the device's mappings of OFFSET in the buffer. */
uint64_t buffer_map_offset(const struct buffer *buffer, uint64_t offset);

/* The frame at OFFSET, below the buffer's size. */
uint64_t buffer_frame(const struct buffer *buffer, uint64_t offset);

#endif
