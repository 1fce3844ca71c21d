#include "traces/verify/verify_part.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PART_CUT_BYTES 16 /* a packet may be cut off this close to a hole */

static struct decode *
part_decoder(const struct part_run *run)
{
	struct decode_config config = {
		.bytes = &run->bytes->bytes[run->part->begin],
		.count = run->part->end - run->part->begin,
		.signature = run->part->model.signature,
		.errata = run->part->model.errata,
		.plain = !run->bytes->may_have_cfe,
		.filter = &run->part->filter,
		.image = run->work->image.image,
		.times = run->timed ? &run->times : NULL,
	};

	return decode_create(&config);
}

/* Moves the bytes before the first PSB, which cannot be decoded, to the row PREFIX. */
static void
part_count_prefix(struct part_run *run, uint64_t bytes)
{
	struct verify_stream *stream = run->bytes->stream;
	const struct account_piece *piece =
	    &run->bytes->account->pieces[run->part->first];

	if (bytes != 0 && stream->rows[ACCOUNT_PREFIX] == 0)
		stream->places[ACCOUNT_PREFIX].offset = run->part->begin;
	for (; bytes != 0; piece++) {
		uint64_t part = piece->bytes < bytes ? piece->bytes : bytes;

		stream->rows[piece->tail ? ACCOUNT_TAIL : ACCOUNT_REPORTED] -=
		    part;
		stream->rows[ACCOUNT_PREFIX] += part;
		bytes -= part;
	}
}

/* Offset of the packet that led to the INDEX-th instruction since the PSB. */
static uint64_t
part_packet_offset(const struct part_run *run, uint64_t index)
{
	struct decode *decode = part_decoder(run);
	uint64_t offset = run->sync_offset, ip;
	struct flow flow = run->aimed;
	size_t count = 1;
	struct decode_info info;

	if (decode == NULL)
		return offset;
	while (decode_sync(decode)) {
		info = decode_info(decode);
		if (info.sync_offset == run->sync_offset)
			break;
	}
	for (uint64_t i = 0; i <= index && count == 1; i++) {
		log_code_aim(&run->work->code, &flow);
		if (decode_next(decode, &ip, 1, &count) != DECODE_MORE)
			break;
		(void)flow_next(&flow, &ip);
	}
	info = decode_info(decode);
	decode_destroy(decode);
	return info.offset;
}

static void
part_name(const struct part_run *run, uint64_t va, char *text)
{
	const struct symbolizer *symbolizer = run->work->options->symbolizer;

	text[0] = '\0';
	if (symbolizer != NULL &&
	    !symbolizer->name(symbolizer->arg, va, text, VERIFY_NAME_BYTES))
		text[0] = '\0';
}

/* Records the stream's difference, at the INDEX-th instruction since the PSB. */
static void
part_differ(struct part_run *run, uint64_t index, const uint64_t *executed,
    const uint64_t *decoded, const char *cause)
{
	struct verify_stream *stream = run->bytes->stream;
	struct verify_difference *difference = &stream->difference;

	difference->found = true;
	difference->index = stream->matched;
	difference->offset = run->part->begin + part_packet_offset(run, index);
	snprintf(difference->cause, sizeof(difference->cause), "%s", cause);
	if (executed != NULL) {
		difference->has_executed = true;
		difference->executed = *executed;
		part_name(run, *executed, difference->executed_name);
	}
	if (decoded != NULL) {
		difference->has_decoded = true;
		difference->decoded = *decoded;
		part_name(run, *decoded, difference->decoded_name);
	}
}

/* Compares the batch.  False: a difference, or .gave_up. */
static bool
part_compare(struct part_run *run)
{
	struct verify_stream *stream = run->bytes->stream;
	size_t i;

	stream->decoded += run->count;
	for (i = 0; i < run->count; i++) {
		uint64_t ip;

		/* After lost packets the decoder's instructions are guesses. */
		if (run->overflow != NULL && part_is_lost(run)) {
			memset(&run->steps[i], 0,
			    (run->count - i) * sizeof(run->steps[0]));
			break;
		}
		if (!flow_next(&run->flow, &ip)) {
			if (part_gives_up(run))
				return false;
			part_differ(run, run->since_sync + i, NULL,
			    &run->ips[i],
			    "decoded more than was executed while tracing");
			return false;
		}
		if (ip != run->ips[i]) {
			stream->overflown += part_gives_up(run);
			if (run->gave_up)
				return false;
			part_differ(run, run->since_sync + i, &ip, &run->ips[i],
			    "decoded another path");
			return false;
		}
		run->steps[i] = (struct verify_step){ run->flow.expect.log,
			flow_retired(&run->flow) };
		stream->matched++;
	}
	if (run->timed)
		verify_times(run->work, run->bytes, run->decode, &run->times,
		    run->steps, run->count, &run->before);
	run->since_sync += run->count;
	return true;
}

