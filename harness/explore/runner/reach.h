/*
 * Code coverage: which instructions of the driver a run executes.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_REACH_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_REACH_H

#include "harness/explore/runner/runner.h"

#define REACH_BYTES 8192 /* one bit for each byte of the driver's code */

struct reach {
	uint8_t code[REACH_BYTES];
};

/*
 * Runs SEQUENCE in the default schedule to its end, or for INSNS_MAX instructions (0:
 * RUNNER_INSNS_MAX), and records in REACH what it executes.  RUNNER stays at the end of
 * that run.  Errors as of runner_begin(); -TZ_ESTOP.
 */
int reach_run(struct runner *runner, const struct sequence *sequence,
    uint64_t insns_max, struct reach *reach, struct tz_error *err);

#endif
