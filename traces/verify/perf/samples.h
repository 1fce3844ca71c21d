/*
 * Samples of `perf record -e instructions:u -c N` beside a trace of ring 3, compared with the
 * execution log.
 */
#ifndef TOPAZ_TRACES_VERIFY_PERF_SAMPLES_H
#define TOPAZ_TRACES_VERIFY_PERF_SAMPLES_H

#include "traces/verify/verify_internal.h"

/*
 * The K-th sample must be at the instruction that comes K * N + skid instructions after the
 * first one that was traced.  Compared is one task that perf started (enable_on_exec), on
 * one CPU, of whose trace and records nothing was lost.  Findings: the first difference,
 * samples that are missing.  -TZ_EFORMAT and others of perf_file_open().
 */
int samples_verify(struct verify_work *work);

#endif