/* At the end of the trace: checks that no instruction is left.  False: a difference. */
static bool
part_end(struct part_run *run)
{
	struct decode_info info = decode_info(run->decode);
	uint64_t left = run->part->end - run->part->begin - info.offset;
	bool cut = !run->part->complete && left < PART_CUT_BYTES;
	char cause[VERIFY_NAME_BYTES];
	uint64_t ip;
	bool more;

	if (run->gave_up)
		return true;
	if (run->state == DECODE_ERROR && !cut) {
		if (part_gives_up(run))
			return true;
		more = flow_next(&run->flow, &ip);
		snprintf(cause, sizeof(cause), "decoder: %s", info.text);
		part_differ(
		    run, run->since_sync, more ? &ip : NULL, NULL, cause);
		return false;
	}
	if (!run->part->complete || !flow_next(&run->flow, &ip))
		return true;
	run->bytes->stream->overflown += part_gives_up(run);
	if (run->gave_up)
		return true;
	part_differ(run, run->since_sync, &ip, NULL,
	    info.enabled ? "the trace ends"
			 : "the decoder sees tracing disabled here");
	return false;
}

/* The decoder goes on: what lies behind it need not be in memory. */
static void
part_leave(struct part_run *run)
{
	uint64_t at = run->part->begin + decode_info(run->decode).offset;

	if (at - run->left < VERIFY_PART_BYTES)
		return;
	spill_leave(&run->bytes->room, at);
	run->left = at;
}

/* Decodes and compares from one PSB to the end or to an overflow.  False: stop. */
static bool
part_run_once(struct part_run *run)
{
	bool first = true;

	run->since_sync = 0;
	run->before = (struct verify_step){ 0 };
	run->sync_offset = decode_info(run->decode).sync_offset;
	part_begin_overflows(run);
	part_aim(run);
	for (;;) {
		struct flow before = run->flow;

		log_code_aim(&run->work->code, &run->flow);
		run->state = decode_next(
		    run->decode, run->ips, PART_BATCH, &run->count);
		if (first || run->gave_up)
			part_align(run);
		first = false;
		part_take_up(run, before);
		if (!part_compare(run))
			return run->gave_up;
		part_leave(run);
		if (run->state == DECODE_OVERFLOW && run->overflow != NULL)
			part_skip_overflow(run);
		else if (run->state != DECODE_MORE)
			break;
	}
	if (run->state == DECODE_OVERFLOW) {
		verify_add_finding(run->work,
		    "%s: internal buffer overflow near byte %" PRIu64,
		    run->bytes->stream->name,
		    run->part->begin + decode_info(run->decode).offset);
		return true;
	}
	return part_end(run);
}

static bool
part_decode(struct part_run *run)
{
	uint64_t size = run->part->end - run->part->begin;
	bool good = true;

	if (!decode_sync(run->decode)) {
		part_count_prefix(run, size);
		return true;
	}
	part_count_prefix(run, decode_info(run->decode).sync_offset);
	do {
		good = part_run_once(run);
	} while (good && (run->state == DECODE_OVERFLOW || run->gave_up) &&
	    decode_sync(run->decode));
	if (good && run->gave_up && run->part->complete)
		part_lose_rest(run);
	run->bytes->stream->segments += decode_info(run->decode).enables;
	run->bytes->stream->jcc_disables +=
	    decode_info(run->decode).jcc_disables;
	return good;
}

bool
verify_one_part(struct verify_work *work, const struct verify_bytes *bytes,
    const struct verify_part *part)
{
	struct part_run *run = calloc(1, sizeof(*run));
	bool good = false;

	if (run == NULL) {
		verify_add_finding(work, "out of memory");
		return false;
	}
	run->work = work;
	run->bytes = bytes;
	run->part = part;
	run->left = part->begin;
	run->timed = verify_time_config(work, bytes, part, &run->times);
	run->decode = part_join_cycs(run) ? part_decoder(run) : NULL;
	if (run->decode == NULL)
		verify_add_finding(
		    work, "%s: libipt refuses the stream", bytes->stream->name);
	else
		good = part_decode(run);
	decode_destroy(run->decode);
	free(run);
	return good;
}
