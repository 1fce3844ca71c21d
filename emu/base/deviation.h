/*
 * The deviations of deviation.def: what may be done to a running machine.
 */
#ifndef TOPAZ_EMU_BASE_DEVIATION_H
#define TOPAZ_EMU_BASE_DEVIATION_H

#include "emu/base/base.h"

enum deviation_kind {
#define DEVIATION(id, word, class, text, parameter, citation) DEVIATION_##id,
#include "emu/base/deviation.def"
#undef DEVIATION
	DEVIATION_COUNT
};

enum deviation_class { DEVIATION_CLASS_SCHEDULE, DEVIATION_CLASS_FAULT };

/* Static text about a deviation. */
struct deviation_info {
	const char *word; /* as in tokens */
	enum deviation_class class;
	const char *text, *parameter, *citation; /* parameter "": none */
};
const struct deviation_info *deviation_info(enum deviation_kind kind);

/* The deviation of that WORD of LENGTH characters; DEVIATION_COUNT: there is none. */
enum deviation_kind deviation_find(const char *word, size_t length);

#endif
