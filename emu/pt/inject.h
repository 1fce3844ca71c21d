/*
 * What may be done to a PT unit from outside, beside the guest's own doing:
 * freedom that a processor has (padding) and what a broken or overloaded one
 * does; and what a search over such deeds must know of a unit.  Every function
 * here is for a moment between two instructions.
 *
 * Not modelled: a forced overflow that is resolved between two control transfers, a
 * unit that caches ToPA entries beyond its current table.
 */
#ifndef TOPAZ_EMU_PT_INJECT_H
#define TOPAZ_EMU_PT_INJECT_H

#include "emu/pt/unit.h"

/* Entries that pt_unit_stale() makes a unit remember, at most. */
#define PT_STALE_ENTRIES_MAX 64

/* ToPA entries that pt_unit_fill_to_pmi() looks at, at most. */
#define PT_FILL_ENTRIES_MAX 65536

/* STATUS.TriggerEn: tracing is on and neither stopped nor in error. */
bool pt_unit_trigger_en(const struct pt_unit *unit);

/* The address of the ToPA entry whose region is being filled; false: none is. */
bool pt_unit_current_entry(const struct pt_unit *unit, struct gpa *pa);

/*
 * Pads the output until a region with INT is full and its PMI was raised.  The
 * output then stands at the start of the next region; TNT bits stay pending and
 * PacketByteCnt counts the padding, so a PSB may come with the next transfer.  A
 * bounded buffer is drained first, and that may be all that happens where STOP is hit.
 * False, and nothing has changed: no output is open, the buffer overflows, or
 * STOP, a bad entry, or a whole pass of the tables comes before any INT.
 *
 * SDM vol. 3, 33.2.7.2, "ToPA PMI"; 33.4.2.20 "PAD Packet".
 */
bool pt_unit_fill_to_pmi(struct pt_unit *unit);

/*
 * A ToPA operational error out of nothing: STATUS.Error is set, what is pending
 * is lost.  False: TriggerEn is 0.  SDM vol. 3, 33.3.9 "Operational Errors".
 */
bool pt_unit_force_error(struct pt_unit *unit);

/*
 * The present region is padded to its end and taken as one with STOP; an INT of
 * its own raises the PMI, too.  False: no output through ToPA is open, or the buffer
 * overflows.  SDM vol. 3, 33.2.7.2, "ToPA STOP".
 */
bool pt_unit_force_stop(struct pt_unit *unit);

/*
 * The internal buffer overflows: pending TNT bits and the packets of the next
 * TRANSFERS control transfers (0 counts as 1: only a transfer tells the unit
 * where the CPU is) are lost, then OVF is sent and, where PacketEn is 1, a FUP
 * with the address at which tracing resumes.  The enables go on meanwhile.  A
 * TraceEn 1 -> 0 or a TraceStop resolves the overflow before its time; the
 * TraceStop packet is lost.  False: TriggerEn is 0, no output is open, or an
 * overflow goes on already.
 *
 * SDM vol. 3, 33.3.8 "Internal Buffer Overflow"; 33.4.2.16 "Overflow (OVF)
 * Packet".
 */
bool pt_unit_overflow(struct pt_unit *unit, uint32_t transfers);

/*
 * The unit reads ENTRIES entries of its current table now, from the current one
 * up to the first END or STOP (PT_STALE_ENTRIES_MAX at most), and uses each of
 * them once instead of what memory holds then.  What is left of them is forgotten
 * when TraceEn goes 0 -> 1 next.  False: no output through ToPA is open, or ENTRIES
 * is 0.
 *
 * SDM vol. 3, 33.2.7.2: "the processor may cache internally any number of
 * entries".
 */
bool pt_unit_stale(struct pt_unit *unit, uint32_t entries);

/*
 * A hash of all that decides what the unit does next, for the same profile and
 * port.  Absolute byte counts are not part of it, nor what was reported as
 * PT_EVENT_OUTPUT already.
 */
uint64_t pt_unit_hash(const struct pt_unit *unit);

#endif
