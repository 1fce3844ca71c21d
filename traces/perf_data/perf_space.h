/*
 * The address spaces of a perf.data: what each process had mapped, and which of them a CPU
 * or a thread was in, by time.  It reads no mapped file.
 */
#ifndef TOPAZ_TRACES_PERF_DATA_PERF_SPACE_H
#define TOPAZ_TRACES_PERF_DATA_PERF_SPACE_H

#include "traces/perf_data/perf_aux.h"

/*
 * What a process had mapped for a while: from its start, from exec, or since other code
 * was mapped at an address, up to the next of these.
 */
struct perf_space {
	uint32_t pid;
	const char *comm; /* "": unknown */
	/* Executable maps, the oldest first; where two overlap the later one counts. */
	struct perf_mmap *maps;
	size_t map_count, map_room;
	size_t begin; /* index, by time, of the record that began it */
};

/* From TIME on, in ns of perf's clock, the CPU or thread is in SPACE. */
struct perf_stay {
	uint64_t time;
	size_t space;
};

struct perf_stays {
	/* By rising time; the first one is also valid before its time. */
	struct perf_stay *stay;
	size_t count, room;
	bool unknown; /* several processes, and no record says which one runs */
};

struct perf_spaces {
	struct perf_space *spaces;
	size_t space_count, space_room;
	struct perf_mmap *kernel; /* maps of the kernel and of its modules */
	size_t kernel_count, kernel_room;
	/* Records that perf lost: maps or switches may be missing. */
	uint64_t lost;
	uint64_t pokes; /* changes of the kernel's code */
};

/* -TZ_EIO: out of memory. */
int perf_space_read(const struct perf_file *file, struct perf_spaces *spaces,
    struct tz_error *err);
void perf_space_free(struct perf_spaces *spaces);

/*
 * The spaces that QUEUE's CPU or thread was in; the caller frees STAYS->stay.  .count 0: no
 * record says it, or there is no process.  -TZ_EIO: out of memory.
 */
int perf_space_stays(const struct perf_file *file,
    const struct perf_spaces *spaces, const struct perf_aux_queue *queue,
    struct perf_stays *stays, struct tz_error *err);

#endif
