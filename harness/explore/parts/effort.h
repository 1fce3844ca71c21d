/*
 * The number of schedules of each part of an exploration, from an effort (effort.def)
 * or from a budget of schedules.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_PARTS_EFFORT_H
#define TOPAZ_HARNESS_EXPLORE_PARTS_EFFORT_H

#include "emu/base/base.h"

enum effort {
#define EFFORT(id, ...) EFFORT_##id,
#include "harness/explore/parts/effort.def"
#undef EFFORT
	EFFORT_COUNT
};

struct effort_parts {
	/* with one deviation, of all scenarios together, and the instructions that
	 * these execute; UINT64_MAX: any number */
	uint64_t one, insns;
	uint64_t sequences, calls;
	uint64_t novel, novel_each;
	uint64_t pairs, random;
};

struct effort_info {
	const char *name, *text;
	struct effort_parts parts;
};
const struct effort_info *effort_info(enum effort effort);

/* The effort with that NAME; EFFORT_COUNT: none. */
enum effort effort_find(const char *name);

/*
 * Divides BUDGET schedules among the parts; without SEQUENCES, the share of the
 * sequences goes to pairs and random schedules.
 */
struct effort_parts effort_of_budget(uint64_t budget, bool sequences);

#endif
