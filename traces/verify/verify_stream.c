#include "traces/verify/verify_internal.h"

#include "traces/decode/mask_cfe.h"
#include "traces/decode/vector.h"
#include "traces/verify/delivery/drains.h"

#include <errno.h>
#include <inttypes.h>

#define PSB_BYTES 16

/* The bytes of the part at AT of COUNT. */
static uint64_t
verify_part_of(uint64_t count, uint64_t at)
{
	return count - at < VERIFY_PART_BYTES ? count - at : VERIFY_PART_BYTES;
}

/* The filter in force in an interval; all 0 if there is none. */
static struct decode_filter
verify_filter(const struct verify_work *work, size_t interval)
{
	const struct flow_interval *found = flow_find(&work->source, interval);
	struct decode_filter filter = { 0 };

	if (found == NULL)
		return filter;
	filter.config = tz_bits(found->start.msrs.ctl, 47, 32);
	for (size_t n = 0; filter.config != 0 && n < EXPECT_RANGES; n++) {
		filter.a[n] = found->start.msrs.addr_a[n];
		filter.b[n] = found->start.msrs.addr_b[n];
	}
	return filter;
}

/* True if the streams are what was delivered (delivery/), not files of their own. */
static bool
verify_is_delivered(const struct verify_work *work)
{
	return work->perf != NULL || work->result->files;
}

static struct verify_stream *
verify_add_stream(
    struct verify_work *work, const struct account_stream *account)
{
	struct verify_result *result = work->result;
	struct verify_stream *stream;

	if (!GROW(
		result->streams, result->stream_room, result->stream_count + 1))
		return NULL;
	stream = &result->streams[result->stream_count++];
	memset(stream, 0, sizeof(*stream));
	stream->thread = (account->key & EVENT_STREAM_THREAD) != 0;
	stream->id = EVENT_STREAM_ID(account->key);
	snprintf(stream->name, sizeof(stream->name), "%s%u",
	    stream->thread ? "thread" : "cpu", stream->id);
	memcpy(stream->rows, account->rows, sizeof(stream->rows));
	memcpy(stream->places, account->places, sizeof(stream->places));
	return stream;
}

/* Lists the intervals of stream INDEX and adds up what must decode. */
static bool
verify_list_intervals(
    struct verify_work *work, size_t index, struct verify_bytes *bytes)
{
	const struct account *account = &work->account;
	size_t room = 0;

	for (size_t i = 0; i < account->interval_count; i++) {
		const struct flow_interval *interval = flow_find(
		    &work->source, i);

		if (account->intervals[i].stream != index)
			continue;
		if (!GROW(bytes->intervals, room, bytes->interval_count + 1))
			return false;
		bytes->intervals[bytes->interval_count++] = i;
		bytes->stream->stopped |= account->intervals[i].stopped;
		bytes->stream->open |= account->intervals[i].open;
		if (interval != NULL)
			bytes->stream->expected += interval->insns;
	}
	return true;
}

/* The processor that made PART, as of bundle_model_of(). */
static struct bundle_model
verify_model(const struct verify_work *work, const struct verify_bytes *bytes,
    const struct verify_part *part)
{
	const struct account_piece *pieces = bytes->account->pieces;
	uint32_t cpus = 0;

	for (size_t i = part->first; i <= part->last; i++)
		if (pieces[i].interval != ACCOUNT_NONE)
			cpus |= UINT32_C(1)
			    << work->account.intervals[pieces[i].interval].cpu;
	return bundle_model_of(work->bundle, cpus);
}

/* Makes room for the stream's bytes; those that were delivered are there then. */
static int
verify_make_room(struct verify_work *work, struct verify_bytes *bytes)
{
	uint64_t given = 0;
	uint8_t *delivered = delivery_take(
	    &work->delivery, bytes->account->key, &given);
	struct tz_error why;

	TZ_ASSERT(
	    given == (verify_is_delivered(work) ? bytes->account->drained : 0));
	if (spill_make(&bytes->room, bytes->count, &why) != 0) {
		free(delivered);
		return tz_error(
		    work->err, TZ_EIO, "%s: %s", bytes->stream->name, why.text);
	}
	bytes->bytes = bytes->room.bytes;
	for (uint64_t at = 0; at < given; at += VERIFY_PART_BYTES) {
		memcpy(&bytes->bytes[at], &delivered[at],
		    verify_part_of(given, at));
		spill_leave(&bytes->room, at);
	}
	free(delivered);
	return 0;
}

/* Reads what FILE has, up to COUNT bytes.  False: it cannot be read. */
static bool
verify_read_file(struct verify_bytes *bytes, FILE *file, uint64_t count)
{
	for (uint64_t at = 0; at < count; at += VERIFY_PART_BYTES) {
		size_t part = verify_part_of(count, at);

		if (fread(&bytes->bytes[at], 1, part, file) != part)
			return ferror(file) == 0;
		spill_leave(&bytes->room, at);
	}
	return true;
}

