/*
 * Check row "decoded": repeats a run with the execution log recorded, decodes its
 * traces with libipt and compares the result with the execution log
 * (traces/verify/verify.h).  Other rows judge where trace bytes went; here, lost,
 * overwritten and unreported bytes only end the part that can be compared.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_DECODE_CHECK_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_DECODE_CHECK_H

#include "harness/explore/search/trial.h"

/* One of this many schedules is decoded, selected by its rank. */
#define DECODER_LINE_EVERY 512

/*
 * Runs SCHEDULE as trial_run() does, with OBSERVER (or NULL) attached, and adds
 * decoding differences to OUTCOME.  True if the trace was compared; false if the run
 * did not end by itself or if its execution log does not fit.
 */
bool decode_check_run(struct trial *trial, const struct schedule *schedule,
    const struct runner_observer *observer, enum machine_stepping stepping,
    struct outcome *outcome);

/* True if OUTCOME has a violation of row "decoded". */
bool decode_check_differs(const struct outcome *outcome);

/* Decodes SCHEDULE of RANK if it is in the sample, and counts it in STATS. */
void decode_check_sample(struct trial *trial, struct rank rank,
    const struct schedule *schedule, struct stats *stats);

#endif
