/*
 * Trace output through a table of physical addresses (ToPA): from region to region,
 * INT, STOP and operational errors.  A single range (single.h) shares the region
 * that is being filled, and the writing.  Not modelled: trace transport.
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

/* Ends output: reports what was written and keeps the position. */
void topa_close(struct pt_unit *unit);

/*
 * Writes BYTES bytes of DATA.  They are lost while no region is open, and after
 * STOP or an error has ended the output.
 */
void topa_write(struct pt_unit *unit, const uint8_t *data, size_t bytes);

/* topa_write() returns to layout_check_psb_counter() no later than at WRITTEN bytes. */
void topa_set_look(struct pt_unit *unit, uint64_t written);

/* Derives the window and what depends on it anew, after a restore. */
void topa_rewindow(struct pt_unit *unit);

/*
 * True if output from here on fills a region with INT before STOP or an error ends
 * it, within one pass of the tables and PT_FILL_ENTRIES_MAX entries.  *BYTES is
 * then the number of bytes up to that region's end.
 */
bool topa_leads_to_intr(struct pt_unit *unit, uint64_t *bytes);

/* An operational error without a cause in the tables; TEXT describes it. */
void topa_fail(struct pt_unit *unit, const char *text);

/* Reports bytes that are in memory and were not reported yet. */
void topa_report_output(struct pt_unit *unit);

#endif
