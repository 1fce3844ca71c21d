/*
 * The acts of act.def: what may be done to a running machine.
 */
#ifndef TOPAZ_EMU_ACT_H
#define TOPAZ_EMU_ACT_H

#include "emu/base.h"

enum act {
#define ACT(id, word, class, text, parameter, citation) ACT_##id,
#include "emu/act.def"
#undef ACT
	ACT_COUNT
};

enum act_class { ACT_CLASS_SCHEDULE, ACT_CLASS_FAULT };

/* Static text about an act. */
struct act_info {
	const char *word; /* as in tokens */
	enum act_class class;
	const char *text, *parameter, *citation; /* parameter "": none */
};
const struct act_info *act_info(enum act act);

/* The act of that WORD of LENGTH characters; ACT_COUNT: there is none. */
enum act act_find(const char *word, size_t length);

#endif