/* Reads the stream's file, up to the number of bytes that the events drained. */
static int
verify_read_drained(struct verify_work *work, struct verify_bytes *bytes)
{
	const struct bundle *bundle = work->bundle;
	const struct verify_stream *stream = bytes->stream;
	uint64_t count = 0, drained = bytes->account->drained;

	for (size_t i = 0; i < bundle->stream_count; i++) {
		FILE *file;
		int error;

		if (bundle->streams[i].thread != stream->thread ||
		    bundle->streams[i].id != stream->id)
			continue;
		error = bundle_open_stream(bundle, i, &file, &count, work->err);
		if (error != 0)
			return error;
		if (!verify_read_file(bytes, file, drained))
			error = tz_error(work->err, TZ_EIO, "%s: %s",
			    bundle->streams[i].file, strerror(errno));
		fclose(file);
		if (error != 0)
			return error;
		break;
	}
	if (count != drained)
		verify_add_finding(work,
		    "%s: its file has %" PRIu64
		    " bytes, user space read %" PRIu64,
		    stream->name, count, drained);
	return 0;
}

/*
 * Compares the part at AT of PIECE, which was drained, with what the frames had, read to
 * FRAMES.  False: it differs, or the rest is not known.
 */
static bool
verify_compare_frames(struct verify_work *work, struct verify_bytes *bytes,
    const struct account_piece *piece, uint64_t at, uint8_t *frames)
{
	const struct account_interval *interval =
	    &work->account.intervals[piece->interval];
	const uint8_t *to = &bytes->bytes[piece->position + at];
	uint64_t count = verify_part_of(piece->bytes, at);
	uint64_t have = trace_off_copy(
	    &work->trace_off[interval->cpu], piece->offset + at, count, frames);

	for (uint64_t i = 0; i < have; i++) {
		if (frames[i] == to[i])
			continue;
		verify_add_finding(work,
		    "%s: byte %" PRIu64 " is not what cpu%u wrote at offset "
		    "%" PRIu64,
		    bytes->stream->name, piece->position + at + i,
		    interval->cpu, piece->offset + at + i);
		return false;
	}
	return have == count;
}

/* Fills a tail from the frames; compares drained bytes with them. */
static void
verify_fill_piece(struct verify_work *work, struct verify_bytes *bytes,
    const struct account_piece *piece)
{
	const struct account_interval *interval;
	uint8_t *to = &bytes->bytes[piece->position];
	uint8_t *frames;
	uint64_t have;

	if (piece->interval == ACCOUNT_NONE)
		return;
	interval = &work->account.intervals[piece->interval];
	if (piece->tail) {
		have = trace_off_copy(&work->trace_off[interval->cpu],
		    piece->offset, piece->bytes, to);
		if (have != piece->bytes)
			verify_add_finding(work,
			    "%s: cpu%u.trace-off lacks the tail from offset %" PRIu64
			    " on",
			    bytes->stream->name, interval->cpu,
			    piece->offset + have);
		return;
	}
	frames = malloc(VERIFY_PART_BYTES);
	if (frames == NULL)
		return; /* not checked */
	for (uint64_t at = 0; at < piece->bytes; at += VERIFY_PART_BYTES) {
		if (!verify_compare_frames(work, bytes, piece, at, frames))
			break;
		spill_leave(&bytes->room, piece->position + at);
	}
	free(frames);
}

static uint64_t
verify_logical(
    const struct verify_work *work, const struct account_piece *piece)
{
	const struct account_interval *interval =
	    &work->account.intervals[piece->interval];

	return interval->logical + piece->offset - interval->begin;
}

/*
 * PART takes the filter of PIECE's interval.  False: it has another one.  An interval in
 * which nothing decodes may have any.
 */
static bool
verify_take_filter(const struct verify_work *work, struct verify_part *part,
    const struct account_piece *piece)
{
	const struct flow_interval *interval = flow_find(
	    &work->source, piece->interval);
	struct decode_filter filter = verify_filter(work, piece->interval);

	if (interval == NULL || interval->insns == 0)
		return true;
	if (part->has_filter)
		return memcmp(&part->filter, &filter, sizeof(filter)) == 0;
	part->has_filter = true;
	part->filter = filter;
	return true;
}

/* True if A and B, the next piece, have no hole and no stop between them. */
static bool
verify_joins(const struct verify_work *work, const struct account_piece *a,
    const struct account_piece *b)
{
	if (a->interval == ACCOUNT_NONE || b->interval == ACCOUNT_NONE)
		return false;
	if (verify_logical(work, a) + a->bytes != verify_logical(work, b))
		return false;
	return a->interval == b->interval ||
	    !work->account.intervals[a->interval].stopped;
}

