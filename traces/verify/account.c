#include "traces/decode/vector.h"
#include "traces/verify/account_internal.h"

#include <inttypes.h>

#define ACCOUNT_PAGE_BYTES 4096u
#define ACCOUNT_RAM_END    (UINT64_C(1) << 32)

void
account_no_memory(struct account_work *work)
{
	if (work->error == 0)
		work->error = tz_error(
		    work->err, TZ_EIO, "accounting: out of memory");
}

struct account_stream *
account_stream(struct account_work *work, uint64_t key)
{
	struct account *account = work->account;
	struct account_stream *stream;

	for (size_t i = 0; i < account->stream_count; i++) {
		if (account->streams[i].key == key)
			return &account->streams[i];
	}
	if (!GROW(account->streams, account->stream_room,
		account->stream_count + 1)) {
		account_no_memory(work);
		return NULL;
	}
	stream = &account->streams[account->stream_count++];
	memset(stream, 0, sizeof(*stream));
	stream->key = key;
	work->any_thread |= (key & EVENT_STREAM_THREAD) != 0;
	return stream;
}

static void
account_add_interval(struct account_work *work, const struct event *event)
{
	struct account *account = work->account;
	struct account_cpu *cpu = &work->cpus[event->cpu];

	if (!GROW(account->intervals, account->interval_room,
		account->interval_count + 1) ||
	    !GROW(cpu->intervals, cpu->room, cpu->count + 1)) {
		account_no_memory(work);
		return;
	}
	account->intervals[account->interval_count] = (struct account_interval){
		.cpu = event->cpu,
		.begin = event->c,
		.end = event->c,
		.nth = cpu->count,
		.stream = ACCOUNT_NONE,
		.open = true,
	};
	cpu->intervals[cpu->count++] = account->interval_count++;
}

/* First pass: the intervals, from the units' own events. */
static void
account_find_intervals(
    struct account_work *work, const struct event *events, size_t count)
{
	struct account *account = work->account;

	for (size_t i = 0; i < count && work->error == 0; i++) {
		const struct event *event = &events[i];
		struct account_cpu *cpu = &work->cpus[event->cpu];
		struct account_interval *last = cpu->count == 0
		    ? NULL
		    : &account->intervals[cpu->intervals[cpu->count - 1]];

		if (event->kind == EVENT_TRACE_ON) {
			if (last != NULL && event->c < last->end)
				work->error = tz_error(work->err, TZ_EFORMAT,
				    "events.zst: record %zu: TraceEn rises at "
				    "offset %" PRIu64 ", before the last ends",
				    i, event->c);
			if (last != NULL)
				last->end = event->c;
			account_add_interval(work, event);
		} else if (last == NULL) {
			continue;
		} else if (event->kind == EVENT_TRACE_OFF) {
			last->open = false;
			if (event->c > last->end)
				last->end = event->c;
		} else if (event->kind == EVENT_OUTPUT) {
			if (event->c + event->b > last->end)
				last->end = event->c + event->b;
		} else if (event->kind == EVENT_STOPPED ||
		    event->kind == EVENT_PT_ERROR) {
			last->stopped = true;
		}
	}
}

