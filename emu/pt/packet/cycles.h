/*
 * The delays inside a PT unit: the settings of cycles.def, and the functions that a
 * CPU needs for them besides unit.h.
 */
#ifndef TOPAZ_EMU_PT_PACKET_CYCLES_H
#define TOPAZ_EMU_PT_PACKET_CYCLES_H

#include "emu/base/base.h"

/* .buffer_bytes 0: no delays; the other settings are ignored. */
struct pt_cycles {
#define SETTING(member, unit, least, most, text, cite) uint32_t member;
#define FIXED(name, unit, value, text, cite)
#include "emu/pt/packet/cycles.def"
#undef SETTING
#undef FIXED
};

enum {
#define SETTING(member, unit, least, most, text, cite)
#define FIXED(name, unit, value, text, cite) CYCLES_##name = (value),
#include "emu/pt/packet/cycles.def"
#undef SETTING
#undef FIXED
};

struct pt_unit;

/*
 * Returns 0 if a unit can have these settings. -TZ_EUSAGE, with the setting in ERR:
 * it is out of range, or more bytes would be on their way to memory than a unit can
 * hold.
 */
int pt_cycles_check(const struct pt_cycles *cycles, struct tz_error *err);

/*
 * Gives a new unit a bounded internal buffer with the delays of CYCLES, which must
 * have passed pt_cycles_check().  Without this call, or with .buffer_bytes 0, a
 * unit has neither bounds nor delays. -TZ_EIO: out of memory.
 *
 * Bytes then reach memory some cycles after their packet was generated, and only
 * then the output pointers move, regions fill and PMIs are raised.  RDMSR of
 * MASK_PTRS while TraceEn is 1 shows what is in memory.  A packet that does not fit
 * begins an overflow (SDM vol. 3, 33.3.8 "Internal Buffer Overflow").  TraceEn 1 ->
 * 0 flushes everything.
 */
int pt_unit_set_cycles(struct pt_unit *unit, const struct pt_cycles *cycles);

/* Bytes in the internal buffer, not drained yet, at the time passed in last. */
uint64_t pt_unit_occupancy(const struct pt_unit *unit);

/*
 * The cycle of the next visible effect of a bounded buffer: it fills a region,
 * raises a PMI or ends its overflow.  UINT64_MAX: none is pending.
 */
uint64_t pt_unit_due(const struct pt_unit *unit);

/* Bytes until an INT region is full; UINT64_MAX: output from here on fills none. */
uint64_t pt_unit_bytes_to_intr(struct pt_unit *unit);

/* True if a bounded buffer is overflowing. */
bool pt_unit_overflows(const struct pt_unit *unit);

/*
 * True if, at the time passed in last, only the address of the next instruction is
 * missing to end the overflow.  pt_unit_resolve() supplies it; else the next
 * transfer does.
 */
bool pt_unit_wants_ip(const struct pt_unit *unit);

void pt_unit_resolve(struct pt_unit *unit, uint64_t ip);

#endif
