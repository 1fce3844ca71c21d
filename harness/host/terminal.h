/*
 * Colours on a terminal.  They depend only on the stream and the environment; callers pass
 * no setting.  Text to a file, a pipe or memory is the same bytes in any environment.
 */
#ifndef TOPAZ_HARNESS_HOST_TERMINAL_H
#define TOPAZ_HARNESS_HOST_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum terminal_style {
	TERMINAL_GOOD,   /* passed */
	TERMINAL_BAD,    /* failed */
	TERMINAL_UNSURE, /* not judged */
	TERMINAL_HEADER, /* the first line of a finding */
};

/* True if FILE is a terminal that supports escapes: TERM is set and not "dumb". */
bool terminal_is(FILE *file);

/* True if also NO_COLOR is unset or empty (no-color.org). */
bool terminal_has_colour(FILE *file);

/* Output to FILE has STYLE until terminal_end(), if FILE has colours. */
void terminal_begin(FILE *file, enum terminal_style style);
void terminal_end(FILE *file);

/* Prints WORD in the style of the verdict: PASS and MATCH, FAIL and MISMATCH, others. */
void terminal_put_verdict(FILE *file, const char *word);

#endif
