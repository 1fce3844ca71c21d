/*
 * The internal buffer of a PT unit: bytes enter in the cycle in which their packet
 * is made, leave at the drain's rate, and are in memory some cycles later.  When a
 * byte leaves is settled when it enters: everything is a function of (time, bytes).
 *
 * Model choices: the drain takes bytes in order; a byte leaves no sooner than in
 * the cycle after the one in which it entered; a drain that has nothing to do saves
 * nothing up.
 */
#ifndef TOPAZ_EMU_PT_OUTPUT_BUFFER_H
#define TOPAZ_EMU_PT_OUTPUT_BUFFER_H

#include "emu/pt/packet/cycles.h"

/* Bytes that a unit can hold, on their way to memory included. */
#define BUFFER_HELD_MAX 4096

struct buffer {
	uint64_t put, taken; /* bytes since its creation */
	uint64_t busy; /* parts of a cycle, 1/drain_bytes: the drain is, until
			  then */
	uint64_t leaves[BUFFER_HELD_MAX]; /* the cycle, by byte % the maximum */
	uint8_t data[BUFFER_HELD_MAX];
};

/* Bytes that are neither in memory nor taken out. */
static inline uint64_t
buffer_held(const struct buffer *buffer)
{
	return buffer->put - buffer->taken;
}

/* Puts BYTES bytes of DATA in, in cycle NOW, which never goes back. */
void buffer_put(struct buffer *buffer, const struct pt_cycles *cycles,
    uint64_t now, const uint8_t *data, size_t bytes);

/* Bytes that have not left at the end of cycle NOW. */
uint64_t buffer_occupancy(const struct buffer *buffer, uint64_t now);

/* The cycle in which the last byte leaves; 0: none ever entered. */
uint64_t buffer_empty_at(const struct buffer *buffer);

/* Held bytes that are in memory in cycle NOW. */
uint64_t buffer_arrived(
    const struct buffer *buffer, const struct pt_cycles *cycles, uint64_t now);

/*
 * The cycle in which the INDEX-th held byte, from 0, is in memory; UINT64_MAX: so
 * many are not held.
 */
uint64_t buffer_arrival(const struct buffer *buffer,
    const struct pt_cycles *cycles, uint64_t index);

/* Takes the oldest BYTES held bytes out. */
void buffer_take(struct buffer *buffer, uint8_t *data, size_t bytes);

/* Forgets all held bytes; the drain is free again from there on. */
void buffer_forget(struct buffer *buffer);

/* A hash of what is held and when it leaves. */
uint64_t buffer_hash(const struct buffer *buffer);

#endif
