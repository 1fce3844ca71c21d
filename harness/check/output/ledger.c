/*
 * Accounts for each byte of a trace buffer: reported, reported as lost, overwritten, or
 * left.  Rows reported-*, overwritten, overwritten-unreported, unreported-tail,
 * unreported-close and lost-excess.
 */
#include "emu/guest_abi.h"
#include "harness/check/internal.h"

#include <inttypes.h>

static const struct {
	enum check_id id;
	const char *text;
} stats_list[STATS_COUNT] = {
	[STATS_UNWRITTEN] = { CHECK_REPORTED_UNWRITTEN,
	    "that were never written" },
	[STATS_TWICE] = { CHECK_REPORTED_TWICE, "a second time" },
	[STATS_ORDER] = { CHECK_REPORTED_ORDER, "while older ones are not" },
	[STATS_FOREIGN] = { CHECK_REPORTED_FOREIGN,
	    "that are of another buffer" },
	[STATS_OVERWRITTEN] = { CHECK_OVERWRITTEN,
	    "in place of older ones, which were overwritten" },
};

static void
ledger_flush(struct check *check, unsigned index)
{
	struct check_stream *stream = &check->core.stream[index];

	for (unsigned i = 0; i < STATS_COUNT; i++) {
		if (stream->stats[i].bytes != 0 && !stream->blurred)
			violation_add(check, stats_list[i].id, 0,
			    &stream->stats[i].at,
			    "stream %" PRIu32 ": %" PRIu64
			    " bytes are reported %s",
			    EVENT_STREAM_ID(stream->key),
			    stream->stats[i].bytes, stats_list[i].text);
		stream->stats[i].bytes = 0;
	}
}

void
ledger_settle(struct check *check, unsigned index, bool final)
{
	struct check_stream *stream = &check->core.stream[index];
	struct check_unread *unread = &stream->unread;
	struct check_place at = site_here(check);
	uint32_t id = EVENT_STREAM_ID(stream->key);

	at.stream = (uint8_t)index;
	at.blame = site_or(check, at.cpu, &stream->read_at, NULL);
	ledger_flush(check, index);
	if (!final || stream->blurred)
		return;
	if (stream->missing && unread->overwritten > unread->lost)
		violation_add(check, CHECK_OVERWRITTEN_UNREPORTED, 0,
		    &stream->overwritten_at,
		    "stream %" PRIu32 ": %" PRIu64
		    " bytes were overwritten unreported, %" PRIu64
		    " reported lost",
		    id, unread->overwritten, unread->lost);
	if (unread->lost > unread->overwritten && stream->part)
		violation_skip(check, REASON_PART, CHECK_ROW(LOST_EXCESS));
	else if (unread->lost > unread->overwritten && !stream->unsure)
		violation_add(check, CHECK_LOST_EXCESS, 0, &at,
		    "stream %" PRIu32 ": %" PRIu64
		    " bytes reported lost, %" PRIu64 " were",
		    id, unread->lost, unread->overwritten);
	if (stream->owed != 0)
		violation_add(check, CHECK_UNREPORTED_TAIL, 0, &stream->owed_at,
		    "stream %" PRIu32 ": %" PRIu64
		    " bytes written before tracing went off are not reported",
		    id, stream->owed);
	stream->owed = 0;
	stream->missing = false;
}

static void
ledger_reset(struct check *check, unsigned index)
{
	stream_reset(check, index);
	table_moved(check);
}

/* Frames of the stream are freed. */
static void
ledger_close(struct check *check, unsigned index)
{
	struct check_stream *stream = &check->core.stream[index];
	struct check_place at = site_here(check);
	uint64_t left = segment_bytes(stream);

	at.stream = (uint8_t)index;
	at.blame = site_or(check, at.cpu, &stream->off_at, &stream->read_at);

	ledger_settle(check, index, true);
	if (left != 0 && stream->drained && !stream->asked && !stream->blurred)
		violation_add(check, CHECK_UNREPORTED_CLOSE, 0, &at,
		    "stream %" PRIu32 ": %" PRIu64
		    " bytes are freed with the buffer, unreported",
		    EVENT_STREAM_ID(stream->key), left);
	ledger_reset(check, index);
}

