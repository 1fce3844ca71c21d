/*
 * The streams: which buffer has which key, its pages, its owner.  What happens to the
 * bytes in it is in ledger.c.
 */
#include "harness/check/internal.h"

#define STREAM_ROWS                                               \
 (CHECK_ROW(REPORTED_UNWRITTEN) | CHECK_ROW(REPORTED_TWICE) |     \
     CHECK_ROW(REPORTED_ORDER) | CHECK_ROW(REPORTED_FOREIGN) |    \
     CHECK_ROW(OVERWRITTEN) | CHECK_ROW(OVERWRITTEN_UNREPORTED) | \
     CHECK_ROW(UNREPORTED_TAIL) | CHECK_ROW(UNREPORTED_CLOSE) |   \
     CHECK_ROW(LOST_EXCESS))

bool
stream_is_object(const struct check_stream *stream)
{
	return (stream->key & CHECK_OBJECT) != 0;
}

/* Two contexts may each have a buffer with the same number. */
unsigned
stream_find(const struct check *check, uint64_t key)
{
	const struct check_stream *stream = check->core.stream;
	unsigned found = CHECK_STREAMS_MAX;

	for (uint32_t i = 0; i < check->core.stream_count; i++) {
		if (stream[i].key == key &&
		    (found == CHECK_STREAMS_MAX || stream[i].current))
			found = i;
	}
	return found;
}

/* Reuses a stream whose object was freed, if there is one. */
unsigned
stream_make(struct check *check, uint64_t key)
{
	struct check_core *core = &check->core;
	unsigned index = stream_find(check, key);

	if (index != CHECK_STREAMS_MAX)
		return index;
	for (index = 0; index < core->stream_count; index++) {
		if (stream_is_object(&core->stream[index]) &&
		    core->stream[index].page_count == 0)
			break;
	}
	if (index == CHECK_STREAMS_MAX)
		return index;
	core->stream_count += index == core->stream_count;
	core->stream[index] = (struct check_stream){ .key = key };
	return index;
}

void
stream_blur(struct check *check, unsigned index, enum check_reason reason)
{
	check->core.stream[index].blurred = true;
	violation_skip(check, reason, STREAM_ROWS);
}

void
stream_rename(struct check *check, unsigned index, uint64_t key)
{
	struct check_core *core = &check->core;
	unsigned before = stream_find(check, key);

	/* The stream with the same key was freed, or belongs to another context. */
	if (before != CHECK_STREAMS_MAX) {
		if (core->stream[before].page_count == 0)
			core->stream[before].key = CHECK_OBJECT | UINT32_MAX;
		core->stream[before].current = false;
	}
	core->stream[index].key = key;
	core->stream[index].current = true;
}

static bool
stream_is_unnamed(const struct check *check, uint64_t pa)
{
	const struct check_core *core = &check->core;

	for (uint32_t i = 0; i < core->unnamed_count; i++) {
		if (core->unnamed[i] == pa)
			return true;
	}
	return core->unnamed_more;
}

/* One run of output to named pages and others: a program mapped a part of the buffer. */
static void
stream_note_part(struct check *check)
{
	const struct check_cpu *cpu = &check->core.cpu[check->core.event.cpu];

	if (cpu->named && cpu->unnamed)
		check->core.stream[cpu->stream].part = true;
}

void
stream_note_unnamed(struct check *check, uint64_t pa)
{
	struct check_core *core = &check->core;

	check->core.cpu[check->core.event.cpu].unnamed = true;
	stream_note_part(check);
	pa -= pa % CHECK_PAGE_BYTES;
	if (stream_is_unnamed(check, pa))
		return;
	if (core->unnamed_count < CHECK_UNNAMED_MAX)
		core->unnamed[core->unnamed_count++] = pa;
	else
		core->unnamed_more = true;
}

void
stream_note_output(struct check *check, uint8_t index)
{
	struct check_cpu *cpu = &check->core.cpu[check->core.event.cpu];

	cpu->stream = index;
	cpu->named = true;
	stream_note_part(check);
}

void
stream_trace_on(struct check *check, const struct event *event)
{
	struct check_cpu *cpu = &check->core.cpu[event->cpu];

	cpu->named = cpu->unnamed = false;
}

void
stream_add_page(struct check *check, unsigned index, uint64_t pa)
{
	struct check_stream *stream = &check->core.stream[index];

	if (stream->page_count == CHECK_BUFFER_MAX) {
		stream_blur(check, index, REASON_BUFFER);
		return;
	}
	if (stream_is_unnamed(check, pa))
		stream_blur(check, index, REASON_LATE);
	if (!page_name(check, pa, index, stream->page_count))
		stream_blur(check, index, REASON_BUFFER);
	stream->cursor = ++stream->page_count;
}

void
stream_reset(struct check *check, unsigned index)
{
	struct check_stream *stream = &check->core.stream[index];
	const struct check_stream empty = {
		.key = stream->key, .current = stream->current, .fresh = true
	};

	page_forget_stream(check, index);
	*stream = empty;
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++) {
		struct check_cpu *cpu = &check->core.cpu[i];

		if (cpu->stream != index)
			continue;
		cpu->stream = CHECK_NO_STREAM;
		cpu->named = false;
	}
}

void
check_named(struct check *check, uint64_t stream, unsigned context)
{
	unsigned index = stream_find(check, stream);

	if (index != CHECK_STREAMS_MAX)
		check->core.stream[index].context = context;
}
