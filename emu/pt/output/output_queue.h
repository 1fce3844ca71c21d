/*
 * A unit's output on its way through the internal buffer (buffer.h), if it has one:
 * what enters, what reaches memory, what does not fit.  Without a buffer every byte
 * goes straight to topa.h.
 */
#ifndef TOPAZ_EMU_PT_OUTPUT_OUTPUT_QUEUE_H
#define TOPAZ_EMU_PT_OUTPUT_OUTPUT_QUEUE_H

#include "emu/base/base.h"

struct pt_unit;

/* Bytes generated that are not in memory yet. */
uint64_t output_queue_held(const struct pt_unit *unit);

/* True if there is room for BYTES more bytes now. */
bool output_queue_fits(const struct pt_unit *unit, size_t bytes);

/* Queues BYTES bytes of DATA, which must fit. */
void output_queue_put(struct pt_unit *unit, const uint8_t *data, size_t bytes);

/* Writes the bytes that have arrived in memory by now, and raises a PMI that is due. */
void output_queue_run(struct pt_unit *unit);

/*
 * Writes all held bytes.  Model choice: this takes no time; a PMI that it causes
 * has its usual delay.
 */
void output_queue_flush(struct pt_unit *unit);

/* The buffer overflows: all packets are lost until it is empty (model choice). */
void output_queue_overflow(struct pt_unit *unit);

/* True if the buffer's state ends an overflow that output_queue_overflow() began. */
bool output_queue_is_over(const struct pt_unit *unit);

/* Reports to the observer that the OVF of such an overflow is the next packet. */
void output_queue_tell_over(struct pt_unit *unit);

#endif
