#include "traces/decode/vector.h"
#include "traces/verify/account/account_internal.h"

/* The stream of interval INDEX, from which nothing was read; ACCOUNT_NONE: none. */
static size_t
account_stream_by_frame(struct account_work *work, size_t index)
{
	const struct account *account = work->account;
	const struct account_sums *sums = &work->sums[index];
	struct account_stream *stream = NULL;
	uint64_t owner = sums->owner;

	if (owner == FRAMES_NOBODY)
		owner = frames_first_owner(work->frames, sums->pa);
	if (owner != FRAMES_NOBODY)
		stream = account_stream(work, owner);
	else if (!work->any_thread)
		stream = account_stream(work, account->intervals[index].cpu);
	return stream == NULL ? ACCOUNT_NONE
			      : (size_t)(stream - account->streams);
}

/* Assigns the intervals from which nothing was read to their streams. */
static void
account_own_intervals(struct account_work *work)
{
	struct account *account = work->account;

	for (size_t i = 0; i < account->interval_count; i++) {
		struct account_interval *interval = &account->intervals[i];

		work->sums[i].read = interval->stream != ACCOUNT_NONE;
		if (!work->sums[i].read && work->sums[i].written != 0)
			interval->stream = account_stream_by_frame(work, i);
	}
}

/* One way through the intervals: marks those that output of a stream's file goes on to. */
static bool
account_spread(struct account_work *work, bool backward)
{
	const struct account *account = work->account;
	const struct account_sums **last = calloc(
	    account->stream_count + 1, sizeof(*last));

	if (last == NULL)
		return false;
	for (size_t i = 0; i < account->interval_count; i++) {
		size_t at = backward ? account->interval_count - 1 - i : i;
		size_t stream = account->intervals[at].stream;
		struct account_sums *sums = &work->sums[at];

		if (stream == ACCOUNT_NONE || sums->written == 0)
			continue;
		if (last[stream] != NULL && last[stream]->read &&
		    (backward ? frames_goes_on(work->frames, sums->end_pa,
				    last[stream]->pa)
			      : frames_goes_on(work->frames,
				    last[stream]->end_pa, sums->pa)))
			sums->read = true;
		last[stream] = sums;
	}
	free(last);
	return true;
}

/* Takes the intervals from the streams of files that have nothing to do with them. */
static void
account_disown_intervals(struct account_work *work)
{
	struct account *account = work->account;

	if (!account_spread(work, false) || !account_spread(work, true)) {
		account_no_memory(work);
		return;
	}
	for (size_t i = 0; i < account->interval_count; i++) {
		if (!work->sums[i].read)
			account->intervals[i].stream = ACCOUNT_NONE;
	}
}

