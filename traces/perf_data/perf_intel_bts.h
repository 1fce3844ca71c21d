/* The setting of branch trace store under perf, from perf's AUXTRACE_INFO record. */
#ifndef TOPAZ_TRACES_PERF_DATA_PERF_INTEL_BTS_H
#define TOPAZ_TRACES_PERF_DATA_PERF_INTEL_BTS_H

#include "traces/perf_data/perf_file.h"

struct perf_intel_bts {
	bool snapshot;
};

/* False: FILE has no trace of intel_bts. */
bool perf_intel_bts_read(
    const struct perf_file *file, struct perf_intel_bts *bts);

#endif
