/*
 * Records of the Debug Store that user space read, compared with the execution log in both
 * directions: the log's branches with the records that each CPU stored, and these with what
 * was read; PEBS records that were stored (../counters compares them) with what was read.
 * Nothing but the log says which records there must be; the events only say where in the
 * order of all CPUs something happened.
 */
#ifndef TOPAZ_TRACES_VERIFY_RECORDS_H
#define TOPAZ_TRACES_VERIFY_RECORDS_H

#include "traces/verify/verify_internal.h"

/*
 * Fills WORK's .records from COUNT events; the logs are loaded.  Differences are findings.
 * -TZ_EFORMAT: events contradict each other; -TZ_EIO: no memory.
 */
int records_verify(
    struct verify_work *work, const struct event *events, size_t count);

#endif
