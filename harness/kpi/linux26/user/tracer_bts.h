/* The two parts of the program tracer_bts: a debugger, and a profiler's client. */
#ifndef TOPAZ_HARNESS_KPI_LINUX26_USER_TRACER_BTS_H
#define TOPAZ_HARNESS_KPI_LINUX26_USER_TRACER_BTS_H

#include <stdint.h>

/*
 * Record ring 3 on CPUs 0 to CPUS - 1, each into BYTES bytes; read what there is; end with
 * a last reading.  The latter two return the number of records.
 */
void profiler_begin(unsigned cpus, uint64_t bytes);
uint64_t profiler_read(unsigned cpus);
uint64_t profiler_end(unsigned cpus);

#endif
