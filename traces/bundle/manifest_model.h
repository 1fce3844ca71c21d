/*
 * The CPU models in the manifest: "models" in its "cpu" has one row for each CPU, with
 * "profile", "signature" and, if any erratum showed, "errata", a list of the keys of
 * `topaz list errata`.  Version 1 had one model for all CPUs, in "cpu" itself, and no
 * list of errata.
 */
#ifndef TOPAZ_TRACES_BUNDLE_MANIFEST_MODEL_H
#define TOPAZ_TRACES_BUNDLE_MANIFEST_MODEL_H

#include "traces/bundle/bundle.h"

struct json_t;

/* The rows of INFO's CPUs.  NULL: no memory. */
struct json_t *manifest_models_format(const struct bundle_info *info);

/*
 * Reads "cpu" of a manifest of VERSION into INFO, whose cpu_count is set.  NULL: success.
 * Otherwise the name of the member that is missing or bad.
 */
const char *manifest_models_parse(
    const struct json_t *cpu, unsigned version, struct bundle_info *info);

#endif
