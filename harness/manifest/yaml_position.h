/*
 * Where something stands in a YAML text, for messages about what the text means
 * (what it is made of, schema.c's library says itself).
 */
#ifndef TOPAZ_HARNESS_MANIFEST_YAML_POSITION_H
#define TOPAZ_HARNESS_MANIFEST_YAML_POSITION_H

#include "emu/base/base.h"

struct position {
	unsigned line, column; /* from 1 */
};

/*
 * PATH: keys and indices from the top, joined by '/': "scenarios/3/steps".
 * Where it ends in nothing, the place that it got to.
 */
struct position position_find(
    const char *text, size_t text_bytes, const char *path);

/* The first mapping's key KEY that is not before FROM; else FROM itself. */
struct position position_key(
    const char *text, size_t text_bytes, const char *key, struct position from);

/* Where TEXT stops being YAML; 1:1 if it does not. */
struct position position_problem(const char *text, size_t text_bytes);

#endif
