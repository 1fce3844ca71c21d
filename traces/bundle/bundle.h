/*
 * A bundle read back: the directory that `topaz run -o DIR` wrote.  Opening it
 * checks every file against the manifest's sizes and digests, so that later
 * readers may trust the bytes.  It does not interpret them: that is done in
 * exec_log_read.h, ../verify/account.h, ../decode/decode.h and ../verify/verify.h.
 */
#ifndef TOPAZ_TRACES_BUNDLE_BUNDLE_H
#define TOPAZ_TRACES_BUNDLE_BUNDLE_H

#include <stdio.h>

#include "emu/base/base.h"
#include "emu/base/event.h"

#define BUNDLE_VERSION    2
#define BUNDLE_CPUS_MAX   8
#define BUNDLE_NAME_BYTES 64
#define BUNDLE_LOGS_MAX   4

/* Identity and result of a run.  Nothing in it depends on the host: no path, no time. */
struct bundle_info {
	char driver[BUNDLE_NAME_BYTES];
	char source[BUNDLE_NAME_BYTES]; /* file name without its folder */
	char sha256[65];                /* of the driver's source */
	uint32_t core_cbr;  /* of machine_config; 0: the profile's */
	bool cost;          /* time by the cost model: emu/profile/cpu_set.h */
	unsigned cpu_count; /* 1..BUNDLE_CPUS_MAX */
	struct bundle_model {
		char profile[BUNDLE_NAME_BYTES];
		uint32_t signature; /* CPUID.1:EAX */
		uint32_t errata;    /* that showed: bits by profile_erratum */
	} model[BUNDLE_CPUS_MAX];   /* of each CPU */
	char scenario[BUNDLE_NAME_BYTES];
	char cmdline[512];
	char end[32]; /* how the run ended: "exit", "panic" ... */
	int code;
	char text[256];
	struct bundle_counters {
		uint64_t insns, trace_bytes, pmis, nmis;
	} cpu[BUNDLE_CPUS_MAX];
};

/* Executable bytes at [va, va + bytes) of the one address space. */
struct bundle_image {
	char file[BUNDLE_NAME_BYTES]; /* inside the bundle */
	char name[BUNDLE_NAME_BYTES];
	uint64_t va;
	uint64_t bytes;
	uint64_t offset; /* of the first of them in the file */
	uint8_t *code;   /* in memory once the bundle is open */
};

/* An ELF file, for symbols and lines: linked address + bias = address. */
struct bundle_object {
	char file[BUNDLE_NAME_BYTES];
	char name[BUNDLE_NAME_BYTES];
	uint64_t bias;
};

/* The bytes that user space read from one trace buffer, in the order of its stream. */
struct bundle_stream {
	char file[BUNDLE_NAME_BYTES];
	bool thread; /* true: a thread's buffer; false: a CPU's */
	uint32_t id;
	uint64_t bytes;
};

struct bundle {
	char *path;
	struct bundle_info info;
	size_t image_count, object_count, stream_count;
	struct bundle_image *images;
	struct bundle_object *objects;
	struct bundle_stream *streams;
	bool has_perf_data; /* perf.data: `perf record` ran in the guest */
};

/*
 * Opens and checks the bundle in directory PATH.  -TZ_ENOENT: no directory or
 * no manifest there; -TZ_EFORMAT: another version, or a file that is missing,
 * truncated or corrupt (ERR names file and place); -TZ_EIO.
 */
int bundle_open(const char *path, struct bundle **bundle, struct tz_error *err);
void bundle_close(struct bundle *bundle);

/*
 * The common model of the CPUs in CPUS, one bit for each CPU; no bit set: all CPUs.
 * A member that is not the same on all of them is "" or 0.  .errata is the union.
 */
struct bundle_model bundle_model_of(const struct bundle *bundle, uint32_t cpus);

/* CPUS for bundle_model_of(): the CPU of a CPU's stream; 0, all, for a thread's. */
uint32_t bundle_stream_cpus(const struct bundle_stream *stream);

/* The bytes of the INDEX-th stream; the caller frees them. */
int bundle_read_stream(const struct bundle *bundle, size_t index,
    uint8_t **bytes, size_t *count, struct tz_error *err);

/* Its file, of *COUNT bytes, for piecewise reading; the caller closes it. */
int bundle_open_stream(const struct bundle *bundle, size_t index, FILE **file,
    uint64_t *count, struct tz_error *err);

/* All events in global order; the caller frees them. */
int bundle_read_events(const struct bundle *bundle, struct event **events,
    size_t *count, struct tz_error *err);

/*
 * The packed execution log of one CPU, for exec_log_read_packed(), and the name of its
 * file; the caller closes it.  It is empty if the run wrote none.
 */
int bundle_open_exec_log(const struct bundle *bundle, unsigned cpu,
    char name[BUNDLE_NAME_BYTES], FILE **file, struct tz_error *err);

/*
 * The bytes that user space read of a driver's LOG (0..BUNDLE_LOGS_MAX - 1), which has
 * COUNT bytes; the caller frees them.  -TZ_EFORMAT: the file has another size.
 */
int bundle_read_log(const struct bundle *bundle, unsigned log, size_t count,
    uint8_t **bytes, struct tz_error *err);

/*
 * Contents of one CPU's trace frames each time TraceEn fell: records in the order of
 * their offsets.  An offset counts all bytes that the CPU's PT unit ever wrote.
 */
struct trace_off_header {
	uint64_t offset; /* of the first byte, in all output of the unit */
	uint64_t pa;
	uint64_t bytes;
};

struct trace_off_record {
	struct trace_off_header header;
	uint64_t at; /* of its bytes in the file */
};

struct trace_off {
	size_t count;
	struct trace_off_record *records;
	FILE *file; /* read where its bytes are asked for */
};

int bundle_read_trace_off(const struct bundle *bundle, unsigned cpu,
    struct trace_off *trace_off, struct tz_error *err);
void trace_off_free(struct trace_off *trace_off);

/*
 * Copies the unit's bytes [offset, offset + count) to BYTES, up to the first hole, or
 * to where the file cannot be read any more.
 * Returns the number of bytes copied.
 */
uint64_t trace_off_copy(const struct trace_off *trace_off, uint64_t offset,
    uint64_t count, uint8_t *bytes);

#endif
