#include "traces/verify/delivery/file_delivery.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "traces/decode/vector.h"
#include "traces/verify/delivery/drains.h"

#define PAGE_BYTES UINT64_C(4096)

/* Bytes of a stream that are output of one interval, from .offset on. */
struct taken {
	const struct fall *fall;
	uint64_t position, offset, bytes;
};

/* A stream, matched from its end. */
struct stream {
	const struct bundle_stream *file;
	uint8_t *bytes;
	uint64_t left;       /* bytes at its beginning that are not found yet */
	uint64_t next_pa;    /* where the output after them went ... */
	bool has_next;       /* ... if any was found */
	uint64_t differs_at; /* in the interval that fits best; else .left */
	struct taken *taken; /* last one first */
	size_t count, room;
};

struct file_matcher {
	struct verify_work *work;
	struct units units;
	const struct fall **falls; /* of all CPUs, in order */
	size_t fall_count;
	struct drains drains;
	bool no_memory;
};

bool
file_delivery_needed(
    const struct verify_work *work, const struct event *events, size_t count)
{
	if (work->bundle->stream_count == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (events[i].kind == EVENT_DRAIN)
			return false;
	return true;
}

static uint64_t
key_of(const struct bundle_stream *file)
{
	return file->thread ? EVENT_STREAM_THREAD | file->id : file->id;
}

static int
fall_order(const void *left, const void *right)
{
	const struct fall *const *a = left, *const *b = right;

	return (*a)->event < (*b)->event ? -1 : (*a)->event > (*b)->event;
}

static void
sort_falls(struct file_matcher *matcher)
{
	size_t count = 0;

	for (size_t i = 0; i < BUNDLE_CPUS_MAX; i++)
		count += matcher->units.unit[i].fall_count;
	matcher->falls = calloc(count + 1, sizeof(*matcher->falls));
	if (matcher->falls == NULL) {
		matcher->no_memory = true;
		return;
	}
	for (size_t i = 0; i < BUNDLE_CPUS_MAX; i++) {
		const struct unit *unit = &matcher->units.unit[i];

		for (size_t k = 0; k < unit->fall_count; k++)
			matcher->falls[matcher->fall_count++] = &unit->falls[k];
	}
	qsort(matcher->falls, matcher->fall_count, sizeof(*matcher->falls),
	    fall_order);
}

/* Where OFFSET of UNIT went, or would have gone just after the byte before it. */
static uint64_t
pa_of(const struct unit *unit, uint64_t offset, bool after)
{
	const struct span *span = units_find_span(unit, offset - after);

	return span == NULL ? 0 : span->pa + (offset - span->offset);
}

/* Could the output that STREAM has next have followed FALL in one buffer? */
static bool
continues(const struct file_matcher *matcher, const struct stream *stream,
    const struct fall *fall)
{
	uint64_t end = pa_of(
	    &matcher->units.unit[fall->cpu], fall->offset, true);

	if (!stream->has_next || !stream->file->thread)
		return true;
	return end == stream->next_pa ||
	    (end % PAGE_BYTES == 0 && stream->next_pa % PAGE_BYTES == 0);
}

/* How many bytes at the end of LEFT and RIGHT, COUNT each, are the same. */
static uint64_t
same_at_end(const uint8_t *left, const uint8_t *right, uint64_t count)
{
	uint64_t same = 0;

	while (
	    same < count && left[count - 1 - same] == right[count - 1 - same])
		same++;
	return same;
}

/* The output of FALL's interval is the next of STREAM, if it is the same. */
static void
try_interval(struct file_matcher *matcher, struct stream *stream,
    const struct fall *fall, uint8_t *room)
{
	const struct unit *unit = &matcher->units.unit[fall->cpu];
	uint64_t bytes = fall->offset - fall->begin, begin, same;

	if (bytes > stream->left)
		bytes = stream->left;
	begin = fall->offset - bytes;
	if (trace_off_copy(&matcher->work->trace_off[fall->cpu], begin, bytes,
		room) != bytes)
		return;
	same = same_at_end(room, stream->bytes + stream->left - bytes, bytes);
	if (same != bytes) {
		if (stream->left - same - 1 < stream->differs_at)
			stream->differs_at = stream->left - same - 1;
		return;
	}
	if (!GROW(stream->taken, stream->room, stream->count + 1)) {
		matcher->no_memory = true;
		return;
	}
	stream->left -= bytes;
	stream->taken[stream->count++] = (struct taken){ fall, stream->left,
		begin, bytes };
	stream->next_pa = pa_of(unit, begin, false);
	stream->has_next = true;
	stream->differs_at = stream->left;
}

static void
match_stream(struct file_matcher *matcher, struct stream *stream)
{
	uint8_t *room = malloc((size_t)stream->left + 1);

	matcher->no_memory |= room == NULL;
	for (size_t i = matcher->fall_count;
	     !matcher->no_memory && i-- > 0 && stream->left != 0;) {
		const struct fall *fall = matcher->falls[i];

		if (fall->offset != fall->begin &&
		    (stream->file->thread || fall->cpu == stream->file->id) &&
		    continues(matcher, stream, fall))
			try_interval(matcher, stream, fall, room);
	}
	free(room);
	if (stream->left != 0)
		verify_add_finding(matcher->work,
		    "%s: its first %" PRIu64 " bytes are not what %s wrote up "
		    "to a fall of TraceEn: byte %" PRIu64 " differs",
		    stream->file->file, stream->left,
		    stream->file->thread ? "a CPU" : "the CPU",
		    stream->differs_at);
	for (size_t i = stream->count; i-- > 0;) {
		const struct taken *taken = &stream->taken[i];

		drains_add(&matcher->drains, key_of(stream->file),
		    taken->fall->cpu, &matcher->units.unit[taken->fall->cpu],
		    taken->offset, stream->bytes + taken->position,
		    taken->bytes, taken->fall->event);
	}
}

/* The bytes of STREAMS stay until the events are merged. */
static int
match_all(struct file_matcher *matcher, struct stream *streams)
{
	const struct bundle *bundle = matcher->work->bundle;
	int error = 0;

	for (size_t i = 0; error == 0 && i < bundle->stream_count; i++) {
		size_t bytes;

		streams[i].file = &bundle->streams[i];
		error = bundle_read_stream(
		    bundle, i, &streams[i].bytes, &bytes, matcher->work->err);
		streams[i].left = streams[i].differs_at = bytes;
		if (error == 0 && !matcher->no_memory)
			match_stream(matcher, &streams[i]);
	}
	return error;
}

int
file_delivery_read(
    struct verify_work *work, struct event **events, size_t *count)
{
	struct file_matcher matcher = { .work = work };
	size_t stream_count = work->bundle->stream_count;
	struct stream *streams = calloc(stream_count + 1, sizeof(*streams));
	int error = 0;

	work->result->files = true;
	matcher.no_memory = streams == NULL ||
	    !units_read(&matcher.units, *events, *count);
	if (!matcher.no_memory)
		sort_falls(&matcher);
	if (!matcher.no_memory)
		error = match_all(&matcher, streams);
	matcher.no_memory |= matcher.drains.no_memory;
	if (error == 0 && !matcher.no_memory)
		drains_merge(&matcher.drains, &work->delivery, events, count);
	if (error == 0 && (matcher.no_memory || matcher.drains.no_memory))
		error = tz_error(work->err, TZ_EIO, "trace: out of memory");
	for (size_t i = 0; streams != NULL && i < stream_count; i++) {
		free(streams[i].bytes);
		free(streams[i].taken);
	}
	free(streams);
	free(matcher.falls);
	drains_free(&matcher.drains);
	units_free(&matcher.units);
	return error;
}
