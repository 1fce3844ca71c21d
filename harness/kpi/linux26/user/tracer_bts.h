/* The two parts of the program tracer_bts: a debugger, and a profiler's client. */
#ifndef TOPAZ_HARNESS_KPI_LINUX26_USER_TRACER_BTS_H
#define TOPAZ_HARNESS_KPI_LINUX26_USER_TRACER_BTS_H

#include <stdint.h>

/* Records that were read. */
struct profile {
	uint64_t branches, samples;
};

/*
 * Record ring 3 on CPUs 0 to CPUS - 1, each into BYTES bytes, and sample every PERIOD + 1
 * instructions (0: none) into as many; read what there is; end with a last reading.  The
 * latter two add to *SUM.
 */
void profiler_begin(unsigned cpus, uint64_t bytes, uint64_t period);
void profiler_read(unsigned cpus, struct profile *sum);
void profiler_end(unsigned cpus, struct profile *sum);

#endif
