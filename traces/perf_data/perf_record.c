#include "traces/perf_data/perf_record.h"

#include "traces/perf_data/perf_bytes.h"
#include "traces/perf_data/perf_event.h"

#include <stdlib.h>
#include <string.h>

#define HEADER 8

/* Offsets in the body of MMAP and MMAP2. */
#define MMAP_NAME      32
#define MMAP2_BUILD_ID 32 /* its size, 3 bytes, its bytes */
#define MMAP2_PROT     56
#define MMAP2_NAME     64

static const uint8_t *
body(const struct perf_record *record)
{
	return record->bytes + HEADER;
}

struct perf_mmap
perf_record_mmap(const struct perf_record *record)
{
	const uint8_t *at = body(record);
	bool second = record->type == PERF_MMAP2;
	struct perf_mmap map;
	unsigned mode = record->misc & PERF_MISC_CPU_MODE;

	TZ_ASSERT(second || record->type == PERF_MMAP);
	map = (struct perf_mmap){ .pid = perf_u32(at),
		.tid = perf_u32(at + 4),
		.va = perf_u64(at + 8),
		.bytes = perf_u64(at + 16),
		.offset = perf_u64(at + 24),
		.name = (const char *)at + (second ? MMAP2_NAME : MMAP_NAME),
		.kernel = mode == PERF_MISC_KERNEL,
		.executable = second
		    ? (perf_u32(at + MMAP2_PROT) & PERF_PROT_EXEC) != 0
		    : (record->misc & PERF_MISC_MMAP_DATA) == 0 };
	if (second && (record->misc & PERF_MISC_MMAP_BUILD_ID) != 0 &&
	    at[MMAP2_BUILD_ID] <= PERF_BUILD_ID_BYTES) {
		map.build_id = at + MMAP2_BUILD_ID + 4;
		map.build_id_bytes = at[MMAP2_BUILD_ID];
	}
	return map;
}

struct perf_comm
perf_record_comm(const struct perf_record *record)
{
	const uint8_t *at = body(record);

	TZ_ASSERT(record->type == PERF_COMM);
	return (struct perf_comm){ .pid = perf_u32(at),
		.tid = perf_u32(at + 4),
		.name = (const char *)at + 8,
		.exec = (record->misc & PERF_MISC_COMM_EXEC) != 0 };
}

struct perf_task
perf_record_task(const struct perf_record *record)
{
	const uint8_t *at = body(record);

	TZ_ASSERT(record->type == PERF_FORK || record->type == PERF_EXIT);
	return (struct perf_task){ .pid = perf_u32(at),
		.ppid = perf_u32(at + 4),
		.tid = perf_u32(at + 8),
		.ptid = perf_u32(at + 12) };
}

struct perf_aux_record
perf_record_aux(const struct perf_record *record)
{
	const uint8_t *at = body(record);

	TZ_ASSERT(record->type == PERF_AUX);
	return (struct perf_aux_record){ .offset = perf_u64(at),
		.bytes = perf_u64(at + 8),
		.flags = perf_u64(at + 16) };
}

struct perf_switch
perf_record_switch(const struct perf_record *record)
{
	bool wide = record->type == PERF_SWITCH_CPU_WIDE;

	TZ_ASSERT(wide || record->type == PERF_SWITCH);
	return (struct perf_switch){ .out = (record->misc &
						PERF_MISC_SWITCH_OUT) != 0,
		.other_pid = wide ? perf_u32(body(record)) : PERF_NO_PID,
		.other_tid = wide ? perf_u32(body(record) + 4) : PERF_NO_PID };
}

struct perf_auxtrace
perf_record_auxtrace(const struct perf_record *record)
{
	const uint8_t *at = body(record);

	TZ_ASSERT(record->type == PERF_AUXTRACE);
	return (struct perf_auxtrace){ .trace = record->bytes + record->count,
		.bytes = perf_u64(at),
		.offset = perf_u64(at + 8),
		.reference = perf_u64(at + 16),
		.index = perf_u32(at + 24),
		.tid = perf_u32(at + 28),
		.cpu = perf_u32(at + 32) };
}

struct perf_stat
perf_record_stat(const struct perf_record *record)
{
	const uint8_t *at = body(record);

	TZ_ASSERT(record->type == PERF_STAT);
	return (struct perf_stat){ .id = perf_u64(at),
		.cpu = perf_u32(at + 8),
		.thread = perf_u32(at + 12),
		.value = perf_u64(at + 16) };
}

struct perf_text_poke
perf_record_text_poke(const struct perf_record *record)
{
	const uint8_t *at = body(record);
	struct perf_text_poke poke;

	TZ_ASSERT(record->type == PERF_TEXT_POKE);
	poke = (struct perf_text_poke){ .va = perf_u64(at),
		.old_bytes = at + 12,
		.old_count = perf_u16(at + 8),
		.new_count = perf_u16(at + 10) };
	poke.new_bytes = poke.old_bytes + poke.old_count;
	return poke;
}

uint64_t
perf_record_lost(const struct perf_record *record)
{
	TZ_ASSERT(
	    record->type == PERF_LOST || record->type == PERF_LOST_SAMPLES);
	return perf_u64(body(record) + (record->type == PERF_LOST ? 8 : 0));
}

uint64_t
perf_record_sample_ip(
    const struct perf_file *file, const struct perf_record *record)
{
	const struct perf_attr *attr = perf_event_of(file, body(record));

	TZ_ASSERT(record->type == PERF_SAMPLE);
	if (!(attr->sample_type & PERF_SAMPLE_IP))
		return 0;
	return perf_u64(body(record) +
	    (attr->sample_type & PERF_SAMPLE_IDENTIFIER ? 8 : 0));
}

/* A record and its time, small enough to sort many of. */
struct timed {
	uint64_t time;
	size_t index;
};

static int
by_time(const void *left, const void *right)
{
	const struct timed *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

size_t *
perf_record_by_time(const struct perf_file *file)
{
	size_t count = file->record_count;
	struct timed *timed = calloc(count + 1, sizeof(*timed));
	size_t *order = calloc(count + 1, sizeof(*order));

	if (timed == NULL || order == NULL) {
		free(timed);
		free(order);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		timed[i] = (struct timed){ file->records[i].time, i };
	qsort(timed, count, sizeof(*timed), by_time);
	for (size_t i = 0; i < count; i++)
		order[i] = timed[i].index;
	free(timed);
	return order;
}
