/*
 * A perf.data file that `perf record` wrote, read: its header, events, feature sections
 * and records (perf_record.h).  Everything is checked when the file is opened: no offset,
 * length or text leaves the file, so what reads the result cannot fail.  It decodes no
 * trace byte and reads no other file.
 *
 * Not read, and refused by name: files of another byte order, of version 1, written into
 * a pipe, of several files (`perf record --threads`).
 */
#ifndef TOPAZ_TRACES_PERF_DATA_PERF_FILE_H
#define TOPAZ_TRACES_PERF_DATA_PERF_FILE_H

#include "emu/base/base.h"

struct perf_record;

/* An event that was recorded. */
struct perf_attr {
	uint32_t type; /* of the PMU */
	uint64_t config, sample_type;
	uint64_t period;  /* events a sample, or samples a second: FREQ */
	uint64_t flags;   /* PERF_ATTR_* */
	const char *name; /* as perf names it, "": unknown */
	const uint8_t *ids;
	size_t id_count; /* 8 bytes each */
};

/* The build id of a file that was mapped. */
struct perf_build_id {
	uint32_t pid;
	const char *name;
	const uint8_t *bytes; /* NULL: unknown */
	unsigned count;       /* up to PERF_BUILD_ID_BYTES */
};

/* A kind of event source: 8 for intel_pt, for instance. */
struct perf_pmu {
	uint32_t type;
	const char *name;
};

/* The CPUs of one kind of a hybrid part: "cpu_atom", "4-7,9". */
struct perf_core {
	const char *pmu, *cpus;
};

/* To be read, not to be changed. */
struct perf_file {
	const char *path;
	const uint8_t *bytes;
	uint64_t count;
	/* Texts of the feature sections; "": the file does not have them. */
	const char *hostname, *osrelease, *version, *arch, *cpudesc, *cpuid;
	struct perf_attr *attrs;
	size_t attr_count;
	struct perf_build_id *build_ids;
	size_t build_id_count;
	struct perf_pmu *pmus;
	size_t pmu_count;
	struct perf_core *cores;
	size_t core_count; /* 0: it is no hybrid part, or not known to be one */
	/* In the order of the file; those inside of COMPRESSED records, too. */
	struct perf_record *records;
	size_t record_count;
	/* `perf record` was killed: no feature sections, and the last record may be cut. */
	bool unfinished;
	void *owned; /* private */
};

/*
 * Opens PATH, or PATH/data if it is a directory as `perf record --kcore` makes it.  The
 * file must not change before perf_file_close().  -TZ_ENOENT: no such file; -TZ_EUSAGE:
 * not a regular file, or a form that is not read; -TZ_EFORMAT: damaged; -TZ_EIO.  The
 * message names the file, the offset and the cause.
 */
int perf_file_open(
    const char *path, struct perf_file **file, struct tz_error *err);

/* The same for the COUNT BYTES of a file named PATH; they must outlive *FILE. */
int perf_file_parse(const char *path, const uint8_t *bytes, uint64_t count,
    struct perf_file **file, struct tz_error *err);

/* FILE may be NULL. */
void perf_file_close(struct perf_file *file);

/*
 * Is PATH a perf.data file, of any form and byte order, or a directory with one?  Reads
 * its first bytes only.
 */
bool perf_file_is(const char *path);

#endif
