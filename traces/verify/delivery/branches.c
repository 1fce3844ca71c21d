#include "traces/verify/delivery/branches.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "emu/guest_abi.h"
#include "traces/decode/vector.h"
#include "traces/perf_data/perf_record.h"

/* A record that a CPU stored, or could not store. */
struct stored {
	uint64_t from, to;
	bool lost;
};

/* The records of a CPU, and those that perf has had so far. */
struct unit {
	struct stored *stored;
	size_t count, room, next;
	size_t result; /* index of its struct verify_records */
};

struct comparison {
	struct verify_work *work;
	struct perf_auxtrace *chunks; /* in the order of the file */
	size_t chunk_count, chunk_room;
	struct unit units[BUNDLE_CPUS_MAX];
	bool no_memory;
};

/* A branch record as it is in memory (SDM vol. 3, 18.4.9.1, figure 18-8). */
struct branch_record {
	uint64_t from, to, flags;
};

static void
note_stored(struct comparison *comparison, const struct event *event)
{
	struct unit *unit = &comparison->units[event->cpu];

	if (!GROW(unit->stored, unit->room, unit->count + 1)) {
		comparison->no_memory = true;
		return;
	}
	unit->stored[unit->count++] = (struct stored){ event->a, event->b,
		event->kind == EVENT_BTS_LOST };
}

static void
note_chunks(struct comparison *comparison)
{
	const struct perf_file *file = comparison->work->perf;

	for (size_t i = 0; i < file->record_count; i++) {
		if (file->records[i].type != PERF_AUXTRACE)
			continue;
		if (!GROW(comparison->chunks, comparison->chunk_room,
			comparison->chunk_count + 1)) {
			comparison->no_memory = true;
			return;
		}
		comparison->chunks[comparison->chunk_count++] =
		    perf_record_auxtrace(&file->records[i]);
	}
}

static void
add_results(struct comparison *comparison)
{
	struct verify_result *result = comparison->work->result;

	for (unsigned cpu = 0; cpu < comparison->work->bundle->info.cpu_count;
	     cpu++) {
		struct verify_records *row;

		if (!GROW(result->records, result->record_room,
			result->record_count + 1)) {
			comparison->no_memory = true;
			return;
		}
		comparison->units[cpu].result = result->record_count;
		row = &result->records[result->record_count++];
		*row = (struct verify_records){ .id = ABI_RECORDS_CPU | cpu };
		snprintf(row->name, sizeof(row->name), "cpu%u", cpu);
	}
}

static struct verify_records *
result_of(struct comparison *comparison, unsigned cpu)
{
	return &comparison->work->result->records[comparison->units[cpu].result];
}

static void tell(struct comparison *comparison, unsigned cpu, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));
static void
tell(struct comparison *comparison, unsigned cpu, const char *fmt, ...)
{
	struct verify_records *result = result_of(comparison, cpu);
	char name[48];
	va_list ap;

	snprintf(name, sizeof(name), "perf.data: %s", result->name);
	va_start(ap, fmt);
	verify_add_difference(comparison->work, name, &result->differences,
	    result->difference, fmt, ap);
	va_end(ap);
}

/* True if RECORD names bytes of the AUX area that CHUNK is of. */
static bool
is_area_of(const struct perf_record *record, const struct perf_auxtrace *chunk)
{
	return chunk->cpu != PERF_NO_CPU ? chunk->cpu == record->cpu
					 : chunk->tid == record->tid;
}

/*
 * Where the bytes of chunk INDEX end in its AUX area: where the next chunk begins, or the
 * last AUX record ends.
 */
static uint64_t
find_end(const struct comparison *comparison, size_t index)
{
	const struct perf_file *file = comparison->work->perf;
	const struct perf_auxtrace *chunk = &comparison->chunks[index];
	uint64_t end = chunk->offset + chunk->bytes;

	for (size_t i = index + 1; i < comparison->chunk_count; i++)
		if (comparison->chunks[i].index == chunk->index)
			return comparison->chunks[i].offset;
	for (size_t i = 0; i < file->record_count; i++) {
		const struct perf_record *record = &file->records[i];
		struct perf_aux_record aux;

		if (record->type != PERF_AUX || !is_area_of(record, chunk))
			continue;
		aux = perf_record_aux(record);
		if (aux.offset + aux.bytes > end)
			end = aux.offset + aux.bytes;
	}
	return end;
}

