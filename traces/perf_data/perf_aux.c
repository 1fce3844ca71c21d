#include "traces/perf_data/perf_aux.h"

#include "traces/decode/vector.h"
#include "traces/perf_data/perf_bytes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What an AUX record says of its bytes. */
struct mark {
	uint64_t begin, end; /* offsets in the AUX area */
	uint64_t flags;
};

struct marks {
	struct mark *mark;
	size_t count, room;
};

struct sorter {
	const struct perf_file *file;
	struct perf_aux *aux;
	struct tz_error *err;
	bool snapshot;
};

static int
no_memory(const struct sorter *sorter)
{
	return tz_error(
	    sorter->err, TZ_EIO, "%s: out of memory", sorter->file->path);
}

/* The queue with the index of TRACE, made if there is none.  NULL: out of memory. */
static struct perf_aux_queue *
queue_of(struct perf_aux *aux, const struct perf_auxtrace *trace)
{
	struct perf_aux_queue *queue;
	size_t at = 0;

	while (at < aux->queue_count && aux->queues[at].index < trace->index)
		at++;
	if (at < aux->queue_count && aux->queues[at].index == trace->index)
		return &aux->queues[at];
	if (!GROW(aux->queues, aux->queue_room, aux->queue_count + 1))
		return NULL;
	queue = &aux->queues[at];
	memmove(queue + 1, queue, (aux->queue_count - at) * sizeof(*queue));
	aux->queue_count++;
	*queue = (struct perf_aux_queue){ .index = trace->index,
		.cpu = trace->cpu,
		.tid = trace->cpu == PERF_NO_CPU ? trace->tid : PERF_NO_PID };
	return queue;
}

static int
add_chunk(struct sorter *sorter, const struct perf_record *record)
{
	struct perf_auxtrace trace = perf_record_auxtrace(record);
	struct perf_aux_queue *queue = queue_of(sorter->aux, &trace);

	if (queue == NULL ||
	    !GROW(queue->chunks, queue->chunk_room, queue->chunk_count + 1))
		return no_memory(sorter);
	if (trace.offset + trace.bytes < trace.offset)
		return tz_error(sorter->err, TZ_EFORMAT,
		    "%s: at byte %" PRIu64 ": %" PRIu64
		    " bytes at the AUX offset %#" PRIx64 " go beyond 2^64",
		    sorter->file->path, record->offset, trace.bytes,
		    trace.offset);
	if (trace.bytes != 0)
		queue->chunks[queue->chunk_count++] =
		    (struct perf_aux_chunk){ .trace = trace.trace,
			    .bytes = trace.bytes,
			    .offset = trace.offset,
			    .reference = trace.reference,
			    .at = record->offset };
	return 0;
}

