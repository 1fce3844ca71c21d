#include "emu/base/deviation.h"

#include <string.h>

static const struct deviation_info infos[DEVIATION_COUNT] = {
#define DEVIATION(id, word, class, text, parameter, citation) \
 [DEVIATION_##                                                \
     id] = { word, DEVIATION_CLASS_##class, text, parameter, citation },
#include "emu/base/deviation.def"
#undef DEVIATION
};

const struct deviation_info *
deviation_info(enum deviation_kind kind)
{
	TZ_ASSERT((unsigned)kind < DEVIATION_COUNT);
	return &infos[kind];
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
