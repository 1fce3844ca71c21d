/*
 * Writes a perf.data, as `perf record -e intel_pt//` of Linux 6.1 does: the file header,
 * one event of the PMU intel_pt, one dummy event for the other records, the maps of the
 * code, and the traces.  It interprets no trace byte.
 *
 * Format: Linux, tools/perf/Documentation/perf.data-file-format.txt, and struct
 * perf_event_attr and enum perf_event_type of include/uapi/linux/perf_event.h.
 */
#ifndef TOPAZ_TRACES_EXTERNAL_PERF_DATA_H
#define TOPAZ_TRACES_EXTERNAL_PERF_DATA_H

#include "emu/base/base.h"

struct perf_data;

struct perf_data_config {
	uint64_t ctl;       /* IA32_RTIT_CTL that made the traces */
	uint32_t signature; /* CPUID.1:EAX */
	unsigned cpu_count; /* 1..64 */
	uint64_t
	    atom_cpus; /* bits of a hybrid part's E-cores; 0: no hybrid part */
	uint32_t tsc_num, tsc_den; /* CPUID.15H:EBX and EAX; 0: none */
	uint64_t tsc_hz;           /* not 0 */
	const char *filter; /* address filters in perf's syntax; "": none */
};

/* Code of a file at an address; perf searches the file under --symfs. */
struct perf_data_map {
	const char *name; /* begins with '/' */
	uint64_t va, bytes;
	uint64_t offset; /* of the first of them in the file; kernel: 0 */
};

struct perf_data_trace {
	uint32_t cpu;
	const uint8_t *bytes; /* copied */
	size_t count;
	uint64_t tsc; /* time at which it was read; not 0, for perf */
	bool lost;    /* some of it is missing */
};

/* NULL: out of memory.  perf_data_write() reports a lack of memory in later calls. */
struct perf_data *perf_data_create(const struct perf_data_config *config);
void perf_data_destroy(struct perf_data *data);

/* All maps come before the first trace. */
void perf_data_map(struct perf_data *data, const struct perf_data_map *map);
void perf_data_trace(
    struct perf_data *data, const struct perf_data_trace *trace);

/* Writes the file PATH of *BYTES bytes.  -TZ_EIO. */
int perf_data_write(struct perf_data *data, const char *path, uint64_t *bytes,
    struct tz_error *err);

#endif
