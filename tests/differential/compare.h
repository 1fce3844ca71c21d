/* Are two outcomes the same, as far as the architecture says what they are? */
#ifndef TOPAZ_TESTS_DIFFERENTIAL_COMPARE_H
#define TOPAZ_TESTS_DIFFERENTIAL_COMPARE_H

#include "generate.h"

#include <stdbool.h>
#include <stdio.h>

bool outcomes_agree(const struct outcome *a, const struct outcome *b,
    const struct listing *listing);

/* Prints how they differ, a line each, with the name of each. */
void outcomes_print(const struct outcome *a, const char *a_name,
    const struct outcome *b, const char *b_name, const struct listing *listing);

/* The instructions, as text, from code as it was at START. */
void listing_print(const struct listing *listing, const struct outcome *start);

#endif