static bool
verify_is_complete(
    const struct verify_work *work, const struct account_piece *last)
{
	const struct account_interval *interval =
	    &work->account.intervals[last->interval];

	return last->offset + last->bytes == interval->end &&
	    !interval->stopped && !interval->open;
}

static void
verify_parts(struct verify_work *work, const struct verify_bytes *bytes)
{
	const struct account_stream *account = bytes->account;
	const struct account_piece *pieces = account->pieces;
	uint64_t reached = 0;
	bool backwards = false;
	size_t i = 0;

	while (i < account->piece_count) {
		struct verify_part part = { .first = i, .last = i };

		if (pieces[i].interval == ACCOUNT_NONE) {
			i++;
			continue;
		}
		if (verify_logical(work, &pieces[i]) < reached && !backwards) {
			backwards = true;
			verify_add_finding(work,
			    "%s: byte %" PRIu64
			    " on was written before what stands in front of it",
			    bytes->stream->name, pieces[i].position);
		}
		verify_take_filter(work, &part, &pieces[i]);
		while (part.last + 1 < account->piece_count &&
		    verify_joins(
			work, &pieces[part.last], &pieces[part.last + 1]) &&
		    verify_take_filter(work, &part, &pieces[part.last + 1]))
			part.last++;
		part.begin = pieces[part.first].position;
		part.end = pieces[part.last].position + pieces[part.last].bytes;
		part.complete = verify_is_complete(work, &pieces[part.last]);
		part.model = verify_model(work, bytes, &part);
		reached = verify_logical(work, &pieces[part.last]) +
		    pieces[part.last].bytes;
		bytes->stream->parts++;
		if (!verify_one_part(work, bytes, &part))
			break;
		i = part.last + 1;
	}
}

/* Looks for packets, part by part: one that lies in two parts is in the first one's. */
static void
verify_scan(struct verify_bytes *bytes)
{
	for (uint64_t at = 0; at < bytes->count; at += VERIFY_PART_BYTES) {
		const uint8_t *part = &bytes->bytes[at];
		uint64_t count = verify_part_of(bytes->count, at);
		uint64_t more = bytes->count - at - count;

		count += more < PSB_BYTES - 1 ? more : PSB_BYTES - 1;
		bytes->stream->psbs += decode_count_psbs(part, count);
		bytes->may_have_cfe |= mask_cfe_may_have(part, count);
		spill_leave(&bytes->room, at);
	}
	spill_leave(&bytes->room, bytes->count);
}

static int
verify_fill(struct verify_work *work, size_t index, struct verify_bytes *bytes)
{
	const struct account_stream *account = bytes->account;
	int error;

	bytes->stream = verify_add_stream(work, account);
	if (bytes->stream == NULL || !verify_list_intervals(work, index, bytes))
		return tz_error(work->err, TZ_EIO, "stream: out of memory");
	bytes->count = account->drained + account->rows[ACCOUNT_TAIL];
	error = verify_make_room(work, bytes);
	if (error == 0 && !verify_is_delivered(work))
		error = verify_read_drained(work, bytes);
	if (error != 0)
		return error;
	for (size_t i = 0; i < account->piece_count; i++)
		verify_fill_piece(work, bytes, &account->pieces[i]);
	verify_scan(bytes);
	return 0;
}

/* Missing instructions need a reason: lost bytes, a stop, or TraceEn still 1. */
static void
verify_judge_beyond(struct verify_work *work, struct verify_stream *stream)
{
	static const enum account_row lossy[] = { ACCOUNT_LOST,
		ACCOUNT_OVERWRITTEN, ACCOUNT_UNREPORTED, ACCOUNT_PREFIX,
		ACCOUNT_STALE };
	uint64_t bytes = 0;

	stream->beyond = stream->expected - stream->matched - stream->overflown;
	for (size_t i = 0; i < TZ_ARRAY_LEN(lossy); i++)
		bytes += stream->rows[lossy[i]];
	if (stream->beyond != 0 && bytes == 0 && !stream->stopped &&
	    !stream->open)
		verify_add_finding(work,
		    "%s: %" PRIu64
		    " instructions were traced into no packet, and no byte "
		    "is missing",
		    stream->name, stream->beyond);
}

int
verify_one_stream(struct verify_work *work, size_t index)
{
	struct verify_bytes bytes = {
		.account = &work->account.streams[index],
	};
	int error = verify_fill(work, index, &bytes);

	if (error == 0) {
		struct verify_stream *stream = bytes.stream;

		verify_parts(work, &bytes);
		if (!stream->difference.found)
			verify_judge_beyond(work, stream);
	}
	spill_free(&bytes.room);
	free(bytes.intervals);
	return error;
}
