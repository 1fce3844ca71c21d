#include "traces/verify/delivery/perf_delivery.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "traces/decode/vector.h"
#include "traces/perf_data/perf_aux.h"
#include "traces/perf_data/perf_intel_pt.h"
#include "traces/verify/delivery/drains.h"

/* AUX bytes [aux, aux + bytes) of a queue are the unit's output from .offset on. */
struct named {
	uint64_t aux, bytes, offset;
	unsigned cpu;
};

struct queue {
	const struct perf_aux_queue *aux;
	struct named *named; /* by rising .aux */
	size_t count, room;
	uint64_t next; /* AUX offset of the next byte that a record names */
};

struct matcher {
	struct verify_work *work;
	struct perf_aux aux;
	struct units units;
	uint64_t named[BUNDLE_CPUS_MAX]; /* output of each unit that AUX
					    records have named so far */
	bool lost[BUNDLE_CPUS_MAX];      /* a record's bytes were not found */
	struct queue *queues;            /* .aux.queue_count of them */
	struct drains drains;
	bool no_memory;
};

/* Has UNIT stopped by itself in [BEGIN, END]?  At BEGIN only if that is the end. */
static bool
has_stopped(const struct unit *unit, uint64_t begin, uint64_t end)
{
	const struct fall *last = unit->falls + unit->fall_count;

	for (const struct fall *fall =
		 units_find_fall(unit, begin == end ? begin : begin + 1);
	     fall != NULL && fall < last && fall->offset <= end; fall++)
		if (fall->stopped)
			return true;
	return false;
}

/* The next BYTES of the queue's AUX area are CPU's next output. */
static void
name_output(
    struct matcher *matcher, struct queue *queue, unsigned cpu, uint64_t bytes)
{
	uint64_t *named = &matcher->named[cpu];

	if (bytes == 0)
		return;
	if (!GROW(queue->named, queue->room, queue->count + 1)) {
		matcher->no_memory = true;
		return;
	}
	queue->named[queue->count++] = (struct named){ queue->next, bytes,
		*named, cpu };
	queue->next += bytes;
	*named += bytes;
}

static struct queue *
find_queue(struct matcher *matcher, const struct perf_record *record)
{
	for (size_t i = 0; i < matcher->aux.queue_count; i++) {
		const struct perf_aux_queue *aux = &matcher->aux.queues[i];

		if (aux->cpu != PERF_NO_CPU ? aux->cpu == record->cpu
					    : aux->tid == record->tid)
			return &matcher->queues[i];
	}
	return NULL;
}

/*
 * The CPU on which RECORD was written; one that does not exist if it is unknown.  A
 * thread's records need not name it.
 */
static unsigned
cpu_of(const struct matcher *matcher, const struct perf_record *record)
{
	unsigned count = matcher->work->bundle->info.cpu_count;

	return record->cpu == PERF_NO_CPU && count == 1 ? 0 : record->cpu;
}

/* True if CHUNK is what CPU's unit wrote last before FALL. */
static bool
ends_at(const struct matcher *matcher, unsigned cpu, const struct fall *fall,
    const struct perf_aux_chunk *chunk, uint8_t *room)
{
	const struct trace_off *frames = &matcher->work->trace_off[cpu];
	uint64_t tail = chunk->bytes < 64 ? chunk->bytes : 64;

	if (fall->offset < chunk->bytes)
		return false;
	return trace_off_copy(frames, fall->offset - tail, tail, room) ==
	    tail &&
	    memcmp(room, chunk->trace + chunk->bytes - tail, tail) == 0 &&
	    trace_off_copy(frames, fall->offset - chunk->bytes, chunk->bytes,
		room) == chunk->bytes &&
	    memcmp(room, chunk->trace, chunk->bytes) == 0;
}

