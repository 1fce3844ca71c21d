/*
 * Replays the events of a run over physical memory: who wrote each byte, and whether user
 * space read it before it was overwritten.
 */
#include "emu/guest_abi.h"
#include "traces/decode/vector.h"
#include "traces/verify/account/account_internal.h"

#include <inttypes.h>

#define ACCOUNT_PAGE_BYTES 4096u
#define ACCOUNT_RAM_END    (UINT64_C(1) << 32)

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
		if (span.offset < sums->told_end)
			sums->told_overwritten += span.bytes;
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
		sums->end = span.offset + span.bytes;
		done += span.bytes;
	}
	if (!frames_write(work->frames, event->a, event->b, event->cpu,
		event->c, account_overwrite, work))
		account_no_memory(work);
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

/*
 * The driver reports a loss of unknown size, and the reader goes on behind it: any of what
 * was written until now.  An interval that nobody has read is perhaps another stream's,
 * which then is not asked.
 */
static void
account_claim_any(struct account_work *work, struct account_stream *stream)
{
	const struct account *account = work->account;
	size_t index = (size_t)(stream - account->streams);

	stream->claims_any = true;
	for (size_t i = 0; i < account->interval_count; i++) {
		struct account_sums *sums = &work->sums[i];

		if (account->intervals[i].stream != index &&
		    account->intervals[i].stream != ACCOUNT_NONE)
			continue;
		sums->told_overwritten = sums->overwritten;
		sums->told_end = sums->end;
	}
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
			if (stream != NULL && event->c == ABI_LOST_SKIPPED)
				account_claim_any(work, stream);
			else if (stream != NULL)
				stream->claimed += event->c;
		}
	}
}

int
account_replay(const struct event *events, size_t count, bool files,
    struct account *account, struct tz_error *err)
{
	struct account_work work = {
		.account = account, .err = err, .files = files
	};

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
