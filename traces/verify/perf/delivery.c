#include "traces/verify/perf/delivery.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "traces/decode/vector.h"
#include "traces/perf_data/perf_aux.h"
#include "traces/perf_data/perf_intel_pt.h"

/* Output of a unit in memory, and a fall of its TraceEn. */
struct span {
	uint64_t pa, bytes, offset;
};
struct fall {
	uint64_t offset;
	size_t event; /* its index */
	bool stopped; /* the unit had stopped by itself */
};

struct unit {
	struct span *spans;
	size_t span_count, span_room;
	struct fall *falls;
	size_t fall_count, fall_room;
	uint64_t written;
	uint64_t named; /* output that AUX records have named so far */
	bool stopped;   /* since TraceEn rose */
};

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

/* An event DRAIN that is to stand after the event .after, and its bytes. */
struct drain {
	struct event event;
	size_t after, nth;
	const uint8_t *bytes;
};

struct matcher {
	struct verify_work *work;
	struct perf_aux aux;
	struct unit units[BUNDLE_CPUS_MAX];
	struct queue *queues; /* .aux.queue_count of them */
	struct drain *drains;
	size_t drain_count, drain_room;
	bool no_memory;
};

static void
note_fall(struct matcher *matcher, const struct event *event, size_t index)
{
	struct unit *unit = &matcher->units[event->cpu];

	if (!GROW(unit->falls, unit->fall_room, unit->fall_count + 1)) {
		matcher->no_memory = true;
		return;
	}
	unit->falls[unit->fall_count++] = (struct fall){ event->c, index,
		unit->stopped };
}

static void
note_output(struct matcher *matcher, const struct event *event)
{
	struct unit *unit = &matcher->units[event->cpu];

	if (!GROW(unit->spans, unit->span_room, unit->span_count + 1)) {
		matcher->no_memory = true;
		return;
	}
	unit->spans[unit->span_count++] = (struct span){ event->a, event->b,
		event->c };
	unit->written = event->c + event->b;
}

static void
read_units(struct matcher *matcher, const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct unit *unit = &matcher->units[events[i].cpu];

		if (events[i].kind == EVENT_TRACE_ON)
			unit->stopped = false;
		else if (events[i].kind == EVENT_TRACE_OFF)
			note_fall(matcher, &events[i], i);
		else if (events[i].kind == EVENT_OUTPUT)
			note_output(matcher, &events[i]);
		else if (events[i].kind == EVENT_STOPPED ||
		    events[i].kind == EVENT_PT_ERROR)
			unit->stopped = true;
	}
}

