/*
 * The internal buffer of a PT unit: bytes enter in the cycle in which their packet
 * is generated, leave at the drain's rate, and reach memory some cycles later.  The
 * cycle in which a byte leaves is computed when it enters: everything is a function
 * of (time, bytes).
 *
 * Model choices: the drain takes bytes in order; a byte leaves no sooner than in
 * the cycle after the one in which it entered; an idle drain accumulates no credit.
 */
#ifndef TOPAZ_EMU_PT_OUTPUT_BUFFER_H
#define TOPAZ_EMU_PT_OUTPUT_BUFFER_H

#include "emu/pt/packet/cycles.h"

/* Most bytes that a unit can hold, including those on their way to memory. */
#define BUFFER_HELD_MAX 4096

struct buffer {
	uint64_t put, taken; /* bytes since its creation */
	uint64_t busy; /* the drain is busy until then, in units of cycle /
			  drain_bytes */
	uint64_t leaves[BUFFER_HELD_MAX]; /* the cycle in which each byte leaves,
					     by byte number % BUFFER_HELD_MAX */
	uint8_t data[BUFFER_HELD_MAX];
};

/* Bytes that are neither in memory nor taken out. */
static inline uint64_t
buffer_held(const struct buffer *buffer)
{
	return buffer->put - buffer->taken;
}

/* Enters BYTES bytes of DATA in cycle NOW, which never decreases. */
void buffer_put(struct buffer *buffer, const struct pt_cycles *cycles,
    uint64_t now, const uint8_t *data, size_t bytes);

/* Bytes that have not left by the end of cycle NOW. */
uint64_t buffer_occupancy(const struct buffer *buffer, uint64_t now);

/* The cycle in which the last byte leaves; 0: none ever entered. */
uint64_t buffer_empty_at(const struct buffer *buffer);

/* Held bytes that are in memory in cycle NOW. */
uint64_t buffer_arrived(
    const struct buffer *buffer, const struct pt_cycles *cycles, uint64_t now);

/*
 * The cycle in which the INDEX-th held byte, from 0, reaches memory; UINT64_MAX if
 * fewer bytes are held.
 */
uint64_t buffer_arrival(const struct buffer *buffer,
    const struct pt_cycles *cycles, uint64_t index);

/* Takes the oldest BYTES held bytes out. */
void buffer_take(struct buffer *buffer, uint8_t *data, size_t bytes);

/* Drops all held bytes; the drain is then idle. */
void buffer_forget(struct buffer *buffer);

/* A hash of the held bytes and the cycles in which they leave. */
uint64_t buffer_hash(const struct buffer *buffer);

#endif
