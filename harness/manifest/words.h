/*
 * Words of the guest's command line (harness/guest/words.def): which there are, and who
 * reads them.
 */
#ifndef TOPAZ_HARNESS_MANIFEST_WORDS_H
#define TOPAZ_HARNESS_MANIFEST_WORDS_H

#include "emu/base/base.h"
#include "harness/manifest/schema.h"

struct word {
	const char *reader, *key, *preset, *text;
	bool number;
};

/* The INDEX-th row; NULL: there are no more. */
const struct word *word_at(size_t index);

/* Who reads a command line, beside the kernel; NULL: nobody more. */
struct word_readers {
	const char *os;
	const char *program[2];
	char *const *own; /* words that the driver reads itself */
	size_t own_count;
	const struct schema_run *run; /* whose words are numbers; NULL: none */
};

/*
 * Checks LINE, words KEY=VALUE with blanks between them.  -TZ_EUSAGE: one is none of the
 * READERS', or its value is no number where one is wanted; the text names the word.
 */
int words_check(
    const char *line, const struct word_readers *readers, struct tz_error *err);

#endif
