/*
 * Streams, intervals and pieces: an account as data.
 */
#include "traces/decode/vector.h"
#include "traces/verify/account/account_internal.h"

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
