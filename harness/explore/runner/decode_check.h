/*
 * Check row "decoded": a run once more, with the execution log recorded; what libipt decodes
 * of its traces is compared with what was executed (traces/verify/verify.h).  Where bytes
 * went is judged by other rows: lost, overwritten and unreported ones only end what
 * can be compared.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_DECODE_CHECK_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_DECODE_CHECK_H

#include "harness/explore/search/trial.h"

/* Of so many schedules one is decoded; drawn by its rank. */
#define DECODER_LINE_EVERY 512

/*
 * Runs SCHEDULE, told to EAR (or NULL), as trial_run() does, and adds what does not
 * decode to OUTCOME.  True: it was compared; false: the run did not end by
 * itself, or there is no room for its record.
 */
bool decode_check_run(struct trial *trial, const struct schedule *schedule,
    const struct runner_observer *observer, enum machine_stepping stepping,
    struct outcome *outcome);

/* Has OUTCOME a violation of that row? */
bool decode_check_differs(const struct outcome *outcome);

/* Decodes SCHEDULE of RANK if it is one of the sample, and counts it in TALLY. */
void decode_check_sample(struct trial *trial, struct rank rank,
    const struct schedule *schedule, struct stats *stats);

#endif
