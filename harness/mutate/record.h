/*
 * Results as JSON: each is a line of results.jsonl and of the output of --json.
 */
#ifndef TOPAZ_HARNESS_MUTATE_RECORD_H
#define TOPAZ_HARNESS_MUTATE_RECORD_H

#include <jansson.h>

#include "harness/mutate/mutate.h"

/* NULL: no memory. */
json_t *record_baseline(const struct mutate_list *list,
    const struct mutate_baseline *baseline, const struct mutate_result *result);
json_t *record_result(const struct mutate_list *list, size_t index,
    const struct mutate_result *result);
json_t *record_summary(
    const struct mutate_list *list, const struct mutate_run *run);
/* False: JSON is not of that kind, or there is no memory. */
bool record_read_baseline(const json_t *json, const struct mutate_list *list,
    struct mutate_baseline *baseline, struct mutate_result *result);
bool record_read_result(const json_t *json, const struct mutate_list *list,
    size_t *index, struct mutate_result *result);
void record_free(struct mutate_result *result);

#endif
