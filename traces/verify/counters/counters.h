/*
 * What user space read of performance counters, compared with the execution log in both
 * directions: the registers that the driver read, each overflow and its NMI, the values
 * that user space got, and the entries of the driver's log.  Counters are counted again
 * from the instructions that the log has and the WRMSRs of their controls.
 */
#ifndef TOPAZ_TRACES_VERIFY_COUNTERS_COUNTERS_H
#define TOPAZ_TRACES_VERIFY_COUNTERS_COUNTERS_H

#include "traces/verify/verify_internal.h"

/*
 * Fills WORK's .counters from COUNT events; the logs are loaded.  Differences are findings.
 * -TZ_EFORMAT: a log of the driver is not one; -TZ_EIO: no memory, or it cannot be read.
 */
int counters_verify(
    struct verify_work *work, const struct event *events, size_t count);

#endif
