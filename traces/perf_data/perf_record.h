/*
 * The records of a perf.data file: what each says, in the order of the file or of time.
 */
#ifndef TOPAZ_TRACES_PERF_DATA_PERF_RECORD_H
#define TOPAZ_TRACES_PERF_DATA_PERF_RECORD_H

#include "traces/perf_data/perf_file.h"
#include "traces/perf_data/perf_format.h"

#define PERF_NO_PID UINT32_MAX
#define PERF_NO_CPU UINT32_MAX

struct perf_record {
	uint64_t offset; /* in the file; inside COMPRESSED: of that record */
	const uint8_t *bytes; /* .count of them, header included */
	uint16_t type; /* enum perf_record_type, or one that is not known */
	uint16_t misc, count;
	uint16_t body;     /* bytes, without header and trailer */
	uint32_t pid, tid; /* of the task, PERF_NO_PID: unknown */
	uint32_t cpu;      /* PERF_NO_CPU: unknown */
	/* Of perf's clock, in ns; 0: unknown, or before all others. */
	uint64_t time;
	uint64_t id; /* of the event, 0: unknown */
};

/* PERF_MMAP and PERF_MMAP2. */
struct perf_mmap {
	uint32_t pid, tid;          /* PERF_NO_PID: the kernel's */
	uint64_t va, bytes, offset; /* offset in the file */
	const char *name;
	bool kernel, executable;
	const uint8_t *build_id; /* NULL: not in this record */
	unsigned build_id_bytes;
};

/* PERF_COMM. */
struct perf_comm {
	uint32_t pid, tid;
	const char *name;
	bool exec; /* the process has a new program */
};

/* PERF_FORK and PERF_EXIT. */
struct perf_task {
	uint32_t pid, ppid, tid, ptid;
};

/* PERF_AUX. */
struct perf_aux_record {
	uint64_t offset, bytes; /* in the AUX area of its CPU or thread */
	uint64_t flags;         /* PERF_AUX_* */
};

/* PERF_SWITCH and PERF_SWITCH_CPU_WIDE. */
struct perf_switch {
	bool out;
	/* The task before (in) or after it (out); PERF_NO_PID: unknown. */
	uint32_t other_pid, other_tid;
};

/* PERF_AUXTRACE: .bytes of trace follow the record. */
struct perf_auxtrace {
	const uint8_t *trace;
	uint64_t bytes, offset, reference; /* offset in the AUX area, the TSC */
	uint32_t index, tid, cpu;          /* of the queue */
};

/* PERF_STAT: what perf stat has read of an event, in all that it has counted. */
struct perf_stat {
	uint64_t id;          /* of the event */
	uint32_t cpu, thread; /* indices of perf's maps */
	uint64_t value;
};

/* PERF_TEXT_POKE: the kernel changed its code. */
struct perf_text_poke {
	uint64_t va;
	const uint8_t *old_bytes, *new_bytes;
	uint16_t old_count, new_count;
};

/* RECORD must have the type that the function is for. */
struct perf_mmap perf_record_mmap(const struct perf_record *record);
struct perf_comm perf_record_comm(const struct perf_record *record);
struct perf_task perf_record_task(const struct perf_record *record);
struct perf_aux_record perf_record_aux(const struct perf_record *record);
struct perf_switch perf_record_switch(const struct perf_record *record);
struct perf_auxtrace perf_record_auxtrace(const struct perf_record *record);
struct perf_stat perf_record_stat(const struct perf_record *record);
struct perf_text_poke perf_record_text_poke(const struct perf_record *record);

/* The number of samples or records lost: PERF_LOST and PERF_LOST_SAMPLES. */
uint64_t perf_record_lost(const struct perf_record *record);

/* The instruction pointer of a PERF_SAMPLE; 0: it has none. */
uint64_t perf_record_sample_ip(
    const struct perf_file *file, const struct perf_record *record);

/*
 * The indices of FILE's records by rising time, and by place in the file where times are
 * equal; FILE's .record_count of them, to be freed.  NULL: out of memory.
 */
size_t *perf_record_by_time(const struct perf_file *file);

#endif
