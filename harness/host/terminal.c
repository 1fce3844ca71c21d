#include "harness/host/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/base/base.h"

bool
terminal_is(FILE *file)
{
	const char *term = getenv("TERM");
	int fd = fileno(file); /* -1: a memory stream */

	return fd >= 0 && isatty(fd) && term != NULL &&
	    strcmp(term, "dumb") != 0;
}

bool
terminal_has_colour(FILE *file)
{
	const char *refused = getenv("NO_COLOR");

	return (refused == NULL || refused[0] == '\0') && terminal_is(file);
}

void
terminal_begin(FILE *file, enum terminal_style style)
{
	static const char *const escape[] = {
		[TERMINAL_GOOD] = "\x1b[32m",
		[TERMINAL_BAD] = "\x1b[1;31m",
		[TERMINAL_UNSURE] = "\x1b[1;33m",
		[TERMINAL_HEADER] = "\x1b[1m",
	};

	TZ_ASSERT((size_t)style < TZ_ARRAY_LEN(escape));
	if (terminal_has_colour(file))
		fputs(escape[style], file);
}

void
terminal_end(FILE *file)
{
	if (terminal_has_colour(file))
		fputs("\x1b[m", file);
}

/* The style of WORD; TERMINAL_UNSURE for a word that is not in the list. */
static enum terminal_style
style_of(const char *word)
{
	static const struct {
		const char *word;
		enum terminal_style style;
	} known[] = {
		{ "PASS", TERMINAL_GOOD },
		{ "MATCH", TERMINAL_GOOD },
		{ "FAIL", TERMINAL_BAD },
		{ "MISMATCH", TERMINAL_BAD },
	};

	for (size_t i = 0; i < TZ_ARRAY_LEN(known); i++) {
		if (strcmp(known[i].word, word) == 0)
			return known[i].style;
	}
	return TERMINAL_UNSURE;
}

void
terminal_put_verdict(FILE *file, const char *word)
{
	terminal_begin(file, style_of(word));
	fputs(word, file);
	terminal_end(file);
}
