#include "traces/decode/decode.h"

#include "traces/bundle/image.h"
#include "traces/decode/concat.h"
#include "traces/decode/decode_time.h"
#include "traces/decode/mask_cfe.h"
#include "traces/decode/vector.h"

#include <intel-pt.h>
#include <stdlib.h>

struct decode {
	struct pt_insn_decoder *decoder;
	struct pt_config config;
	struct pt_image *image;
	struct decode_filter filter;
	struct decode_info info;
	int status;            /* of libipt's last call */
	int64_t base;          /* to be added to libipt's offsets */
	uint64_t disables;     /* TIP.PGD before the PSB that it started at */
	struct concat *concat; /* NULL until needed */
	struct times *times;   /* NULL: none */
	struct decode_time_mark *marks;
	size_t mark_count, mark_room;
	uint8_t *blanked; /* copy by mask_cfe_cfes(), or NULL */
};

/* Replaces the decoder with one for the current configuration. */
static bool
decode_open(struct decode *decode)
{
	if (decode->decoder != NULL)
		pt_insn_free_decoder(decode->decoder);
	decode->decoder = pt_insn_alloc_decoder(&decode->config);
	return decode->decoder != NULL &&
	    pt_insn_set_image(decode->decoder, decode->image) >= 0;
}

struct decode *
decode_create(const struct decode_config *from)
{
	struct decode *decode = calloc(1, sizeof(*decode));

	if (decode == NULL)
		return NULL;
	if (!from->plain &&
	    !mask_cfe_cfes(from->bytes, from->count, &decode->blanked)) {
		decode_destroy(decode);
		return NULL;
	}
	image_config(&decode->config,
	    decode->blanked != NULL ? decode->blanked : from->bytes,
	    from->count, from->signature, from->errata);
	if (from->filter != NULL) {
		decode->filter = *from->filter;
		image_filter(&decode->config, from->filter);
	}
	decode->image = from->image;
	if (from->times != NULL)
		decode->times = decode_time_create(from->times);
	if (!decode_open(decode) ||
	    (from->times != NULL && decode->times == NULL)) {
		decode_destroy(decode);
		return NULL;
	}
	return decode;
}

void
decode_destroy(struct decode *decode)
{
	if (decode == NULL)
		return;
	if (decode->decoder != NULL)
		pt_insn_free_decoder(decode->decoder);
	concat_destroy(decode->concat);
	decode_time_destroy(decode->times);
	free(decode->marks);
	free(decode->blanked);
	free(decode);
}

bool
decode_sync(struct decode *decode)
{
	uint64_t offset = 0;

	decode->info.error = 0;
	decode->info.text = NULL;
	decode->info.enabled = false;
	do {
		decode->status = pt_insn_sync_forward(decode->decoder);
		if (decode->status == -pte_eos)
			return false;
	} while (decode->status < 0); /* a damaged PSB+: try the next PSB */
	(void)pt_insn_get_sync_offset(decode->decoder, &offset);
	decode->info.sync_offset = (uint64_t)((int64_t)offset + decode->base);
	decode->disables = decode->info.disables;
	if (decode->concat != NULL)
		concat_sync(decode->concat, decode->info.sync_offset);
	if (decode->times != NULL)
		decode_time_sync(decode->times, decode->info.sync_offset);
	return true;
}

/* Updates the tracing state from an event.  True: packets were lost. */
static bool
decode_note_event(struct decode *decode, const struct pt_event *event)
{
	struct decode_info *info = &decode->info;

	switch ((int)event->type) {
	case ptev_enabled:
		info->enabled = true;
		info->enables += event->status_update == 0;
		break;
	case ptev_disabled:
	case ptev_async_disabled:
		info->enabled = false;
		info->disables += event->status_update == 0;
		break;
	case ptev_overflow:
		info->enabled = event->ip_suppressed == 0;
		return true;
	default:
		break;
	}
	return false;
}

static enum decode_state
decode_fail(struct decode *decode)
{
	if (decode->status == -pte_eos)
		return DECODE_END;
	decode->info.error = decode->status;
	decode->info.text = pt_errstr(pt_errcode(decode->status));
	return DECODE_ERROR;
}

/* Records the time of INSN or EVENT after DONE instructions. */
static void
decode_note_time(struct decode *decode, const struct pt_insn *insn,
    const struct pt_event *event, size_t done)
{
	struct decode_time_mark mark = { .at = done };

	if (decode->times == NULL ||
	    !(insn != NULL ? decode_time_insn(decode->times, insn, &mark)
			   : decode_time_event(decode->times, event, &mark)))
		return;
	/* Out of memory: this time is not checked. */
	if (GROW(decode->marks, decode->mark_room, decode->mark_count + 1))
		decode->marks[decode->mark_count++] = mark;
}

