/*
 * A trace buffer: its configuration, its chunks and tables in the guest's
 * frames, and what the last Stop found in it.  Only frames that tracing is off
 * for may be freed; who calls sees to that.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_BUFFER_H
#define TOPAZ_DRIVER_INSNTRACE_BUFFER_H

#include "driver/insntrace/insntrace.h"
#include "driver/insntrace/topa.h"

struct buffer {
	struct buffer *next; /* on its way to buffer_destroy_all */
	uint32_t descriptor;
	struct insntrace_config config;
	struct topa topa;
	bool mapped; /* a user mapping was made of it */
	struct insntrace_buffer_state state;
	enum insntrace_status state_status; /* what GetBufferState gives */
};

/* CONFIG has passed config_check.  NULL: no memory. */
struct buffer *buffer_create(
    uint32_t descriptor, const struct insntrace_config *config);

/*
 * Frees a list of buffers; their frames leave all user mappings first, for
 * which the processes are locked: the caller holds no lock.
 */
void buffer_destroy_all(struct buffer *list);

/* Where OFFSET of the buffer is among the device's mappings. */
uint64_t buffer_map_offset(const struct buffer *buffer, uint64_t offset);

/* The frame at OFFSET, below the buffer's size. */
uint64_t buffer_frame(const struct buffer *buffer, uint64_t offset);

#endif
