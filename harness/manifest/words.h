/*
 * The guest's boot parameters (harness/guest/words.def) and their readers.
 */
#ifndef TOPAZ_HARNESS_MANIFEST_WORDS_H
#define TOPAZ_HARNESS_MANIFEST_WORDS_H

#include "emu/base/base.h"
#include "harness/manifest/schema.h"

struct word {
	const char *reader, *key, *preset, *text;
	bool number;
};

/* The INDEX-th row; NULL: no more rows. */
const struct word *word_at(size_t index);

/* The readers of a boot command line, apart from the kernel; NULL: no reader. */
struct word_readers {
	const char *os;
	const char *program[2];
	char *const *own; /* parameters that the driver reads itself */
	size_t own_count;
	const struct schema_run *run; /* its words are numbers; NULL: none */
};

/*
 * Checks LINE: boot parameters KEY=VALUE, separated by blanks.  -TZ_EUSAGE: none of the
 * READERS reads a parameter, or a value is not a number where a number is required; the
 * message names the parameter.
 */
int words_check(
    const char *line, const struct word_readers *readers, struct tz_error *err);

#endif
