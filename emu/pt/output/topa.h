/*
 * Trace output through a table of physical addresses (ToPA): from region to region,
 * INT, STOP and operational errors.  What of it a single range (single.h) shares: the
 * region that is being filled, and the writing.  Not modelled: trace transport.
 *
 * Source: SDM vol. 3, 33.2.7.2 "Table of Physical Addresses (ToPA)".
 */
#ifndef TOPAZ_EMU_PT_OUTPUT_TOPA_H
#define TOPAZ_EMU_PT_OUTPUT_TOPA_H

#include "emu/base/base.h"

struct pt_unit;

/*
 * Starts output at OUTPUT_BASE and OUTPUT_MASK_PTRS.  Sets STATUS.Error and
 * stays closed where the tables, the range or the offset are bad.
 */
void topa_open(struct pt_unit *unit);

/*
 * Starts to fill the region that .region_pa, .region_bytes, .region_stop and
 * .region_intr say, at .offset_bytes, which lies in it.  Returns NULL or why it
 * cannot, as static text.
 */
const char *topa_begin_region(struct pt_unit *unit);

/* The PMI of the current entry: SDM vol. 3, 33.2.7.2, "ToPA PMI". */
void topa_pmi(struct pt_unit *unit);

/* Ends output: reports what was written and keeps the position. */
void topa_close(struct pt_unit *unit);

/*
 * Writes BYTES bytes of DATA.  They are lost while no region is open, and from
 * where STOP or an error ends the output.
 */
void topa_write(struct pt_unit *unit, const uint8_t *data, size_t bytes);

/* topa_write() returns to layout_check_psb_counter() no later than at WRITTEN bytes. */
void topa_set_look(struct pt_unit *unit, uint64_t written);

/* Derives the window and what depends on it again, after a restore. */
void topa_rewindow(struct pt_unit *unit);

/*
 * Does output that goes on from here fill a region with INT, before STOP or an
 * error ends it, a whole pass is over or PT_FILL_ENTRIES_MAX entries were seen?
 * *BYTES are then those up to that region's end.
 */
bool topa_leads_to_intr(struct pt_unit *unit, uint64_t *bytes);

/* An operational error, TEXT, without a cause in the tables. */
void topa_fail(struct pt_unit *unit, const char *text);

/* Reports bytes that are in memory and were not reported yet. */
void topa_report_output(struct pt_unit *unit);

#endif
