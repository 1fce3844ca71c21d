/*
 * How a guest is set up for a run: words joined by ',' (a table in layout.c).
 */
#ifndef TOPAZ_HARNESS_EXPLORE_LAYOUT_H
#define TOPAZ_HARNESS_EXPLORE_LAYOUT_H

#include "emu/profile/profile.h"

#define LAYOUT_ABSENT_MAX     8
#define LAYOUT_SETTINGS_BYTES 192

struct layout {
	bool invariants; /* the driver is compiled with INVARIANTS */
	char settings[LAYOUT_SETTINGS_BYTES]; /* words for the guest */
	struct profile_absent absent[LAYOUT_ABSENT_MAX];
	size_t absent_count;
};

/* -TZ_EUSAGE: names the word that is none. */
int layout_parse(
    const char *words, struct layout *layout, struct tz_error *err);

/* The words that there are, for lists: NULL past the last. */
struct layout_word {
	const char *word, *text;
};
const struct layout_word *layout_word_at(size_t index);

#endif
