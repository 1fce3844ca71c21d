#include "harness/explore/parts/effort.h"

#include <string.h>

/*
 * Shares of a budget, in percent: all but schedules with one deviation in a
 * scenario; of these, sequences and placements in them.
 */
#define BEYOND_PERCENT    50
#define SEQUENCES_PERCENT 25
#define NOVEL_PERCENT     50
#define NOVEL_EACH        200
#define CALLS_PERCENT     6 /* in addition */

static const struct effort_info infos[EFFORT_COUNT] = {
#define EFFORT(                                                                \
    id, name, text, insns, sequences, calls, novel, novel_each, pairs, random) \
 [EFFORT_##id] = { name, text,                                                 \
	 { UINT64_MAX, insns, sequences, calls, novel, novel_each, pairs,      \
	     random } },
#include "harness/explore/parts/effort.def"
#undef EFFORT
};

const struct effort_info *
effort_info(enum effort effort)
{
	TZ_ASSERT((unsigned)effort < EFFORT_COUNT);
	return &infos[effort];
}

enum effort
effort_find(const char *name)
{
	unsigned i = 0;

	while (i < EFFORT_COUNT && strcmp(infos[i].name, name) != 0)
		i++;
	return (enum effort)i;
}

struct effort_parts
effort_of_budget(uint64_t budget, bool sequences)
{
	uint64_t beyond = budget * BEYOND_PERCENT / 100;
	struct effort_parts parts = { .insns = UINT64_MAX,
		.novel_each = NOVEL_EACH };

	if (sequences) {
		parts.sequences = beyond * SEQUENCES_PERCENT / 100;
		parts.novel = beyond * NOVEL_PERCENT / 100;
		parts.calls = beyond * CALLS_PERCENT / 100;
	}
	parts.one = budget - beyond - parts.calls;
	beyond -= parts.sequences + parts.novel;
	parts.pairs = beyond / 2;
	parts.random = beyond / 2;
	return parts;
}
