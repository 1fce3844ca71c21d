/*
 * A bundle as a perf.data (perf_data.h): the traces as user space read them, and
 * the code images by their names in the bundle, which is what perf needs:
 * `perf script -i PATH --symfs BUNDLE --itrace=i0ns`.
 *
 * A thread's trace is stored as that of the CPU with the thread's number.  Missing bytes
 * are left out, and the trace is flagged: perf reports that data were lost.
 */
#ifndef TOPAZ_TRACES_EXTERNAL_PERF_EXPORT_H
#define TOPAZ_TRACES_EXTERNAL_PERF_EXPORT_H

#include "traces/bundle/bundle.h"

struct perf_export_result {
	size_t traces;
	uint64_t bytes; /* of the file */
};

/*
 * Writes BUNDLE to the file PATH.  -TZ_EUSAGE: it has no trace, or its traces have
 * several settings of IA32_RTIT_CTL or several processor signatures, of which perf.data
 * has one only; -TZ_ENOENT: its profile is unknown; -TZ_EFORMAT; -TZ_EIO.
 */
int perf_export(const struct bundle *bundle, const char *path,
    struct perf_export_result *result, struct tz_error *err);

#endif
