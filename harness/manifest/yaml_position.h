/*
 * The line and column of an item in a YAML text, for messages about the meaning of the
 * text.  For errors of syntax and types, the library of schema.c gives the place itself.
 */
#ifndef TOPAZ_HARNESS_MANIFEST_YAML_POSITION_H
#define TOPAZ_HARNESS_MANIFEST_YAML_POSITION_H

#include "emu/base/base.h"

struct position {
	unsigned line, column; /* from 1 */
};

/*
 * PATH: keys and indices from the top, joined by '/': "scenarios/3/steps".  If an item
 * does not exist, the position of its nearest parent that does.
 */
struct position position_find(
    const char *text, size_t text_bytes, const char *path);

/* The first mapping key KEY at or after FROM; FROM if there is none. */
struct position position_key(
    const char *text, size_t text_bytes, const char *key, struct position from);

/* The first syntax error in TEXT; 1:1 if TEXT is valid YAML. */
struct position position_problem(const char *text, size_t text_bytes);

#endif