/* The fall, FROM or a later one, that CHUNK ends at; NULL: none, or no memory. */
static const struct fall *
find_end(struct matcher *matcher, unsigned cpu, size_t from,
    const struct perf_aux_chunk *chunk)
{
	const struct unit *unit = &matcher->units.unit[cpu];
	uint8_t *room = malloc((size_t)chunk->bytes + 1);
	size_t i = from;

	if (room == NULL) {
		matcher->no_memory = true;
		return NULL;
	}
	while (i < unit->fall_count &&
	    !ends_at(matcher, cpu, &unit->falls[i], chunk, room))
		i++;
	free(room);
	return i < unit->fall_count ? &unit->falls[i] : NULL;
}

/* The last of the bytes of RECORD that a chunk of QUEUE has; of no bytes if none has. */
static struct perf_aux_chunk
chunk_of(const struct queue *queue, struct perf_aux_record record)
{
	struct perf_aux_chunk part = { 0 };
	uint64_t end = record.offset + record.bytes;

	for (size_t i = 0; i < queue->aux->chunk_count; i++) {
		const struct perf_aux_chunk *chunk = &queue->aux->chunks[i];
		uint64_t begin = chunk->offset > record.offset ? chunk->offset
							       : record.offset;

		if (begin < end && chunk->offset + chunk->bytes >= end) {
			part = *chunk;
			part.trace += begin - chunk->offset;
			part.bytes = end - begin;
			part.offset = begin;
		}
	}
	return part;
}

/*
 * Where RECORD does not end at a fall of TraceEn, output may be missing before it.  Looks
 * for the next fall before which the unit wrote the record's bytes, and passes over the
 * output that is missing.  If no fall is found, the bytes of later records are not looked
 * for: each search goes through all falls.
 */
static void
pass_missing(struct matcher *matcher, const struct queue *queue,
    const struct perf_record *record, unsigned cpu)
{
	const struct unit *unit = &matcher->units.unit[cpu];
	struct perf_aux_record aux = perf_record_aux(record);
	struct perf_aux_chunk chunk;
	uint64_t end = matcher->named[cpu] + aux.bytes;
	const struct fall *fall = units_find_fall(unit, end);

	if (fall == NULL || fall->offset == end || matcher->lost[cpu])
		return;
	chunk = chunk_of(queue, aux);
	if (chunk.bytes == 0)
		return;
	fall = find_end(matcher, cpu, (size_t)(fall - unit->falls), &chunk);
	matcher->lost[cpu] = fall == NULL;
	if (fall == NULL)
		return;
	verify_add_finding(matcher->work,
	    "perf.data: no AUX record names the %" PRIu64
	    " bytes that cpu%u wrote from offset %" PRIu64
	    " on, before those of the AUX record at byte %" PRIu64,
	    fall->offset - end, cpu, matcher->named[cpu], record->offset);
	matcher->named[cpu] += fall->offset - end;
}

/* Judges where RECORD, which names output of CPU from BEGIN on, ends. */
static void
judge_end(struct matcher *matcher, const struct perf_record *record,
    unsigned cpu, uint64_t begin)
{
	struct verify_work *work = matcher->work;
	const struct unit *unit = &matcher->units.unit[cpu];
	const struct fall *fall = units_find_fall(unit, matcher->named[cpu]);
	bool truncated = (perf_record_aux(record).flags & PERF_AUX_TRUNCATED) !=
	    0;

	if (matcher->named[cpu] > unit->written)
		verify_add_finding(work,
		    "perf.data: AUX record at byte %" PRIu64 " names %" PRIu64
		    " bytes that cpu%u has not written",
		    record->offset, matcher->named[cpu] - unit->written, cpu);
	else if (fall == NULL || fall->offset != matcher->named[cpu])
		verify_add_finding(work,
		    "perf.data: AUX record at byte %" PRIu64
		    " ends at offset %" PRIu64
		    " of cpu%u, where TraceEn did not fall",
		    record->offset, matcher->named[cpu], cpu);
	else if (truncated != has_stopped(unit, begin, matcher->named[cpu]))
		verify_add_finding(work,
		    "perf.data: AUX record at byte %" PRIu64
		    " %s TRUNCATED, but cpu%u %s",
		    record->offset, truncated ? "says" : "does not say", cpu,
		    truncated ? "did not stop by itself" : "stopped by itself");
}

