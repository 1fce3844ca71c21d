/*
 * Check row "decoded": repeats a run with the execution log recorded, decodes its
 * traces with libipt and compares the result with the execution log
 * (traces/verify/verify.h); branch records and what user space reads of counters, too.
 * Other rows judge where trace bytes went; here, lost, overwritten and unreported bytes
 * only end the part that can be compared.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_DECODE_CHECK_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_DECODE_CHECK_H

#include "harness/explore/runner/outcome.h"

/* A run that is recorded. */
struct decode_check;

/*
 * Records the next run of RUNNER, from where it is now, with OBSERVER (or NULL)
 * attached; STEPPING as in runner_observe().  NULL: no memory.
 */
struct decode_check *decode_check_begin(struct runner *runner,
    const struct runner_observer *observer, enum machine_stepping stepping);

/*
 * The run has ended with OUTCOME: adds decoding differences to it, and frees CHECK.
 * True if the trace was compared; false if the run did not end by itself or if its
 * execution log does not fit.
 */
bool decode_check_end(struct decode_check *check, struct outcome *outcome);

/* True if OUTCOME has a violation of row "decoded". */
bool decode_check_differs(const struct outcome *outcome);

#endif