void
ledger_buffer(struct check *check, const struct event *event)
{
	const struct check_page *page = page_find(check, event->b);
	struct check_stream *stream;
	unsigned index;

	if (page != NULL && page->index == 0 &&
	    check->core.stream[page->stream].key != event->a)
		stream_rename(check, page->stream, event->a);
	if (page != NULL && check->core.stream[page->stream].key == event->a) {
		/* The same buffer is named again, or a part of it. */
		check->core.stream[page->stream].cursor = page->index + 1u;
		return;
	}
	index = stream_make(check, event->a);
	if (index == CHECK_STREAMS_MAX)
		return;
	stream = &check->core.stream[index];
	if (page != NULL)
		ledger_close(check, page->stream);
	if (stream->cursor != stream->page_count)
		ledger_close(check, index);
	if (stream->page_count == 0)
		ledger_reset(check, index);
	stream_add_page(check, index, event->b);
}

void
ledger_object_page(struct check *check, const struct event *event)
{
	const struct check_page *page = page_find(check, event->b);
	unsigned index = stream_make(check, CHECK_OBJECT | event->a);

	if (page != NULL)
		ledger_close(check, page->stream);
	if (index == CHECK_STREAMS_MAX)
		return;
	if (event->c == 0)
		ledger_reset(check, index);
	/* Pages that are named in another order are not a buffer. */
	if (check->core.stream[index].page_count == event->c)
		stream_add_page(check, index, event->b);
}

static void
ledger_free_extent(struct check *check, const struct check_extent *extent)
{
	uint64_t end = extent->pa + extent->bytes;

	for (uint64_t pa = extent->pa; pa < end;) {
		const struct check_page *page = page_find(check, pa);

		if (page != NULL)
			ledger_close(check, page->stream);
		pa = (pa / CHECK_PAGE_BYTES + 1) * CHECK_PAGE_BYTES;
	}
}

void
ledger_free(struct check *check, const struct event *event)
{
	const struct check_extent *extent = NULL;

	while ((extent = owner_next(check, event->a, extent)) != NULL) {
		table_freed(check, extent);
		ledger_free_extent(check, extent);
	}
}

/*
 * Calls EACH for the parts of [PA, +BYTES) that lie in known pages, and OTHER for
 * the rest.
 */
static void
ledger_pages(struct check *check, uint64_t pa, uint64_t bytes,
    void (*each)(struct check *check, const struct check_page *page,
	uint32_t begin, uint32_t end),
    void (*other)(struct check *check, uint64_t pa))
{
	while (bytes != 0) {
		uint64_t offset = pa % CHECK_PAGE_BYTES;
		uint64_t part = CHECK_PAGE_BYTES - offset;
		const struct check_page *page = page_find(check, pa);

		if (part > bytes)
			part = bytes;
		if (page != NULL) {
			uint64_t begin = page->index * CHECK_PAGE_BYTES +
			    offset;

			each(check, page, (uint32_t)begin,
			    (uint32_t)(begin + part));
		} else if (other != NULL) {
			other(check, pa);
		}
		pa += part;
		bytes -= part;
	}
}

static void
ledger_write(struct check *check, const struct check_page *page, uint32_t begin,
    uint32_t end)
{
	struct check_stream *stream = &check->core.stream[page->stream];

	stream_note_output(check, page->stream);
	stream->fresh = false;
	stream->written = true;
	stream->asked = true;
	stream->owed = 0;
	if (!stream->blurred)
		segment_write(check, page->stream, begin, end);
}

void
ledger_output(struct check *check, const struct event *event)
{
	ledger_pages(
	    check, event->a, event->b, ledger_write, stream_note_unnamed);
}

static void
ledger_read(struct check *check, const struct check_page *page, uint32_t begin,
    uint32_t end)
{
	unsigned index = stream_find(check, check->core.event.a);
	struct check_stream *stream;

	if (index == CHECK_STREAMS_MAX)
		return;
	if (check->core.stream[page->stream].key != check->core.event.a) {
		segment_tally(check, index, STATS_FOREIGN, end - begin);
		return;
	}
	index = page->stream;
	stream = &check->core.stream[index];
	stream->drained = true;
	segment_read(check, index, begin, end);
	stream->to_end = end == stream->page_count * CHECK_PAGE_BYTES;
	if (stream->to_end && stream->unread.count == 0 && !check->config.rings)
		table_told(check, index);
}

/* A buffer that was never named is not judged. */
void
ledger_drain(struct check *check, const struct event *event)
{
	ledger_pages(check, event->b, event->c, ledger_read, NULL);
}