/* The only multiple of the AUX area's size, a power of two, in (BEGIN, END]. */
static uint64_t
find_wrap(uint64_t begin, uint64_t end)
{
	uint64_t size = 1;

	while (size <= end / 2 && end / (2 * size) > begin / (2 * size))
		size *= 2;
	return end / size * size;
}

/*
 * The bytes that RECORD, with AUX, names; NULL: the file does not have them.  Where a
 * chunk goes on at the begin of the AUX area, perf leaves out what is no whole record
 * before its end (tools/perf/util/auxtrace.c): less than a record is missing then.
 */
static const uint8_t *
find_bytes(const struct comparison *comparison,
    const struct perf_record *record, const struct perf_aux_record *aux)
{
	for (size_t i = 0; i < comparison->chunk_count; i++) {
		const struct perf_auxtrace *chunk = &comparison->chunks[i];
		uint64_t at = aux->offset - chunk->offset, end, missing;

		if (aux->offset < chunk->offset || !is_area_of(record, chunk))
			continue;
		end = find_end(comparison, i);
		if (aux->offset >= end)
			continue;
		missing = end - chunk->offset - chunk->bytes;
		if (missing != 0 && missing < sizeof(struct branch_record) &&
		    aux->offset >= find_wrap(chunk->offset, end))
			at -= missing;
		return at <= chunk->bytes && aux->bytes <= chunk->bytes - at
		    ? chunk->trace + at
		    : NULL;
	}
	return NULL;
}

/* perf got RECORD of CPU.  False: it is another than the one that comes next. */
static bool
take_record(struct comparison *comparison, unsigned cpu,
    const struct branch_record *record)
{
	struct unit *unit = &comparison->units[cpu];
	struct verify_records *result = result_of(comparison, cpu);
	const struct stored *stored;

	while (unit->next < unit->count && unit->stored[unit->next].lost)
		unit->next++;
	result->read++;
	stored = unit->next < unit->count ? &unit->stored[unit->next] : NULL;
	if (stored != NULL && stored->from == record->from &&
	    stored->to == record->to) {
		result->matched++;
		unit->next++;
		return true;
	}
	if (stored == NULL)
		tell(comparison, cpu,
		    "record %" PRIu64 " is 0x%" PRIx64 " -> 0x%" PRIx64
		    ", but the CPU has stored no more",
		    result->read, record->from, record->to);
	else
		tell(comparison, cpu,
		    "record %" PRIu64 " is 0x%" PRIx64 " -> 0x%" PRIx64
		    ", executed was 0x%" PRIx64 " -> 0x%" PRIx64,
		    result->read, record->from, record->to, stored->from,
		    stored->to);
	return false;
}

static void
take_bytes(struct comparison *comparison, unsigned cpu, const uint8_t *bytes,
    uint64_t count)
{
	struct branch_record record;

	for (uint64_t at = 0; at < count; at += sizeof(record)) {
		memcpy(&record, bytes + at, sizeof(record));
		if (!take_record(comparison, cpu, &record))
			return;
	}
}

/* True if the CPU found no room, between what was taken and the next stored record. */
static bool
has_lost(const struct unit *unit)
{
	return unit->next < unit->count && unit->stored[unit->next].lost;
}

/* The CPU on which RECORD was written; on a machine with one, a record need not name it. */
static unsigned
cpu_of(const struct verify_work *work, const struct perf_record *record)
{
	return record->cpu == PERF_NO_CPU && work->bundle->info.cpu_count == 1
	    ? 0
	    : record->cpu;
}

/* Why the records of perf.data cannot be compared; NULL: they can. */
static const char *
find_obstacle(const struct verify_work *work, bool snapshot)
{
	const struct perf_file *file = work->perf;

	if (snapshot)
		return "snapshots of branch records are not compared: perf "
		       "record without --snapshot";
	for (size_t i = 0; i < file->record_count; i++) {
		const struct perf_record *record = &file->records[i];

		if (record->type == PERF_LOST)
			return "perf has lost records, which may be those that "
			       "name branch records";
		if (record->type == PERF_AUX &&
		    cpu_of(work, record) >= work->bundle->info.cpu_count)
			return "its AUX records do not name their CPU: perf "
			       "record --sample-cpu";
	}
	return NULL;
}