static int
account_compare_streams(const void *a, const void *b)
{
	const struct account_stream *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

/* Sorts the streams and updates the indices that refer to them. */
static void
account_sort_streams(struct account_work *work)
{
	struct account *account = work->account;
	uint64_t *keys = calloc(account->stream_count + 1, sizeof(*keys));

	if (keys == NULL) {
		account_no_memory(work);
		return;
	}
	for (size_t i = 0; i < account->stream_count; i++)
		keys[i] = account->streams[i].key;
	if (account->stream_count != 0)
		qsort(account->streams, account->stream_count,
		    sizeof(*account->streams), account_compare_streams);
	for (size_t i = 0; i < account->interval_count; i++) {
		size_t *index = &account->intervals[i].stream;

		if (*index != ACCOUNT_NONE)
			*index = (size_t)(account_stream(work, keys[*index]) -
			    account->streams);
	}
	free(keys);
}

/* Sets the intervals' logical offsets in their streams and adds up the rows. */
static void
account_lay_out(struct account_work *work)
{
	struct account *account = work->account;

	for (size_t i = 0; i < account->interval_count; i++) {
		struct account_interval *interval = &account->intervals[i];
		const struct account_sums *sums = &work->sums[i];
		struct account_stream *stream;

		if (interval->stream == ACCOUNT_NONE) {
			if (account->nobodys == 0 && sums->written != 0)
				account->nobodys_place = (struct account_place){
					interval->cpu, interval->begin
				};
			account->nobodys += sums->written;
			continue;
		}
		stream = &account->streams[interval->stream];
		interval->logical = stream->logical;
		stream->logical += interval->end - interval->begin;
		stream->rows[ACCOUNT_WRITTEN] += sums->written;
		stream->rows[ACCOUNT_UNREPORTED] += sums->taken;
		if (sums->overwritten == 0)
			continue;
		if (stream->rows[ACCOUNT_OVERWRITTEN] == 0)
			stream->places[ACCOUNT_OVERWRITTEN] =
			    (struct account_place){ interval->cpu,
				    sums->overwritten_offset };
		stream->rows[ACCOUNT_OVERWRITTEN] += sums->overwritten;
		if (stream->claims_any) {
			stream->rows[ACCOUNT_OVERWRITTEN] -=
			    sums->told_overwritten;
			stream->rows[ACCOUNT_LOST] += sums->told_overwritten;
		}
	}
}

static void
account_collect(void *arg, const struct frames_span *old)
{
	struct account_work *work = arg;
	uint64_t done = 0;

	while (!old->reported && done < old->bytes) {
		struct account_span span = account_split(
		    work, old->cpu, old->offset + done, old->bytes - done);

		if (!GROW(work->spans, work->span_room, work->span_count + 1)) {
			account_no_memory(work);
			return;
		}
		work->spans[work->span_count++] = span;
		done += span.bytes;
	}
}

static int
account_compare(const void *a, const void *b)
{
	const struct account_span *left = a, *right = b;

	if (left->interval != right->interval)
		return left->interval < right->interval ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

/* The end of a stream; offsets are logical. */
struct account_end {
	const struct account_sums *last; /* interval with output */
	uint64_t floor; /* from here on output continued in the buffer */
	uint64_t start; /* of the bytes known to be tail */
};

static void
account_find_floors(const struct account_work *work, struct account_end *ends)
{
	const struct account *account = work->account;

	for (size_t i = 0; i < account->interval_count; i++) {
		const struct account_interval *interval =
		    &account->intervals[i];
		const struct account_sums *sums = &work->sums[i];
		struct account_end *end;

		if (interval->stream == ACCOUNT_NONE || sums->written == 0)
			continue;
		end = &ends[interval->stream];
		if (end->last != NULL &&
		    !frames_goes_on(work->frames, end->last->end_pa, sums->pa))
			end->floor = interval->logical;
		end->last = sums;
	}
}

/* Marks the spans that reach, without a hole, up to the end of their stream. */
static bool
account_mark_tails(struct account_work *work)
{
	struct account *account = work->account;
	struct account_end *ends = calloc(
	    account->stream_count + 1, sizeof(*ends));

	if (ends == NULL)
		return false;
	account_find_floors(work, ends);
	for (size_t i = 0; i < account->stream_count; i++)
		ends[i].start = account->streams[i].logical;
	for (size_t i = work->span_count; i-- > 0;) {
		struct account_span *span = &work->spans[i];
		const struct account_interval *interval =
		    &account->intervals[span->interval];
		uint64_t logical = interval->logical + span->offset -
		    interval->begin;
		struct account_end *end;

		if (interval->stream == ACCOUNT_NONE)
			continue;
		end = &ends[interval->stream];
		if (logical < end->floor || logical + span->bytes != end->start)
			continue;
		span->tail = true;
		end->start = logical;
	}
	free(ends);
	return true;
}

/* Bytes that were never read: tails become pieces, the others the row UNREPORTED. */
static void
account_close_rows(struct account_work *work)
{
	struct account *account = work->account;

	frames_each(work->frames, account_collect, work);
	if (work->span_count != 0)
		qsort(work->spans, work->span_count, sizeof(*work->spans),
		    account_compare);
	if (!account_mark_tails(work))
		account_no_memory(work);
	for (size_t i = 0; i < work->span_count && work->error == 0; i++) {
		const struct account_span *span = &work->spans[i];
		const struct account_interval *interval =
		    &account->intervals[span->interval];
		enum account_row row = span->tail ? ACCOUNT_TAIL
						  : ACCOUNT_UNREPORTED;
		struct account_stream *stream;
		struct account_piece piece = {
			.bytes = span->bytes,
			.interval = span->interval,
			.offset = span->offset,
			.tail = true,
		};

		if (interval->stream == ACCOUNT_NONE)
			continue;
		stream = &account->streams[interval->stream];
		if (!span->tail && stream->claims_any &&
		    span->offset < work->sums[span->interval].told_end)
			row = ACCOUNT_LOST;
		if (stream->rows[row] == 0)
			stream->places[row] = (struct account_place){
				interval->cpu, span->offset
			};
		piece.position = stream->drained + stream->rows[row];
		stream->rows[row] += span->bytes;
		if (span->tail)
			account_add_piece(work, stream, piece);
	}
}

/* Moves the bytes that the driver reported lost to the row LOST. */
static void
account_settle_claims(struct account *account)
{
	static const enum account_row from[] = { ACCOUNT_OVERWRITTEN,
		ACCOUNT_UNREPORTED };

	for (size_t i = 0; i < account->stream_count; i++) {
		struct account_stream *stream = &account->streams[i];
		uint64_t claim = stream->claimed;

		for (size_t j = 0; j < TZ_ARRAY_LEN(from); j++) {
			uint64_t *row = &stream->rows[from[j]];
			uint64_t part = claim < *row ? claim : *row;

			if (part != 0)
				stream->places[ACCOUNT_LOST] =
				    stream->places[from[j]];
			claim -= part;
			*row -= part;
			stream->rows[ACCOUNT_LOST] += part;
		}
	}
}

void
account_finish(struct account_work *work)
{
	account_own_intervals(work);
	if (work->files)
		account_disown_intervals(work);
	account_sort_streams(work);
	if (work->error != 0)
		return;
	account_lay_out(work);
	account_close_rows(work);
	account_settle_claims(work->account);
}
