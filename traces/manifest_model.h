/*
 * A CPU's model in the manifest: "profile", "signature" and, where some show,
 * "errata", a list of the keys that topaz list errata has.
 */
#ifndef TOPAZ_TRACES_MANIFEST_MODEL_H
#define TOPAZ_TRACES_MANIFEST_MODEL_H

#include "traces/bundle.h"

struct json_t;

/* NULL: no memory. */
struct json_t *manifest_model_format(const struct bundle_model *model);

/* NULL: MODEL is what ROW says; else the member that is missing or bad. */
const char *manifest_model_parse(
    const struct json_t *row, struct bundle_model *model);

#endif
