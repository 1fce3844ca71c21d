/*
 * The models of the CPUs in the manifest, a row of "models" in its "cpu" for each:
 * "profile", "signature" and, where some show, "errata", a list of the keys that
 * topaz list errata has.  Version 1 had one model for all, in "cpu" itself, and did
 * not say what showed.
 */
#ifndef TOPAZ_TRACES_BUNDLE_MANIFEST_MODEL_H
#define TOPAZ_TRACES_BUNDLE_MANIFEST_MODEL_H

#include "traces/bundle/bundle.h"

struct json_t;

/* The rows of INFO's CPUs.  NULL: no memory. */
struct json_t *manifest_models_format(const struct bundle_info *info);

/*
 * Reads "cpu" of a manifest of VERSION into INFO, whose CPUs are counted already.
 * Not NULL: the member that is missing or bad.
 */
const char *manifest_models_parse(
    const struct json_t *cpu, unsigned version, struct bundle_info *info);

#endif
