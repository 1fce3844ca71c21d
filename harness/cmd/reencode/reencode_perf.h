/*
 * topaz reencode of a perf.data: each queue of AUX area data, part by part.
 */
#ifndef TOPAZ_HARNESS_CMD_REENCODE_REENCODE_PERF_H
#define TOPAZ_HARNESS_CMD_REENCODE_REENCODE_PERF_H

#include "harness/cmd/reencode/reencode_options.h"

/* Re-encodes INPUT->perf and prints the result; an exit code. */
int reencode_perf(const struct reencode_input *input, struct tz_error *err);

#endif