/* Handles pending events.  DECODE_MORE: an instruction may follow. */
static enum decode_state
decode_take_events(struct decode *decode, size_t done)
{
	while (decode->status >= 0 && (decode->status & pts_event_pending)) {
		struct pt_event event;

		decode->status = pt_insn_event(
		    decode->decoder, &event, sizeof(event));
		if (decode->status < 0)
			break;
		decode_note_time(decode, NULL, &event, done);
		if (decode_note_event(decode, &event))
			return DECODE_OVERFLOW;
	}
	if (decode->status < 0)
		return decode_fail(decode);
	return (decode->status & pts_eos) != 0 ? DECODE_END : DECODE_MORE;
}

/* The target of the conditional branch INSN if it is taken. */
static uint64_t
decode_taken_target(const struct pt_insn *insn)
{
	const uint8_t *end = &insn->raw[insn->size];
	int64_t distance = (int8_t)end[-1];

	if (insn->size >= 6 && end[-6] == 0x0f && (end[-5] & 0xf0) == 0x80) {
		uint32_t bits = (uint32_t)end[-4] | (uint32_t)end[-3] << 8 |
		    (uint32_t)end[-2] << 16 | (uint32_t)end[-1] << 24;

		distance = (int32_t)bits;
	}
	return insn->ip + insn->size + (uint64_t)distance;
}

/* True if there are ranges and IP is outside all of them. */
static bool
decode_is_filtered(const struct decode_filter *filter, uint64_t ip)
{
	bool any = false;

	for (unsigned n = 0; n < TZ_ARRAY_LEN(filter->a); n++) {
		if ((filter->config >> 4 * n & 0xf) != 1)
			continue;
		if (ip >= filter->a[n] && ip <= filter->b[n])
			return false;
		any = true;
	}
	return any;
}

/*
 * libipt finds no packet for INSN.  If INSN is a conditional branch that leaves the
 * ranges with a TIP.PGD without an IP, decoding continues at the next TIP.PGE.
 */
static enum decode_state
decode_leave_at_jcc(struct decode *decode, const struct pt_insn *insn)
{
	enum concat_end end;

	if ((decode->status != -pte_bad_query && decode->status != -pte_eos) ||
	    insn->iclass != ptic_cond_jump ||
	    !decode_is_filtered(&decode->filter, decode_taken_target(insn)))
		return decode_fail(decode);
	if (decode->concat == NULL) {
		decode->concat = concat_create(&decode->config);
		if (decode->concat == NULL)
			return decode_fail(decode);
		concat_sync(decode->concat, decode->info.sync_offset);
	}
	end = concat_resume(decode->concat,
	    decode->info.disables - decode->disables, &decode->config,
	    &decode->base);
	if (end == CONCAT_REFUSED)
		return decode_fail(decode);
	decode->info.disables++;
	decode->info.jcc_disables++;
	if (decode->times != NULL)
		decode_time_leave(decode->times);
	decode->info.enabled = false;
	if (end == CONCAT_NO_MORE)
		return DECODE_END;
	if (!decode_open(decode))
		decode->status = -pte_nomem;
	else
		decode->status = pt_insn_sync_set(decode->decoder, 0);
	return decode->status < 0 ? decode_fail(decode) : DECODE_MORE;
}

enum decode_state
decode_next(struct decode *decode, uint64_t *ips, size_t max, size_t *count)
{
	enum decode_state state = DECODE_MORE;
	size_t done = 0;

	decode->mark_count = 0;
	while (done < max) {
		struct pt_insn insn;

		state = decode_take_events(decode, done);
		if (state != DECODE_MORE)
			break;
		insn.iclass = ptic_unknown;
		decode->status = pt_insn_next(
		    decode->decoder, &insn, sizeof(insn));
		/* The instruction may be valid even if the call failed. */
		if (insn.iclass != ptic_unknown) {
			ips[done++] = insn.ip;
			decode_note_time(decode, &insn, NULL, done);
		}
		if (decode->status < 0) {
			state = decode_leave_at_jcc(decode, &insn);
			if (state != DECODE_MORE)
				break;
		}
	}
	*count = done;
	return state;
}

const struct decode_time_mark *
decode_marks(const struct decode *decode, size_t *count, bool *lost)
{
	*count = decode->mark_count;
	*lost = decode->times != NULL && decode_time_is_lost(decode->times);
	return decode->marks;
}

struct decode_info
decode_info(const struct decode *decode)
{
	struct decode_info info = decode->info;
	uint64_t offset;

	if (pt_insn_get_offset(decode->decoder, &offset) >= 0)
		info.offset = (uint64_t)((int64_t)offset + decode->base);
	return info;
}

uint64_t
decode_count_psbs(const uint8_t *bytes, size_t count)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	uint64_t psbs = 0;

	image_config(&config, bytes, count, 0, 0);
	decoder = count == 0 ? NULL : pt_pkt_alloc_decoder(&config);
	if (decoder == NULL)
		return 0;
	while (pt_pkt_sync_forward(decoder) >= 0)
		psbs++;
	pt_pkt_free_decoder(decoder);
	return psbs;
}