static void
take_aux_record(struct comparison *comparison, const struct perf_record *record)
{
	struct verify_work *work = comparison->work;
	struct perf_aux_record aux = perf_record_aux(record);
	unsigned cpu = cpu_of(work, record);
	bool truncated = (aux.flags & PERF_AUX_TRUNCATED) != 0;
	const uint8_t *bytes = aux.bytes == 0
	    ? NULL
	    : find_bytes(comparison, record, &aux);

	work->result->perf.records++;
	work->result->perf.truncated += truncated;
	if (result_of(comparison, cpu)->differences != 0)
		return;
	if (bytes == NULL && aux.bytes != 0)
		tell(comparison, cpu,
		    "the %" PRIu64 " bytes of the AUX record at byte %" PRIu64
		    " are not in the file",
		    aux.bytes, record->offset);
	else if (aux.bytes % sizeof(struct branch_record) != 0)
		tell(comparison, cpu,
		    "AUX record at byte %" PRIu64 " names %" PRIu64
		    " bytes, which are no whole records",
		    record->offset, aux.bytes);
	else
		take_bytes(comparison, cpu, bytes, aux.bytes);
	/* A full buffer is TRUNCATED, too: the kernel cannot tell whether more came. */
	if (!truncated && has_lost(&comparison->units[cpu]))
		tell(comparison, cpu,
		    "AUX record at byte %" PRIu64
		    " does not say TRUNCATED, but the CPU found no room for a "
		    "record",
		    record->offset);
}

/* What the CPUs stored and perf does not have. */
static void
finish(struct comparison *comparison)
{
	for (unsigned cpu = 0; cpu < comparison->work->bundle->info.cpu_count;
	     cpu++) {
		struct unit *unit = &comparison->units[cpu];
		struct verify_records *result = result_of(comparison, cpu);
		uint64_t left = 0;

		for (size_t i = 0; i < unit->count; i++) {
			result->stored += !unit->stored[i].lost;
			result->unstored += unit->stored[i].lost;
			left += i >= unit->next && !unit->stored[i].lost;
		}
		if (left != 0)
			tell(comparison, cpu,
			    "%" PRIu64
			    " records of the CPU are missing, the first 0x%" PRIx64
			    " -> 0x%" PRIx64,
			    left, unit->stored[unit->next].from,
			    unit->stored[unit->next].to);
	}
}

static void
compare(struct comparison *comparison)
{
	const struct perf_file *file = comparison->work->perf;
	size_t *order = perf_record_by_time(file);

	if (order == NULL) {
		comparison->no_memory = true;
		return;
	}
	for (size_t i = 0; i < file->record_count; i++)
		if (file->records[order[i]].type == PERF_AUX)
			take_aux_record(comparison, &file->records[order[i]]);
	free(order);
	finish(comparison);
}

int
branches_verify(struct verify_work *work, bool snapshot,
    const struct event *events, size_t count)
{
	struct comparison comparison = { .work = work };
	const char *why = find_obstacle(work, snapshot);

	if (why != NULL)
		return tz_error(
		    work->err, TZ_EUSAGE, "%s: %s", work->perf->path, why);
	work->result->perf.present = true;
	for (size_t i = 0; i < count; i++)
		if (events[i].kind == EVENT_BTS_RECORD ||
		    events[i].kind == EVENT_BTS_LOST)
			note_stored(&comparison, &events[i]);
	note_chunks(&comparison);
	add_results(&comparison);
	if (!comparison.no_memory)
		compare(&comparison);
	for (unsigned cpu = 0; cpu < BUNDLE_CPUS_MAX; cpu++)
		free(comparison.units[cpu].stored);
	free(comparison.chunks);
	return comparison.no_memory
	    ? tz_error(work->err, TZ_EIO, "perf.data: out of memory")
	    : 0;
}
