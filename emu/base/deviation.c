#include "emu/base/deviation.h"

#include <string.h>

static const struct deviation_info infos[DEVIATION_COUNT] = {
#define DEVIATION(id, word, class, searches, when, usual, effects, text,       \
    parameter, citation)                                                       \
 [DEVIATION_##id] = { #word, DEVIATION_CLASS_##class, (searches), when, usual, \
	 (effects), text, parameter, citation },
#include "emu/base/deviation.def"
#undef DEVIATION
};

_Static_assert(DEVIATION_COUNT <= 32, "sets of kinds have 32 bits");

const struct deviation_info *
deviation_info(enum deviation_kind kind)
{
	TZ_ASSERT((unsigned)kind < DEVIATION_COUNT);
	return &infos[kind];
}

uint32_t
deviation_kinds(uint32_t searches)
{
	uint32_t kinds = 0;

	for (unsigned i = 0; i < DEVIATION_COUNT; i++) {
		if (infos[i].searches & searches)
			kinds |= UINT32_C(1) << i;
	}
	return kinds;
}

enum deviation_kind
deviation_find(const char *word, size_t length)
{
	for (unsigned i = 0; i < DEVIATION_COUNT; i++) {
		if (strlen(infos[i].word) == length &&
		    memcmp(infos[i].word, word, length) == 0)
			return (enum deviation_kind)i;
	}
	return DEVIATION_COUNT;
}