static void
take_aux_record(struct matcher *matcher, const struct perf_record *record)
{
	struct verify_work *work = matcher->work;
	struct verify_perf *perf = &work->result->perf;
	struct perf_aux_record aux = perf_record_aux(record);
	struct queue *queue = find_queue(matcher, record);
	unsigned cpu = cpu_of(matcher, record);
	uint64_t begin;

	perf->records++;
	perf->truncated += (aux.flags & PERF_AUX_TRUNCATED) != 0;
	if (queue == NULL || cpu >= work->bundle->info.cpu_count) {
		if (aux.bytes != 0)
			verify_add_finding(work,
			    "perf.data: AUX record at byte %" PRIu64
			    ": no AUX data of its CPU or thread",
			    record->offset);
		return;
	}
	if (aux.offset < queue->next) {
		verify_add_finding(work,
		    "perf.data: AUX record at byte %" PRIu64
		    " goes back to the AUX offset %#" PRIx64,
		    record->offset, aux.offset);
		return;
	}
	if (aux.offset > queue->next && perf->lost == 0)
		verify_add_finding(work,
		    "perf.data: no AUX record names the %" PRIu64
		    " bytes before the AUX offset %#" PRIx64,
		    aux.offset - queue->next, aux.offset);
	name_output(matcher, queue, cpu, aux.offset - queue->next);
	pass_missing(matcher, queue, record, cpu);
	begin = matcher->named[cpu];
	name_output(matcher, queue, cpu, aux.bytes);
	judge_end(matcher, record, cpu, begin);
}

static uint64_t
key_of(const struct perf_aux_queue *aux)
{
	return aux->cpu != PERF_NO_CPU ? aux->cpu
				       : EVENT_STREAM_THREAD | aux->tid;
}

/* The event after which output up to END of UNIT may have been read. */
static size_t
read_after(const struct unit *unit, uint64_t end)
{
	const struct fall *fall = units_find_fall(unit, end);

	return fall != NULL ? fall->event : SIZE_MAX;
}

/* The part of CHUNK that NAMED is about. */
static void
deliver_named(struct matcher *matcher, const struct queue *queue,
    const struct perf_aux_chunk *chunk, const struct named *named)
{
	const struct unit *unit = &matcher->units.unit[named->cpu];
	uint64_t begin = named->aux > chunk->offset ? named->aux
						    : chunk->offset;
	uint64_t end = named->aux + named->bytes;

	if (end > chunk->offset + chunk->bytes)
		end = chunk->offset + chunk->bytes;
	if (begin < end)
		drains_add(&matcher->drains, key_of(queue->aux), named->cpu,
		    unit, named->offset + begin - named->aux,
		    chunk->trace + (begin - chunk->offset), end - begin,
		    read_after(unit, named->offset + named->bytes));
}

static void
deliver_queue(struct matcher *matcher, struct queue *queue)
{
	const struct perf_aux_queue *aux = queue->aux;
	const struct perf_aux_chunk *last;
	uint64_t end;

	if (aux->chunk_count == 0)
		return;
	last = &aux->chunks[aux->chunk_count - 1];
	end = last->offset + last->bytes;
	/* The last AUX records may be among those that were lost. */
	if (end > queue->next &&
	    aux->cpu < matcher->work->bundle->info.cpu_count &&
	    matcher->work->result->perf.lost != 0)
		name_output(matcher, queue, aux->cpu, end - queue->next);
	if (end > queue->next)
		verify_add_finding(matcher->work,
		    "perf.data: %" PRIu64 " bytes from the AUX offset %#" PRIx64
		    " on that no AUX record names",
		    end - queue->next, queue->next);
	for (size_t i = 0, n = 0; i < aux->chunk_count; i++) {
		const struct perf_aux_chunk *chunk = &aux->chunks[i];

		while (n < queue->count &&
		    queue->named[n].aux + queue->named[n].bytes <=
			chunk->offset)
			n++;
		for (size_t k = n; k < queue->count &&
		     queue->named[k].aux < chunk->offset + chunk->bytes;
		     k++)
			deliver_named(matcher, queue, chunk, &queue->named[k]);
	}
}