static int
chunk_order(const void *left, const void *right)
{
	const struct perf_aux_chunk *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Takes from CHUNK what BEFORE has, too; both must have the same bytes there. */
static int
trim_chunk(const struct sorter *sorter, const struct perf_aux_chunk *before,
    struct perf_aux_chunk *chunk)
{
	uint64_t end = before->offset + before->bytes, same;
	const uint8_t *there;

	if (chunk->offset >= end)
		return 0;
	same = end - chunk->offset;
	if (same > chunk->bytes)
		same = chunk->bytes;
	/* BEFORE may have been trimmed itself: its first bytes are still there. */
	there = before->trace + (int64_t)(chunk->offset - before->offset);
	if (memcmp(there, chunk->trace, (size_t)same) != 0)
		return tz_error(sorter->err, TZ_EFORMAT,
		    "%s: at bytes %" PRIu64 " and %" PRIu64
		    ": different trace for the AUX offset %#" PRIx64,
		    sorter->file->path, before->at, chunk->at, chunk->offset);
	chunk->trace += same;
	chunk->offset += same;
	chunk->bytes -= same;
	return 0;
}

/* Puts the chunks into the order of the AUX area, each byte once. */
static int
sort_chunks(const struct sorter *sorter, struct perf_aux_queue *queue)
{
	size_t kept = 0;
	int error = 0;

	if (queue->chunk_count == 0 || sorter->snapshot)
		return 0;
	qsort(queue->chunks, queue->chunk_count, sizeof(*queue->chunks),
	    chunk_order);
	for (size_t i = 0; error == 0 && i < queue->chunk_count; i++) {
		struct perf_aux_chunk chunk = queue->chunks[i];

		if (kept != 0)
			error = trim_chunk(
			    sorter, &queue->chunks[kept - 1], &chunk);
		if (chunk.bytes != 0)
			queue->chunks[kept++] = chunk;
	}
	queue->chunk_count = kept;
	return error;
}

/* The AUX records of QUEUE that say more than how much was written. */
static int
find_marks(const struct sorter *sorter, const struct perf_aux_queue *queue,
    struct marks *marks)
{
	const struct perf_file *file = sorter->file;
	const uint64_t flags = PERF_AUX_TRUNCATED | PERF_AUX_PARTIAL |
	    PERF_AUX_COLLISION;

	for (size_t i = 0; !sorter->snapshot && i < file->record_count; i++) {
		const struct perf_record *record = &file->records[i];
		struct perf_aux_record aux;

		if (record->type != PERF_AUX ||
		    (queue->cpu != PERF_NO_CPU ? record->cpu != queue->cpu
					       : record->tid != queue->tid))
			continue;
		aux = perf_record_aux(record);
		if ((aux.flags & flags) == 0)
			continue;
		if (!GROW(marks->mark, marks->room, marks->count + 1))
			return no_memory(sorter);
		marks->mark[marks->count++] = (struct mark){ aux.offset,
			aux.offset + aux.bytes, aux.flags };
	}
	return 0;
}

/* Is there a hole at OFFSET?  *NEXT: that or the next one. */
static bool
hole_at(const struct marks *marks, uint64_t offset, uint64_t *next)
{
	bool here = false;

	*next = UINT64_MAX;
	for (size_t i = 0; i < marks->count; i++) {
		uint64_t end = marks->mark[i].end;

		if ((marks->mark[i].flags & PERF_AUX_TRUNCATED) == 0)
			continue;
		here |= end == offset;
		if (end > offset && end < *next)
			*next = end;
	}
	return here;
}

/* Cuts the chunk at INDEX so that a hole at OFFSET lies between two chunks. */
static bool
cut_chunk(struct perf_aux_queue *queue, size_t index, uint64_t offset)
{
	struct perf_aux_chunk *chunk;
	uint64_t first = offset - queue->chunks[index].offset;

	if (!GROW(queue->chunks, queue->chunk_room, queue->chunk_count + 1))
		return false;
	chunk = &queue->chunks[index];
	memmove(
	    chunk + 1, chunk, (queue->chunk_count - index) * sizeof(*chunk));
	queue->chunk_count++;
	chunk[0].bytes = first;
	chunk[1].trace += first;
	chunk[1].offset += first;
	chunk[1].bytes -= first;
	return true;
}

/* Why CHUNK does not continue PART; PERF_AUX_START: it does. */
static enum perf_aux_hole
hole_before(const struct sorter *sorter, const struct perf_aux_part *part,
    const struct perf_aux_chunk *chunk, bool full)
{
	if (sorter->snapshot)
		return PERF_AUX_SNAPSHOT;
	if (chunk->offset != part->offset + part->bytes)
		return PERF_AUX_MISSING;
	return full ? PERF_AUX_FULL : PERF_AUX_START;
}

/* Appends the chunk at INDEX to the last part, or begins another. */
static bool
add_to_part(const struct sorter *sorter, struct perf_aux_queue *queue,
    size_t index, bool full)
{
	const struct perf_aux_chunk *chunk = &queue->chunks[index];
	struct perf_aux_part *part = NULL;
	enum perf_aux_hole hole = PERF_AUX_START;
	uint64_t missing = 0;

	if (queue->part_count != 0) {
		part = &queue->parts[queue->part_count - 1];
		hole = hole_before(sorter, part, chunk, full);
		if (hole == PERF_AUX_MISSING)
			missing = chunk->offset - (part->offset + part->bytes);
	}
	if (part == NULL || hole != PERF_AUX_START) {
		if (!GROW(
			queue->parts, queue->part_room, queue->part_count + 1))
			return false;
		part = &queue->parts[queue->part_count++];
		*part = (struct perf_aux_part){ .before = hole,
			.missing = missing,
			.offset = chunk->offset,
			.reference = chunk->reference,
			.chunk = index };
	}
	part->bytes += chunk->bytes;
	part->chunk_count++;
	queue->bytes += chunk->bytes;
	return true;
}

static void
mark_parts(struct perf_aux_queue *queue, const struct marks *marks)
{
	for (size_t i = 0; i < queue->part_count; i++) {
		struct perf_aux_part *part = &queue->parts[i];
		uint64_t end = part->offset + part->bytes;

		for (size_t n = 0; n < marks->count; n++) {
			const struct mark *mark = &marks->mark[n];

			part->partial |= (mark->flags & PERF_AUX_PARTIAL) !=
				0 &&
			    mark->begin < end && mark->end > part->offset;
			part->truncated |= (mark->flags & PERF_AUX_TRUNCATED) !=
				0 &&
			    mark->end == end;
		}
	}
}

static int
make_parts(const struct sorter *sorter, struct perf_aux_queue *queue)
{
	struct marks marks = { .count = 0 };
	int error = find_marks(sorter, queue, &marks);

	for (size_t i = 0; error == 0 && i < queue->chunk_count; i++) {
		const struct perf_aux_chunk *chunk = &queue->chunks[i];
		uint64_t next;
		bool full = hole_at(&marks, chunk->offset, &next);

		if (next < chunk->offset + chunk->bytes &&
		    !cut_chunk(queue, i, next))
			error = no_memory(sorter);
		else if (!add_to_part(sorter, queue, i, full))
			error = no_memory(sorter);
	}
	if (error == 0)
		mark_parts(queue, &marks);
	free(marks.mark);
	return error;
}

const struct perf_record *
perf_aux_info(const struct perf_file *file)
{
	for (size_t i = 0; i < file->record_count; i++)
		if (file->records[i].type == PERF_AUXTRACE_INFO)
			return &file->records[i];
	return NULL;
}

uint32_t
perf_aux_kind(const struct perf_record *info)
{
	return perf_u32(info->bytes + PERF_RECORD_ALIGN);
}

int
perf_aux_read(const struct perf_file *file, bool snapshot, struct perf_aux *aux,
    struct tz_error *err)
{
	struct sorter sorter = {
		.file = file, .aux = aux, .err = err, .snapshot = snapshot
	};
	int error = 0;

	*aux = (struct perf_aux){ .queue_count = 0 };
	for (size_t i = 0; error == 0 && i < file->record_count; i++)
		if (file->records[i].type == PERF_AUXTRACE)
			error = add_chunk(&sorter, &file->records[i]);
	for (size_t i = 0; error == 0 && i < aux->queue_count; i++) {
		error = sort_chunks(&sorter, &aux->queues[i]);
		if (error == 0)
			error = make_parts(&sorter, &aux->queues[i]);
	}
	if (error != 0)
		perf_aux_free(aux);
	return error;
}

void
perf_aux_free(struct perf_aux *aux)
{
	for (size_t i = 0; i < aux->queue_count; i++) {
		free(aux->queues[i].chunks);
		free(aux->queues[i].parts);
	}
	free(aux->queues);
	*aux = (struct perf_aux){ .queue_count = 0 };
}

uint8_t *
perf_aux_bytes(
    const struct perf_aux_queue *queue, const struct perf_aux_part *part)
{
	uint8_t *bytes = malloc((size_t)part->bytes + 1);
	uint64_t at = 0;

	for (size_t i = 0; bytes != NULL && i < part->chunk_count; i++) {
		const struct perf_aux_chunk *chunk =
		    &queue->chunks[part->chunk + i];

		memcpy(bytes + at, chunk->trace, (size_t)chunk->bytes);
		at += chunk->bytes;
	}
	return bytes;
}
