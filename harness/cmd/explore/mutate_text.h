/*
 * What topaz mutate prints.
 */
#ifndef TOPAZ_HARNESS_CMD_EXPLORE_MUTATE_TEXT_H
#define TOPAZ_HARNESS_CMD_EXPLORE_MUTATE_TEXT_H

#include "harness/mutate/mutate.h"

/* A line each of what was drawn, or JSON lines with the diff. */
void mutate_print_list(const struct mutate_list *list, bool json);

/* A mutant's class in one line: what happened to it. */
void mutate_print_progress(FILE *file, const struct mutate_list *list,
    size_t done, size_t index, const struct mutate_result *result);

/*
 * The survivors with their diffs, what was not judged, the operators, the totals; or
 * JSON lines, one a mutant and a summary.
 */
void mutate_print(
    const struct mutate_list *list, const struct mutate_run *run, bool json);

#endif