/* Snapshots overlap; each byte is delivered once. */
static void
deliver_snapshots(struct matcher *matcher, const struct perf_aux_queue *aux)
{
	struct verify_work *work = matcher->work;
	const struct unit *unit = &matcher->units.unit[aux->cpu];
	uint64_t done = 0;
	size_t from = 0;

	for (size_t i = 0; i < aux->chunk_count; i++) {
		const struct perf_aux_chunk *chunk = &aux->chunks[i];
		const struct fall *fall = find_end(
		    matcher, aux->cpu, from, chunk);
		uint64_t begin;

		work->result->perf.snapshots++;
		if (fall == NULL) {
			verify_add_finding(work,
			    "perf.data: the snapshot at byte %" PRIu64
			    " is not what cpu%u wrote before any fall of "
			    "TraceEn",
			    chunk->at, aux->cpu);
			continue;
		}
		from = (size_t)(fall - unit->falls);
		begin = fall->offset - chunk->bytes;
		if (begin < done)
			begin = done;
		drains_add(&matcher->drains, key_of(aux), aux->cpu, unit, begin,
		    chunk->trace + chunk->bytes - (fall->offset - begin),
		    fall->offset - begin, fall->event);
		done = fall->offset;
	}
}

static void
match(struct matcher *matcher, bool snapshot)
{
	const struct perf_file *file = matcher->work->perf;
	size_t *order = perf_record_by_time(file);

	matcher->queues = calloc(
	    matcher->aux.queue_count + 1, sizeof(*matcher->queues));
	if (order == NULL || matcher->queues == NULL) {
		matcher->no_memory = true;
		free(order);
		return;
	}
	for (size_t i = 0; i < file->record_count; i++)
		if (file->records[i].type == PERF_LOST)
			matcher->work->result->perf.lost += perf_record_lost(
			    &file->records[i]);
	for (size_t i = 0; i < matcher->aux.queue_count; i++)
		matcher->queues[i].aux = &matcher->aux.queues[i];
	for (size_t i = 0; !snapshot && i < file->record_count; i++)
		if (file->records[order[i]].type == PERF_AUX)
			take_aux_record(matcher, &file->records[order[i]]);
	free(order);
	for (size_t i = 0; i < matcher->aux.queue_count; i++) {
		const struct perf_aux_queue *aux = &matcher->aux.queues[i];

		if (!snapshot)
			deliver_queue(matcher, &matcher->queues[i]);
		else if (aux->cpu < matcher->work->bundle->info.cpu_count)
			deliver_snapshots(matcher, aux);
	}
}

static void
free_matcher(struct matcher *matcher)
{
	units_free(&matcher->units);
	for (size_t i = 0;
	     matcher->queues != NULL && i < matcher->aux.queue_count; i++)
		free(matcher->queues[i].named);
	free(matcher->queues);
	drains_free(&matcher->drains);
	perf_aux_free(&matcher->aux);
}

int
perf_delivery_read(
    struct verify_work *work, struct event **events, size_t *count)
{
	struct matcher matcher = { .work = work };
	struct perf_intel_pt pt;
	int error = perf_intel_pt_read(work->perf, &pt, work->err);

	if (error == 0)
		error = perf_aux_read(
		    work->perf, pt.snapshot, &matcher.aux, work->err);
	if (error == 0) {
		work->result->perf.present = true;
		work->result->perf.snapshot = pt.snapshot;
		matcher.no_memory = !units_read(
		    &matcher.units, *events, *count);
		match(&matcher, pt.snapshot);
		if (!matcher.no_memory && !matcher.drains.no_memory)
			drains_merge(
			    &matcher.drains, &work->delivery, events, count);
		if (matcher.no_memory || matcher.drains.no_memory)
			error = tz_error(
			    work->err, TZ_EIO, "perf.data: out of memory");
	}
	free_matcher(&matcher);
	return error;
}
