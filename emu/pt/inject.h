/*
 * Deviations and faults of a PT unit: what a processor is free to do (padding),
 * what a broken or overloaded one does, and the state that a search over them
 * reads.  Call every function here between two instructions.
 *
 * Not modelled: a forced overflow that is resolved between two control transfers, a
 * unit that caches ToPA entries beyond its current table.
 */
#ifndef TOPAZ_EMU_PT_INJECT_H
#define TOPAZ_EMU_PT_INJECT_H

#include "emu/pt/unit.h"

/* Most entries that pt_unit_stale() makes a unit remember. */
#define PT_STALE_ENTRIES_MAX 64

/* Most ToPA entries that pt_unit_fill_to_pmi() examines. */
#define PT_FILL_ENTRIES_MAX 65536

/* STATUS.TriggerEn: tracing is on and neither stopped nor in error. */
bool pt_unit_trigger_en(const struct pt_unit *unit);

/* The address of the ToPA entry whose region is being filled; false: none is. */
bool pt_unit_current_entry(const struct pt_unit *unit, struct gpa *pa);

/*
 * Pads the output until a region with INT is full and its PMI was raised.  Output
 * then continues at the start of the next region.  TNT bits stay pending.
 * PacketByteCnt counts the padding, so a PSB may be sent with the next transfer.  A
 * bounded buffer is drained first; if that reaches STOP, nothing more happens.
 * False, with nothing changed: no output is open, the buffer overflows, or STOP, a
 * bad entry, or a whole pass of the tables comes before any INT.
 *
 * SDM vol. 3, 33.2.7.2, "ToPA PMI"; 33.4.2.20 "PAD Packet".
 */
bool pt_unit_fill_to_pmi(struct pt_unit *unit);

/*
 * A ToPA operational error without a cause: STATUS.Error is set, pending packets
 * are lost.  False: TriggerEn is 0.  SDM vol. 3, 33.3.9 "Operational Errors".
 */
bool pt_unit_force_error(struct pt_unit *unit);

/*
 * Pads the current region to its end and treats it as a region with STOP; if it has
 * INT, its PMI is raised, too.  False: no output through ToPA is open, or the
 * buffer overflows.  SDM vol. 3, 33.2.7.2, "ToPA STOP".
 */
bool pt_unit_force_stop(struct pt_unit *unit);

/*
 * The internal buffer overflows: pending TNT bits and the packets of the next
 * TRANSFERS control transfers (0 counts as 1: the unit learns the CPU's address
 * only from transfers) are lost, then OVF is sent and, where PacketEn is 1, a FUP
 * with the address at which tracing resumes.  The enables are still updated
 * meanwhile.  A TraceEn 1 -> 0 or a TraceStop ends the overflow early; the
 * TraceStop packet is lost.  False: TriggerEn is 0, no output is open, or an
 * overflow is already in progress.
 *
 * SDM vol. 3, 33.3.8 "Internal Buffer Overflow"; 33.4.2.16 "Overflow (OVF)
 * Packet".
 */
bool pt_unit_overflow(struct pt_unit *unit, uint32_t transfers);

/*
 * The unit reads ENTRIES entries of its current table now, from the current one up
 * to the first END or STOP (PT_STALE_ENTRIES_MAX at most).  It later uses each of
 * them once, instead of the content of memory at that time.  Unused ones are
 * dropped at the next TraceEn 0 -> 1.  False: no output through ToPA is open, or
 * ENTRIES is 0.
 *
 * SDM vol. 3, 33.2.7.2: "the processor may cache internally any number of
 * entries".
 */
bool pt_unit_stale(struct pt_unit *unit, uint32_t entries);

/*
 * A hash of everything that decides what the unit does next, for the same profile
 * and port.  Absolute byte counts and output already reported as PT_EVENT_OUTPUT
 * are not part of it.
 */
uint64_t pt_unit_hash(const struct pt_unit *unit);

#endif