/* The interval in which CPU's unit wrote byte OFFSET, or ACCOUNT_NONE. */
static size_t
account_find(const struct account_work *work, unsigned cpu, uint64_t offset)
{
	const struct account_cpu *of = &work->cpus[cpu];
	size_t low = 0, high = of->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		size_t index = of->intervals[mid];

		if (work->account->intervals[index].begin <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low == 0 ? ACCOUNT_NONE : of->intervals[low - 1];
}

struct account_span
account_split(
    struct account_work *work, unsigned cpu, uint64_t offset, uint64_t bytes)
{
	const struct account_interval *intervals = work->account->intervals;
	const struct account_cpu *of = &work->cpus[cpu];
	struct account_span span = { .offset = offset, .bytes = bytes };
	uint64_t nth;

	span.interval = account_find(work, cpu, offset);
	if (span.interval == ACCOUNT_NONE)
		return span;
	nth = intervals[span.interval].nth + 1;
	if (nth < of->count) {
		uint64_t end = intervals[of->intervals[nth]].begin;

		if (span.bytes > end - offset)
			span.bytes = end - offset;
	}
	return span;
}

/* New output replaces old bytes: they are lost if user space had not read them. */
static void
account_overwrite(void *arg, const struct frames_span *old)
{
	struct account_work *work = arg;
	uint64_t done = 0;

	while (!old->reported && done < old->bytes) {
		struct account_span span = account_split(
		    work, old->cpu, old->offset + done, old->bytes - done);
		struct account_sums *sums = &work->sums[span.interval];

		if (sums->overwritten == 0)
			sums->overwritten_offset = span.offset;
		sums->overwritten += span.bytes;
		done += span.bytes;
	}
}

/* True if [PA, PA + BYTES) is below 4 GiB, where RAM is (emu/guest_abi.h). */
static bool
account_in_ram(
    struct account_work *work, uint64_t pa, uint64_t bytes, size_t at)
{
	if (pa <= ACCOUNT_RAM_END && bytes <= ACCOUNT_RAM_END - pa)
		return true;
	work->error = tz_error(work->err, TZ_EFORMAT,
	    "events.zst: record %zu: %#llx bytes at %#llx exceed RAM", at,
	    (unsigned long long)bytes, (unsigned long long)pa);
	return false;
}

static void
account_output(struct account_work *work, const struct event *event, size_t at)
{
	uint64_t done = 0;

	if (!account_in_ram(work, event->a, event->b, at))
		return;
	while (done < event->b) {
		struct account_span span = account_split(
		    work, event->cpu, event->c + done, event->b - done);
		struct account_sums *sums;

		if (span.interval == ACCOUNT_NONE) {
			work->error = tz_error(work->err, TZ_EFORMAT,
			    "events.zst: record %zu: trace output while "
			    "TraceEn is 0",
			    at);
			return;
		}
		sums = &work->sums[span.interval];
		if (sums->written == 0) {
			sums->pa = event->a + done;
			sums->owner = frames_owner(work->frames, sums->pa);
		}
		sums->written += span.bytes;
		sums->end_pa = event->a + done + span.bytes;
		done += span.bytes;
	}
	if (!frames_write(work->frames, event->a, event->b, event->cpu,
		event->c, account_overwrite, work))
		account_no_memory(work);
}

void
account_add_piece(struct account_work *work, struct account_stream *stream,
    struct account_piece piece)
{
	struct account_piece *last;

	if (stream->piece_count != 0) {
		last = &stream->pieces[stream->piece_count - 1];
		if (last->interval == piece.interval &&
		    last->tail == piece.tail &&
		    last->position + last->bytes == piece.position &&
		    (piece.interval == ACCOUNT_NONE ||
			last->offset + last->bytes == piece.offset)) {
			last->bytes += piece.bytes;
			return;
		}
	}
	if (!GROW(stream->pieces, stream->piece_room, stream->piece_count + 1))
		account_no_memory(work);
	else
		stream->pieces[stream->piece_count++] = piece;
}

/* A span that user space read: new trace, or stale bytes. */
static void
account_drain_span(void *arg, const struct frames_span *old)
{
	struct account_work *work = arg;
	struct account_stream *stream = work->reader;
	uint64_t done = 0;

	while (done < old->bytes) {
		struct account_piece piece = {
			.bytes = old->bytes - done,
			.position = work->position,
			.interval = ACCOUNT_NONE,
		};

		if (old->written && !old->reported) {
			struct account_span span = account_split(work, old->cpu,
			    old->offset + done, old->bytes - done);
			struct account_interval *interval =
			    &work->account->intervals[span.interval];
			size_t index = (size_t)(stream -
			    work->account->streams);

			if (interval->stream == ACCOUNT_NONE)
				interval->stream = index;
			piece.bytes = span.bytes;
			if (interval->stream == index) {
				piece.interval = span.interval;
				piece.offset = span.offset;
			} else {
				work->sums[span.interval].taken += span.bytes;
			}
		}
		if (piece.interval == ACCOUNT_NONE) {
			if (stream->rows[ACCOUNT_STALE] == 0)
				stream->places[ACCOUNT_STALE].offset =
				    piece.position;
			stream->rows[ACCOUNT_STALE] += piece.bytes;
		} else {
			stream->rows[ACCOUNT_REPORTED] += piece.bytes;
		}
		account_add_piece(work, stream, piece);
		work->position += piece.bytes;
		done += piece.bytes;
	}
}

static void
account_drain(struct account_work *work, const struct event *event, size_t at)
{
	struct account_stream *stream = account_stream(work, event->a);

	if (stream == NULL || !account_in_ram(work, event->b, event->c, at))
		return;
	work->reader = stream;
	work->position = stream->drained;
	if (!frames_read(work->frames, event->b, event->c, event->a,
		account_drain_span, work))
		account_no_memory(work);
	stream->drained += event->c;
}

/* User space names the stream whose buffer a frame is in. */
static void
account_name(struct account_work *work, const struct event *event, size_t at)
{
	if (event->b % ACCOUNT_PAGE_BYTES + event->c > ACCOUNT_PAGE_BYTES) {
		work->error = tz_error(work->err, TZ_EFORMAT,
		    "events.zst: record %zu: a buffer's part exceeds its page",
		    at);
		return;
	}
	if (account_stream(work, event->a) != NULL &&
	    !frames_name(work->frames, event->b, event->a))
		account_no_memory(work);
}

static void
account_replay_events(
    struct account_work *work, const struct event *events, size_t count)
{
	struct account_stream *stream;

	for (size_t i = 0; i < count && work->error == 0; i++) {
		const struct event *event = &events[i];

		if (event->kind == EVENT_OUTPUT) {
			account_output(work, event, i);
		} else if (event->kind == EVENT_DRAIN) {
			account_drain(work, event, i);
		} else if (event->kind == EVENT_BUFFER) {
			account_name(work, event, i);
		} else if (event->kind == EVENT_LOST) {
			stream = account_stream(work, event->a);
			if (stream != NULL)
				stream->claimed += event->c;
		}
	}
}

int
account_replay(const struct event *events, size_t count,
    struct account *account, struct tz_error *err)
{
	struct account_work work = { .account = account, .err = err };

	memset(account, 0, sizeof(*account));
	for (size_t i = 0; i < count; i++)
		TZ_ASSERT(events[i].cpu < ACCOUNT_CPUS_MAX);
	work.frames = frames_create();
	account_find_intervals(&work, events, count);
	work.sums = calloc(account->interval_count + 1, sizeof(*work.sums));
	if (work.frames == NULL || work.sums == NULL)
		account_no_memory(&work);
	if (work.error == 0)
		account_replay_events(&work, events, count);
	if (work.error == 0)
		account_finish(&work);
	frames_destroy(work.frames);
	free(work.sums);
	free(work.spans);
	for (size_t i = 0; i < ACCOUNT_CPUS_MAX; i++)
		free(work.cpus[i].intervals);
	if (work.error != 0)
		account_free(account);
	return work.error;
}

uint32_t
account_cpus(const struct account *account, size_t stream)
{
	uint32_t cpus = 0;

	for (size_t i = 0; i < account->interval_count; i++)
		if (account->intervals[i].stream == stream)
			cpus |= UINT32_C(1) << account->intervals[i].cpu;
	return cpus;
}

void
account_free(struct account *account)
{
	for (size_t i = 0; i < account->stream_count; i++)
		free(account->streams[i].pieces);
	free(account->streams);
	free(account->intervals);
	memset(account, 0, sizeof(*account));
}

const char *
account_row_name(enum account_row row)
{
	static const char *const names[] = {
#define ACCOUNT_ROW_NAME(id, name, text) name,
		ACCOUNT_ROWS(ACCOUNT_ROW_NAME)
#undef ACCOUNT_ROW_NAME
	};

	TZ_ASSERT(row < ACCOUNT_ROW_COUNT);
	return names[row];
}

const char *
account_row_text(enum account_row row)
{
	static const char *const texts[] = {
#define ACCOUNT_ROW_TEXT(id, name, text) text,
		ACCOUNT_ROWS(ACCOUNT_ROW_TEXT)
#undef ACCOUNT_ROW_TEXT
	};

	TZ_ASSERT(row < ACCOUNT_ROW_COUNT);
	return texts[row];
}
