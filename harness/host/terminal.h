/*
 * Colours on a terminal.  They depend on where a stream goes and on nothing that a
 * caller has to hand on: text into a file, a pipe or memory is the same bytes with any
 * environment.
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

/* Does FILE go to a terminal that understands escapes: TERM is set and not "dumb"? */
bool terminal_is(FILE *file);

/* The same, and NO_COLOR is unset or empty (no-color.org). */
bool terminal_has_colour(FILE *file);

/* Until terminal_end() FILE is in STYLE, if it has colours. */
void terminal_begin(FILE *file, enum terminal_style style);
void terminal_end(FILE *file);

/* WORD in the style of what it says: PASS and MATCH, FAIL and MISMATCH, others. */
void terminal_put_verdict(FILE *file, const char *word);

#endif
