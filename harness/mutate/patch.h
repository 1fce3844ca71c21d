/*
 * A mutant as text: the mutated source, a diff, a one-line summary.
 */
#ifndef TOPAZ_HARNESS_MUTATE_PATCH_H
#define TOPAZ_HARNESS_MUTATE_PATCH_H

#include "harness/mutate/mutant.h"

/* TEXT, a source of BYTES, with the edits of MUTANT; NULL: no memory.  *SIZE: bytes. */
char *patch_apply(
    const char *text, size_t bytes, const struct mutant *mutant, size_t *size);

/* The unified diff of the source PATH (relative), for patch -p1; NULL: no memory. */
char *patch_diff(const char *path, const char *text, size_t bytes,
    const struct mutant *mutant);

/*
 * "OLD -> NEW" of the first edit and "..." if there are more, on one line of at most
 * 100 characters; NULL: no memory.
 */
char *patch_line(const char *text, const struct mutant *mutant);

#endif
