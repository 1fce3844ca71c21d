#include "emu/act.h"

#include <string.h>

static const struct act_info infos[ACT_COUNT] = {
#define ACT(id, word, class, text, parameter, citation) \
 [ACT_##id] = { word, ACT_CLASS_##class, text, parameter, citation },
#include "emu/act.def"
#undef ACT
};

const struct act_info *
act_info(enum act act)
{
	TZ_ASSERT((unsigned)act < ACT_COUNT);
	return &infos[act];
}

enum act
act_find(const char *word, size_t length)
{
	for (unsigned i = 0; i < ACT_COUNT; i++) {
		if (strlen(infos[i].word) == length &&
		    memcmp(infos[i].word, word, length) == 0)
			return (enum act)i;
	}
	return ACT_COUNT;
}
