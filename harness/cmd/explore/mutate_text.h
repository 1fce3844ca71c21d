/*
 * The output of topaz mutate.
 */
#ifndef TOPAZ_HARNESS_CMD_EXPLORE_MUTATE_TEXT_H
#define TOPAZ_HARNESS_CMD_EXPLORE_MUTATE_TEXT_H

#include "harness/mutate/mutate.h"

/* The mutants that were drawn: a line each, or JSON lines with the diff. */
void mutate_print_list(const struct mutate_list *list, bool json);

/* One line with the class of a mutant. */
void mutate_print_progress(FILE *file, const struct mutate_list *list,
    size_t done, size_t index, const struct mutate_result *result);

/*
 * The survivors with their diffs, the mutants that were not judged, the operators, the
 * totals; or JSON lines: one for each mutant, and a summary.
 */
void mutate_print(
    const struct mutate_list *list, const struct mutate_run *run, bool json);

#endif
