/*
 * How long things take inside a PT unit: the figures of cycles.def, and what a CPU
 * needs to know of them beside unit.h.
 */
#ifndef TOPAZ_EMU_PT_PACKET_CYCLES_H
#define TOPAZ_EMU_PT_PACKET_CYCLES_H

#include "emu/base/base.h"

/* .buffer_bytes 0: everything is at once, and the other settings do not count. */
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
 * Can a unit be like this?  -TZ_EUSAGE, with the figure in ERR: it is out of range,
 * or more bytes would be on their way to memory than a unit can hold.
 */
int pt_cycles_check(const struct pt_cycles *cycles, struct tz_error *err);

/*
 * Gives a new unit an internal buffer with bounds and times, which must have passed
 * pt_cycles_check(); without this, or with .buffer_bytes 0, it has neither.
 * -TZ_EIO: out of memory.
 *
 * Bytes then reach memory some cycles after their packet was made, and the output
 * pointers, full regions and PMIs come with them.  RDMSR of MASK_PTRS while TraceEn
 * is 1 shows what is in memory.  A packet that does not fit begins an overflow (SDM
 * vol. 3, 33.3.8 "Internal Buffer Overflow").  TraceEn 1 -> 0 flushes everything.
 */
int pt_unit_set_cycles(struct pt_unit *unit, const struct pt_cycles *cycles);

/* Bytes in the internal buffer at the time handed in last: made, not drained. */
uint64_t pt_unit_occupancy(const struct pt_unit *unit);

/*
 * The cycle in which a bounded buffer next does what can be seen from outside: fills
 * a region, raises a PMI, ends its overflow; UINT64_MAX: none is in sight.
 */
uint64_t pt_unit_due(const struct pt_unit *unit);

/* Bytes until an INT region is full; UINT64_MAX: none is filled from here on. */
uint64_t pt_unit_bytes_to_intr(struct pt_unit *unit);

/* Does an overflow of a bounded buffer go on? */
bool pt_unit_overflows(const struct pt_unit *unit);

/*
 * Is the overflow over but for the address of the next instruction, by the time that
 * was handed in last?  pt_unit_resolve() says it; else the next transfer does.
 */
bool pt_unit_wants_ip(const struct pt_unit *unit);

void pt_unit_resolve(struct pt_unit *unit, uint64_t ip);

#endif
