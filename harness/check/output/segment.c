/*
 * The bytes of a buffer that were written and not reported, as segments in the order of
 * writing.  Without loss there are at most two: one up to the buffer's end, and one
 * from its start.
 */
#include "harness/check/internal.h"

#include <string.h>

static void
segment_remove(struct check_unread *unread, uint32_t index)
{
	memmove(&unread->segment[index], &unread->segment[index + 1],
	    (unread->count - index - 1) * sizeof(unread->segment[0]));
	unread->count--;
}

/*
 * Removes [BEGIN, END) from segment INDEX, which it overlaps; true: the whole
 * segment was removed.
 */
static bool
segment_cut(struct check *check, unsigned stream, uint32_t index,
    uint32_t begin, uint32_t end)
{
	struct check_unread *unread = &check->core.stream[stream].unread;
	struct check_segment *segment = &unread->segment[index];
	struct check_segment rest = *segment;

	rest.begin = end;
	if (begin > segment->begin && end < segment->end) {
		if (unread->count == CHECK_SEGMENTS) {
			stream_blur(check, stream, REASON_SEGMENTS);
			return false;
		}
		memmove(segment + 2, segment + 1,
		    (unread->count - index - 1) * sizeof(*segment));
		segment->end = begin;
		segment[1] = rest;
		unread->count++;
		return false;
	}
	if (begin > segment->begin)
		segment->end = begin;
	else if (end < segment->end)
		segment->begin = end;
	else {
		segment_remove(unread, index);
		return true;
	}
	return false;
}

uint64_t
segment_bytes(const struct check_stream *stream)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < stream->unread.count; i++) {
		const struct check_segment *segment =
		    &stream->unread.segment[i];

		if (!segment->old)
			bytes += segment->end - segment->begin;
	}
	return bytes;
}

/* The current place, with the driver's action at SITE as the cause. */
static struct check_place
segment_place(
    const struct check *check, unsigned stream, const struct check_site *site)
{
	struct check_place at = site_here(check);

	at.stream = (uint8_t)stream;
	at.blame = site_or(check, at.cpu, site, NULL);
	return at;
}

/* Bytes are overwritten because of SITE: the CPU's current instruction is unrelated. */
static void
segment_note(struct check *check, unsigned index, const struct check_site *site)
{
	struct check_stream *stream = &check->core.stream[index];

	stream->overwritten_at = segment_place(check, index, site);
	stream->overwritten_at.rip = 0;
}

/*
 * True if the output continues at BEGIN: after the last byte written, or wrapped
 * around.
 */
static bool
segment_goes_on(const struct check_stream *stream, uint32_t begin)
{
	const struct check_unread *unread = &stream->unread;
	uint32_t last = unread->count == 0
	    ? begin
	    : unread->segment[unread->count - 1].end;

	return begin == last ||
	    (begin == 0 && last == stream->page_count * CHECK_PAGE_BYTES);
}

/*
 * If the buffer wrapped, the driver has not read the position in time; if the
 * pointer was set back, the driver did so before it set TraceEn.
 */
static void
segment_overwrite(
    struct check *check, unsigned stream_index, uint32_t begin, uint32_t end)
{
	struct check_stream *stream = &check->core.stream[stream_index];
	struct check_unread *unread = &stream->unread;
	const struct check_site *site = segment_goes_on(stream, begin)
	    ? &stream->read_at
	    : &check->core.cpu[check->core.event.cpu].action.on_at;

	for (uint32_t i = 0; i < unread->count && !stream->blurred;) {
		struct check_segment was = unread->segment[i];
		uint32_t from = was.begin > begin ? was.begin : begin;
		uint32_t to = was.end < end ? was.end : end;

		if (from >= to) {
			i++;
			continue;
		}
		if (!was.old) {
			if (unread->overwritten <= unread->lost)
				segment_note(check, stream_index, site);
			unread->overwritten += to - from;
		}
		if (!segment_cut(check, stream_index, i, from, to))
			i++;
	}
}

void
segment_write(
    struct check *check, unsigned stream_index, uint32_t begin, uint32_t end)
{
	struct check_stream *stream = &check->core.stream[stream_index];
	struct check_unread *unread = &stream->unread;
	struct check_segment *last;

	TZ_ASSERT(begin < end);
	segment_overwrite(check, stream_index, begin, end);
	if (end > stream->high)
		stream->high = end;
	last = unread->count == 0 ? NULL : &unread->segment[unread->count - 1];
	if (last != NULL && last->end == begin && !last->old) {
		last->end = end;
		return;
	}
	if (unread->count == CHECK_SEGMENTS) {
		stream_blur(check, stream_index, REASON_SEGMENTS);
		return;
	}
	unread->segment[unread->count++] = (struct check_segment){
		.begin = begin,
		.end = end,
	};
}

void
segment_tally(struct check *check, unsigned stream, enum check_tally stats,
    uint64_t bytes)
{
	struct check_stream *of = &check->core.stream[stream];

	if (of->stats[stats].bytes == 0)
		of->stats[stats].at = segment_place(
		    check, stream, &of->read_at);
	of->stats[stats].bytes += bytes;
}

/* Bytes from BEGIN to the returned position that are in no segment are reported. */
static uint32_t
segment_read_stale(
    struct check *check, unsigned stream_index, uint32_t begin, uint32_t end)
{
	const struct check_stream *stream = &check->core.stream[stream_index];
	enum check_tally stats = STATS_UNWRITTEN;

	for (uint32_t i = 0; i < stream->unread.count; i++) {
		uint32_t next = stream->unread.segment[i].begin;

		if (next >= begin && next < end)
			end = next;
	}
	if (begin < stream->high) {
		stats = STATS_TWICE;
		if (end > stream->high)
			end = stream->high;
	}
	segment_tally(check, stream_index, stats, end - begin);
	return end;
}

/* The index of the segment that contains BEGIN, or .count. */
static uint32_t
segment_find(const struct check_unread *unread, uint32_t begin)
{
	uint32_t i = 0;

	while (i < unread->count &&
	    (begin < unread->segment[i].begin ||
		begin >= unread->segment[i].end))
		i++;
	return i;
}

/*
 * True if BEGIN, in segment INDEX, is the oldest unreported byte.  Bytes of an earlier
 * session, and those before a loss of unknown size, may be skipped.
 */
static bool
segment_is_next(
    const struct check_unread *unread, uint32_t index, uint32_t begin)
{
	for (uint32_t i = 0; i < index; i++) {
		if (!unread->segment[i].old)
			return false;
	}
	return unread->segment[index].old ||
	    unread->segment[index].begin == begin;
}

void
segment_read(
    struct check *check, unsigned stream_index, uint32_t begin, uint32_t end)
{
	struct check_stream *stream = &check->core.stream[stream_index];
	struct check_unread *unread = &stream->unread;

	while (begin < end && !stream->blurred) {
		uint32_t i = segment_find(unread, begin);
		uint32_t to = end;

		if (i == unread->count) {
			begin = segment_read_stale(
			    check, stream_index, begin, end);
			continue;
		}
		if (to > unread->segment[i].end)
			to = unread->segment[i].end;
		/* The report was meant for bytes that have been overwritten. */
		if (!segment_is_next(unread, i, begin))
			segment_tally(check, stream_index,
			    unread->overwritten > unread->lost
				? STATS_OVERWRITTEN
				: STATS_ORDER,
			    to - begin);
		else if (!unread->segment[i].old)
			stream->owed -= stream->owed < to - begin ? stream->owed
								  : to - begin;
		segment_cut(check, stream_index, i, begin, to);
		begin = to;
	}
}
