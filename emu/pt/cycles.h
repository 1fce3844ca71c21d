/*
 * How long things take inside a PT unit: the figures of cycles.def.
 */
#ifndef TOPAZ_EMU_PT_CYCLES_H
#define TOPAZ_EMU_PT_CYCLES_H

#include "emu/base.h"

/* .buffer_bytes 0: everything is at once, and the other settings do not count. */
struct pt_cycles {
#define SETTING(member, unit, least, most, text, cite) uint32_t member;
#define FIXED(name, unit, value, text, cite)
#include "emu/pt/cycles.def"
#undef SETTING
#undef FIXED
};

enum {
#define SETTING(member, unit, least, most, text, cite)
#define FIXED(name, unit, value, text, cite) CYCLES_##name = (value),
#include "emu/pt/cycles.def"
#undef SETTING
#undef FIXED
};

/*
 * Can a unit be like this?  -TZ_EUSAGE, with the figure in ERR: it is out of range,
 * or more bytes would be on their way to memory than a unit can hold.
 */
int pt_cycles_check(const struct pt_cycles *cycles, struct tz_error *err);

#endif
