/*
 * The branch records that `perf record -e intel_bts//` got, compared with those that the
 * CPUs stored, which ../records has compared with the execution log.
 */
#ifndef TOPAZ_TRACES_VERIFY_DELIVERY_BRANCHES_H
#define TOPAZ_TRACES_VERIFY_DELIVERY_BRANCHES_H

#include "traces/verify/verify_internal.h"

/*
 * On each CPU the AUX records, in the order of time, must have the CPU's records from the
 * first one on, each once.  TRUNCATED must be in an AUX record if the CPU found no room for
 * a record in it.  Fills the result's .records and .perf.  -TZ_EUSAGE:
 * SNAPSHOT, or perf.data does not say which records are whose; -TZ_EIO: no memory.
 */
int branches_verify(struct verify_work *work, bool snapshot,
    const struct event *events, size_t count);

#endif
