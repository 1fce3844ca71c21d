/*
 * A unit's output on its way through the internal buffer (buffer.h), if it has one:
 * what enters, what reaches memory, what does not fit, and PMIs that take time.
 * Without one every byte goes straight to topa.h.
 */
#ifndef TOPAZ_EMU_PT_OUTPUT_OUTPUT_QUEUE_H
#define TOPAZ_EMU_PT_OUTPUT_OUTPUT_QUEUE_H

#include "emu/base/base.h"

struct pt_unit;

/* Bytes that were made and are not in memory. */
uint64_t output_queue_held(const struct pt_unit *unit);

/* Is there room for BYTES more now? */
bool output_queue_fits(const struct pt_unit *unit, size_t bytes);

/* Puts BYTES bytes of DATA, which must fit, on their way. */
void output_queue_put(struct pt_unit *unit, const uint8_t *data, size_t bytes);

/* Writes what has arrived in memory by now, and raises a PMI that is due. */
void output_queue_run(struct pt_unit *unit);

/*
 * Writes all that is held.  Model choice: it takes no time; a PMI that this leads to
 * takes its own.
 */
void output_queue_flush(struct pt_unit *unit);

/* The buffer overflows: what comes is lost until it is empty (model choice). */
void output_queue_overflow(struct pt_unit *unit);

/* Is an overflow that output_queue_overflow() began over, by the state of the buffer? */
bool output_queue_is_over(const struct pt_unit *unit);

/* Region INDEX of the table, which has INT, is full: raises the PMI, in time. */
void output_queue_raise_pmi(struct pt_unit *unit, uint32_t index);

/* Does time matter to what is held or waits, whatever the enables are? */
bool output_queue_is_busy(const struct pt_unit *unit);

/* Tells the observer that the OVF of such an overflow comes next. */
void output_queue_tell_over(struct pt_unit *unit);

#endif
