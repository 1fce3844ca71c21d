/*
 * The AUX area data of a perf.data file, by queue: a queue is the AUX buffer of a CPU, or
 * of a thread.  Its chunks are put into the order of the AUX area, and cut into parts
 * where bytes are missing.  It decodes no trace byte.
 */
#ifndef TOPAZ_TRACES_PERF_DATA_PERF_AUX_H
#define TOPAZ_TRACES_PERF_DATA_PERF_AUX_H

#include "traces/perf_data/perf_record.h"

/* Why a part does not continue the one before. */
enum perf_aux_hole {
	PERF_AUX_START,    /* it is the first */
	PERF_AUX_FULL,     /* TRUNCATED: the buffer was full, trace was lost */
	PERF_AUX_MISSING,  /* the file does not have the bytes between */
	PERF_AUX_SNAPSHOT, /* each snapshot is a part of its own */
};

struct perf_aux_part {
	enum perf_aux_hole before;
	uint64_t missing; /* bytes before it, if PERF_AUX_MISSING */
	uint64_t offset;  /* in the AUX area */
	uint64_t bytes;
	uint64_t reference; /* TSC when the first chunk was read */
	bool partial;       /* PARTIAL: trace is missing somewhere in it */
	bool truncated;     /* trace was lost after it */
	size_t chunk, chunk_count;
};

/* Bytes of the file that continue each other in the AUX area. */
struct perf_aux_chunk {
	const uint8_t *trace;
	uint64_t bytes, offset, reference;
	uint64_t at; /* of the AUXTRACE record in the file */
};

struct perf_aux_queue {
	uint32_t index;
	uint32_t cpu; /* PERF_NO_CPU: a thread's */
	uint32_t tid; /* PERF_NO_PID: a CPU's */
	struct perf_aux_chunk *chunks;
	size_t chunk_count, chunk_room;
	struct perf_aux_part *parts;
	size_t part_count, part_room;
	uint64_t bytes; /* in all parts */
};

/* Where the words of an AUXTRACE_INFO record begin in its body. */
#define PERF_AUX_INFO_WORDS 8

struct perf_aux {
	struct perf_aux_queue *queues; /* by rising index */
	size_t queue_count, queue_room;
};

/* The record that tells how FILE's AUX data were made; NULL: it has none. */
const struct perf_record *perf_aux_info(const struct perf_file *file);
/* What made them, as INFO says: PERF_AUXTRACE_*, or a number that is not known. */
uint32_t perf_aux_kind(const struct perf_record *info);

/*
 * Sorts FILE's AUX data; SNAPSHOT: perf took snapshots, whose offsets do not rise
 * (perf_intel_pt.h).  *AUX points into FILE.  -TZ_EFORMAT: chunks of one place differ;
 * -TZ_EIO: out of memory.
 */
int perf_aux_read(const struct perf_file *file, bool snapshot,
    struct perf_aux *aux, struct tz_error *err);
void perf_aux_free(struct perf_aux *aux);

/* A copy of the bytes of PART of QUEUE, to be freed.  NULL: out of memory. */
uint8_t *perf_aux_bytes(
    const struct perf_aux_queue *queue, const struct perf_aux_part *part);

#endif
