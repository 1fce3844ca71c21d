/*
 * The record of every observable event.  Producers fill it in; observers (a
 * bundle's event log, invariants, reports) read it.  Rows: emu/base/event.def.
 */
#ifndef TOPAZ_EMU_BASE_EVENT_H
#define TOPAZ_EMU_BASE_EVENT_H

#include "emu/base/base.h"

enum event_kind {
#define EVENT(id, text, a, b, c) EVENT_##id,
#include "emu/base/event.def"
#undef EVENT
	EVENT_KIND_COUNT
};

/* 48 bytes, no padding, little-endian: also the form in a bundle's file. */
struct event {
	uint16_t kind; /* enum event_kind */
	uint16_t cpu;
	uint32_t reserved; /* 0 */
	uint64_t insns;    /* instructions that this CPU has retired */
	uint64_t cycles;   /* this CPU's virtual time */
	uint64_t a, b, c;  /* by kind: see event.def */
};
_Static_assert(sizeof(struct event) == 48, "the event's form is a file format");

/*
 * The `stream` argument: which trace buffer user space mapped or read.  Thread
 * streams carry the OS's buffer id, CPU streams the CPU number.
 */
#define EVENT_STREAM_THREAD     TZ_BIT(32)
#define EVENT_STREAM_ID(stream) ((uint32_t)(stream))

/* Static text and argument names of KIND, for logs. */
struct event_info {
	const char *name; /* "TOPA_PMI" */
	const char *text; /* "ToPA PMI raised" */
	const char *arg[3];
};
const struct event_info *event_info(enum event_kind kind);

#endif
