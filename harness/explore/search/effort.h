/*
 * How many schedules each part of an exploration has: by an effort (effort.def) or by a
 * budget of schedules.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_EFFORT_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_EFFORT_H

#include "emu/base/base.h"

enum effort {
#define EFFORT(id, ...) EFFORT_##id,
#include "harness/explore/search/effort.def"
#undef EFFORT
	EFFORT_COUNT
};

struct effort_parts {
	uint64_t one; /* with one deviation, of all scenarios together */
	uint64_t sequences, calls;
	uint64_t novel, novel_each;
	uint64_t pairs, random;
};

struct effort_info {
	const char *name, *text;
	struct effort_parts parts; /* .one: all */
};
const struct effort_info *effort_info(enum effort effort);

/* The one of that NAME; EFFORT_COUNT: there is none. */
enum effort effort_find(const char *name);

/* BUDGET schedules, divided; without SEQUENCES their parts go to pairs and random ones. */
struct effort_parts effort_of_budget(uint64_t budget, bool sequences);

#endif