void
ledger_lost(struct check *check, const struct event *event)
{
	unsigned index = stream_make(check, event->a);
	struct check_stream *stream;
	bool unknown;

	if (index == CHECK_STREAMS_MAX)
		return;
	stream = &check->core.stream[index];
	unknown = event->c == 0 || event->c == ABI_LOST_SKIPPED;
	/* The bytes written to a buffer that was never named are unknown. */
	if (stream->page_count != 0 && !unknown)
		stream->unread.lost += event->c;
	for (uint32_t i = 0;
	     event->c == ABI_LOST_SKIPPED && i < stream->unread.count; i++)
		stream->unread.segment[i].old = true;
	/* All that were overwritten until now. */
	if (unknown) {
		stream->unsure = true;
		if (stream->unread.overwritten > stream->unread.lost)
			stream->unread.lost = stream->unread.overwritten;
	}
	table_told(check, index);
	table_told(check, CHECK_NO_STREAM);
}

void
ledger_off(struct check *check, const struct event *event)
{
	uint8_t index = check->core.cpu[event->cpu].stream;

	if (index != CHECK_NO_STREAM)
		check->core.stream[index].asked = false;
}

static bool
ledger_is_tracing(const struct check *check, unsigned stream)
{
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++) {
		if (check->core.cpu[i].trace.state == TRACING_ON &&
		    check->core.cpu[i].stream == stream)
			return true;
	}
	return false;
}

static void
ledger_go_on(struct check_stream *stream)
{
	struct check_unread *unread = &stream->unread;

	for (uint32_t i = 0; i < unread->count; i++)
		unread->segment[i].old = false;
	unread->overwritten += stream->before.overwritten;
	unread->lost += stream->before.lost;
	if (stream->fresh)
		stream->written = stream->before.written;
	stream->fresh = false;
}

void
ledger_call_end(struct check *check, const struct event *event)
{
	const struct check_actor *actor = NULL;

	if (event->b < SCRIPT_ACTORS)
		actor = &check->core.actor[event->b];
	for (uint32_t i = 0; i < check->core.stream_count; i++) {
		struct check_stream *stream = &check->core.stream[i];

		ledger_flush(check, i);
		stream->asked = true;
		/* The start failed: the session continues. */
		if (actor != NULL && actor->ages && (int64_t)event->c < 0) {
			ledger_go_on(stream);
		}
	}
}

void
ledger_starting(struct check *check)
{
	struct check_core *core = &check->core;

	for (uint32_t i = 0; i < core->stream_count; i++) {
		struct check_stream *stream = &core->stream[i];

		ledger_settle(check, i, true);
		for (uint32_t j = 0; j < stream->unread.count; j++)
			stream->unread.segment[j].old = true;
		stream->before.overwritten = stream->unread.overwritten;
		stream->before.lost = stream->unread.lost;
		stream->before.written = stream->written;
		stream->unread.overwritten = stream->unread.lost = 0;
		stream->unsure = false;
		stream->fresh = stream->written = true;
	}
}

void
check_rereading(struct check *check, uint64_t key)
{
	for (uint32_t i = 0; i < check->core.stream_count; i++) {
		struct check_stream *stream = &check->core.stream[i];

		if ((key != CHECK_ALL_STREAMS && stream->key != key) ||
		    stream_is_object(stream))
			continue;
		if (stream->written) {
			stream->kept = stream->unread;
			stream->written = false;
		} else {
			stream->unread = stream->kept;
		}
	}
}

void
ledger_collect(struct check *check, unsigned index, bool all)
{
	struct check_stream *stream = &check->core.stream[index];

	ledger_flush(check, index);
	if (stream->unread.overwritten > stream->unread.lost)
		stream->missing = true;
	if (!all || ledger_is_tracing(check, index))
		return;
	stream->owed = segment_bytes(stream);
	stream->owed_at = site_here(check);
	stream->owed_at.stream = (uint8_t)index;
	stream->owed_at.blame = site_or(
	    check, stream->owed_at.cpu, &stream->off_at, &stream->read_at);
}

/*
 * All bytes before the position were taken: later ones were not reported.  Reports that are
 * taken without it may have been kept by the kernel from before a loss.
 */
void
ledger_position(struct check *check, const struct event *event)
{
	unsigned index = stream_find(check, event->a);

	if (index == CHECK_STREAMS_MAX)
		return;
	ledger_collect(check, index, true);
	table_collected(check, index);
	table_collected(check, CHECK_NO_STREAM);
}
