/*
 * The output of the PT units in memory, as the events tell it: where it went, and where
 * TraceEn fell.
 */
#ifndef TOPAZ_TRACES_VERIFY_DELIVERY_UNITS_H
#define TOPAZ_TRACES_VERIFY_DELIVERY_UNITS_H

#include "traces/bundle/bundle.h"

/* Offsets count all bytes that the unit ever wrote. */
struct span {
	uint64_t pa, bytes, offset;
};

/* A fall of TraceEn. */
struct fall {
	uint64_t begin;  /* where TraceEn had risen */
	uint64_t offset; /* of the next byte */
	size_t event;    /* its index */
	unsigned cpu;
	bool stopped; /* the unit had stopped by itself */
};

struct unit {
	struct span *spans; /* by rising offset, as .falls */
	size_t span_count, span_room;
	struct fall *falls;
	size_t fall_count, fall_room;
	uint64_t written;
	uint64_t begin; /* where TraceEn last rose */
	bool stopped;   /* since then */
};

struct units {
	struct unit unit[BUNDLE_CPUS_MAX];
};

/* False: no memory.  units_free() frees them, also then. */
bool units_read(struct units *units, const struct event *events, size_t count);
void units_free(struct units *units);

/* The first fall of UNIT at or after OFFSET; NULL: there is none. */
const struct fall *units_find_fall(const struct unit *unit, uint64_t offset);

/* The span of UNIT that has OFFSET, or the next one; NULL: there is none. */
const struct span *units_find_span(const struct unit *unit, uint64_t offset);

#endif