/* The first fall of UNIT at or after OFFSET; NULL: there is none. */
static const struct fall *
find_fall(const struct unit *unit, uint64_t offset)
{
	size_t low = 0, high = unit->fall_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (unit->falls[mid].offset < offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low < unit->fall_count ? &unit->falls[low] : NULL;
}

/* Has UNIT stopped by itself in [BEGIN, END]?  At BEGIN only if that is the end. */
static bool
has_stopped(const struct unit *unit, uint64_t begin, uint64_t end)
{
	const struct fall *last = unit->falls + unit->fall_count;

	for (const struct fall *fall =
		 find_fall(unit, begin == end ? begin : begin + 1);
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
	struct unit *unit = &matcher->units[cpu];

	if (bytes == 0)
		return;
	if (!GROW(queue->named, queue->room, queue->count + 1)) {
		matcher->no_memory = true;
		return;
	}
	queue->named[queue->count++] = (struct named){ queue->next, bytes,
		unit->named, cpu };
	queue->next += bytes;
	unit->named += bytes;
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

/* Judges where RECORD, which names output of CPU from BEGIN on, ends. */
static void
judge_end(struct matcher *matcher, const struct perf_record *record,
    unsigned cpu, uint64_t begin)
{
	struct verify_work *work = matcher->work;
	const struct unit *unit = &matcher->units[cpu];
	const struct fall *fall = find_fall(unit, unit->named);
	bool truncated = (perf_record_aux(record).flags & PERF_AUX_TRUNCATED) !=
	    0;

	if (unit->named > unit->written)
		verify_add_finding(work,
		    "perf.data: AUX record at byte %" PRIu64 " names %" PRIu64
		    " bytes that cpu%u has not written",
		    record->offset, unit->named - unit->written, cpu);
	else if (fall == NULL || fall->offset != unit->named)
		verify_add_finding(work,
		    "perf.data: AUX record at byte %" PRIu64
		    " ends at offset %" PRIu64
		    " of cpu%u, where TraceEn did not fall",
		    record->offset, unit->named, cpu);
	else if (truncated != has_stopped(unit, begin, unit->named))
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
	begin = matcher->units[cpu].named;
	name_output(matcher, queue, cpu, aux.bytes);
	judge_end(matcher, record, cpu, begin);
}

/* Adds the events for output [OFFSET, OFFSET + COUNT) of CPU, which perf got as BYTES. */
static void
add_drains(struct matcher *matcher, uint64_t key, unsigned cpu, uint64_t offset,
    const uint8_t *bytes, uint64_t count, size_t after)
{
	const struct unit *unit = &matcher->units[cpu];
	size_t low = 0, high = unit->span_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (unit->spans[mid].offset + unit->spans[mid].bytes <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	for (; count != 0 && low < unit->span_count; low++) {
		const struct span *span = &unit->spans[low];
		uint64_t into = offset - span->offset;
		uint64_t part = span->bytes - into;

		if (offset < span->offset)
			return; /* not recorded: the row UNREPORTED */
		if (part > count)
			part = count;
		if (!GROW(matcher->drains, matcher->drain_room,
			matcher->drain_count + 1)) {
			matcher->no_memory = true;
			return;
		}
		matcher->drains[matcher->drain_count] = (struct drain){
			.event = { .kind = EVENT_DRAIN,
			    .cpu = (uint16_t)cpu,
			    .a = key,
			    .b = span->pa + into,
			    .c = part },
			.after = after,
			.nth = matcher->drain_count,
			.bytes = bytes,
		};
		matcher->drain_count++;
		offset += part;
		bytes += part;
		count -= part;
	}
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
	const struct fall *fall = find_fall(unit, end);

	return fall != NULL ? fall->event : SIZE_MAX;
}

/* The part of CHUNK that NAMED is about. */
static void
deliver_named(struct matcher *matcher, const struct queue *queue,
    const struct perf_aux_chunk *chunk, const struct named *named)
{
	const struct unit *unit = &matcher->units[named->cpu];
	uint64_t begin = named->aux > chunk->offset ? named->aux
						    : chunk->offset;
	uint64_t end = named->aux + named->bytes;

	if (end > chunk->offset + chunk->bytes)
		end = chunk->offset + chunk->bytes;
	if (begin < end)
		add_drains(matcher, key_of(queue->aux), named->cpu,
		    named->offset + begin - named->aux,
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

/* True if CHUNK is what CPU's unit wrote last before FALL. */
static bool
is_snapshot_at(const struct matcher *matcher, unsigned cpu,
    const struct fall *fall, const struct perf_aux_chunk *chunk, uint8_t *room)
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

/* Where CHUNK was taken, at or after fall FROM; NULL: nowhere, or no memory. */
static const struct fall *
find_snapshot(struct matcher *matcher, unsigned cpu, size_t from,
    const struct perf_aux_chunk *chunk)
{
	const struct unit *unit = &matcher->units[cpu];
	uint8_t *room = malloc((size_t)chunk->bytes + 1);
	size_t i = from;

	if (room == NULL) {
		matcher->no_memory = true;
		return NULL;
	}
	while (i < unit->fall_count &&
	    !is_snapshot_at(matcher, cpu, &unit->falls[i], chunk, room))
		i++;
	free(room);
	return i < unit->fall_count ? &unit->falls[i] : NULL;
}

/* Snapshots overlap; each byte is delivered once. */
static void
deliver_snapshots(struct matcher *matcher, const struct perf_aux_queue *aux)
{
	struct verify_work *work = matcher->work;
	const struct unit *unit = &matcher->units[aux->cpu];
	uint64_t done = 0;
	size_t from = 0;

	for (size_t i = 0; i < aux->chunk_count; i++) {
		const struct perf_aux_chunk *chunk = &aux->chunks[i];
		const struct fall *fall = find_snapshot(
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
		add_drains(matcher, key_of(aux), aux->cpu, begin,
		    chunk->trace + chunk->bytes - (fall->offset - begin),
		    fall->offset - begin, fall->event);
		done = fall->offset;
	}
}

static int
drain_order(const void *left, const void *right)
{
	const struct drain *a = left, *b = right;

	if (a->after != b->after)
		return a->after < b->after ? -1 : 1;
	return a->nth < b->nth ? -1 : a->nth > b->nth;
}

/* Appends the bytes of DRAIN to its stream. */
static bool
keep_bytes(struct verify_delivery *delivery, const struct drain *drain)
{
	struct verify_delivered *stream = NULL;

	for (size_t i = 0; stream == NULL && i < delivery->count; i++)
		if (delivery->streams[i].key == drain->event.a)
			stream = &delivery->streams[i];
	if (stream == NULL) {
		if (!GROW(
			delivery->streams, delivery->room, delivery->count + 1))
			return false;
		stream = &delivery->streams[delivery->count++];
		*stream = (struct verify_delivered){ .key = drain->event.a };
	}
	if (!GROW(stream->bytes, stream->room, stream->count + drain->event.c))
		return false;
	memcpy(stream->bytes + stream->count, drain->bytes, drain->event.c);
	stream->count += drain->event.c;
	return true;
}

/* *EVENTS with the drains between them. */
static void
merge_drains(struct matcher *matcher, struct event **events, size_t *count)
{
	struct event *all = calloc(
	    *count + matcher->drain_count + 1, sizeof(*all));
	size_t used = 0, next = 0;

	if (all == NULL) {
		matcher->no_memory = true;
		return;
	}
	if (matcher->drain_count != 0)
		qsort(matcher->drains, matcher->drain_count,
		    sizeof(*matcher->drains), drain_order);
	for (size_t i = 0; i <= *count; i++) {
		if (i < *count)
			all[used++] = (*events)[i];
		while (next < matcher->drain_count &&
		    (i == *count || matcher->drains[next].after == i)) {
			matcher->no_memory |= !keep_bytes(
			    &matcher->work->delivery, &matcher->drains[next]);
			all[used++] = matcher->drains[next++].event;
		}
	}
	free(*events);
	*events = all;
	*count = used;
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
	for (size_t i = 0; i < BUNDLE_CPUS_MAX; i++) {
		free(matcher->units[i].spans);
		free(matcher->units[i].falls);
	}
	for (size_t i = 0;
	     matcher->queues != NULL && i < matcher->aux.queue_count; i++)
		free(matcher->queues[i].named);
	free(matcher->queues);
	free(matcher->drains);
	perf_aux_free(&matcher->aux);
}

int
delivery_read(struct verify_work *work, struct event **events, size_t *count)
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
		read_units(&matcher, *events, *count);
		match(&matcher, pt.snapshot);
		if (!matcher.no_memory)
			merge_drains(&matcher, events, count);
		if (matcher.no_memory)
			error = tz_error(
			    work->err, TZ_EIO, "perf.data: out of memory");
	}
	free_matcher(&matcher);
	return error;
}

void
delivery_free(struct verify_delivery *delivery)
{
	for (size_t i = 0; i < delivery->count; i++)
		free(delivery->streams[i].bytes);
	free(delivery->streams);
}

const uint8_t *
delivery_bytes(
    const struct verify_delivery *delivery, uint64_t key, uint64_t *count)
{
	*count = 0;
	for (size_t i = 0; i < delivery->count; i++) {
		if (delivery->streams[i].key != key)
			continue;
		*count = delivery->streams[i].count;
		return delivery->streams[i].bytes;
	}
	return NULL;
}
