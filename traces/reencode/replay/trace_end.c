/*
 * Where the flow is no longer known: libipt stops, errata of overflows make it doubtful,
 * or the trace ends.
 */
#include "traces/decode/vector.h"
#include "traces/reencode/replay/replay_internal.h"

/*
 * An instruction of which a part lies in memory that no image has is none to libipt.
 * Where it must begin: behind the last block or where its last instruction leads.
 */
static bool
trace_end_is_part(const struct replay *replay, const struct recover_item *item)
{
	const struct walk *walk = replay->config.walk;
	const struct code_block *last = replay->last;

	if (item->value == 0)
		return false;
	if (item->insns == 0)
		return !code_blocks_is_whole(walk, item->ip);
	return !code_blocks_is_whole(walk, code_blocks_nlip(last)) ||
	    ((code_blocks_kind(last) == WALK_JUMP ||
		 code_blocks_kind(last) == WALK_CALL ||
		 code_blocks_kind(last) == WALK_COND) &&
		!code_blocks_is_whole(walk, code_blocks_target(last)));
}

void
trace_end_add_gap(struct replay *replay, const struct replay_gap *gap)
{
	struct replay_result *result = replay->result;

	replay->has_last = replay->running = false;
	if (!GROW(result->gaps, result->gap_room, result->gap_count + 1)) {
		replay_fail(replay);
		return;
	}
	result->gaps[result->gap_count] = *gap;
	result->gaps[result->gap_count++].to = replay->config.count;
}

/*
 * SKD010 leaves out where tracing goes on, SKD007 hides that there was an overflow.
 * libipt then finds a flow that is none, up to the next PSB, and `topaz verify` takes
 * that for lost as well.
 */
void
trace_end_doubt(struct replay *replay)
{
	if (!replay->config.doubts || replay->doubt.open)
		return;
	replay->doubt.open = true;
	replay->doubt.from = replay_offset(replay);
}

/* Is the packet at OFFSET, at which libipt stops, an OVF that may be in doubt? */
static bool
trace_end_is_ovf(const struct replay *replay, uint64_t offset)
{
	const struct replay_config *config = &replay->config;

	return config->doubts && offset + 2 <= config->count &&
	    config->bytes[offset] == 0x02 && config->bytes[offset + 1] == 0xf3;
}

void
trace_end_skip(struct replay *replay, uint64_t from, const char *text)
{
	replay->doubt.open = false;
	trace_end_add_gap(replay,
	    &(struct replay_gap){
		.from = from, .at = from, .text = text, .errata = true });
	recover_resync(replay->config.recover);
}

void
trace_end_forgive(struct replay *replay)
{
	struct replay_result *result = replay->result;

	if (!replay->ended || replay->failed || result->endless ||
	    (result->wrong == NULL && !replay->feed->compare->difference.found))
		return;
	replay->ended = false;
	result->wrong = NULL;
	replay->feed->compare->difference =
	    (struct compare_difference){ .found = false };
	trace_end_skip(replay, replay->doubt.from,
	    "what is behind an overflow with SKD007 or SKD010");
}

void
trace_end_gap(struct replay *replay, const struct recover_item *item)
{
	bool part = trace_end_is_part(replay, item);
	bool entry = pending_packets_is_entry(replay, item->offset);

	if (item->endless)
		replay->result->endless = replay->ended = true;
	/* What is left out goes on. */
	if (!replay->running)
		return;
	if (!item->endless &&
	    (replay->doubt.open || trace_end_is_ovf(replay, item->offset))) {
		trace_end_doubt(replay);
		replay_wrong(replay, item->text, replay->at.ip);
		return;
	}
	replay_take(replay);
	trace_end_add_gap(replay,
	    &(struct replay_gap){ .from = replay_offset(replay),
		.at = item->offset,
		.text = part ? "only a part of the instruction is mapped"
		    : entry  ? "it takes no CFE of a VM entry"
			     : item->text,
		.unmapped = item->flag || part || entry });
}

void
trace_end_last(struct replay *replay, uint64_t end)
{
	const struct code_block *last = replay->last;
	const struct pt_fast *fast = pt_unit_fast(replay->feed->unit);
	enum code_blocks_kind kind = code_blocks_kind(last);
	uint64_t at = replay_offset(replay), to;
	struct pkt_parser parser = replay->guide;
	struct pkt packet, found = { .kind = PKT_PAD };

	while (pkt_next(&parser, &packet) && packet.offset < end)
		if (packet.offset >= at &&
		    (packet.kind == PKT_TIP || packet.kind == PKT_TNT))
			found = packet;
	if (!replay->has_last)
		return;
	if (found.kind == PKT_TIP && kind != WALK_COND && kind != WALK_PLAIN)
		replay_resolve(replay, found.value);
	/* One outcome more than the unit still holds is this one's. */
	if (found.kind != PKT_TNT ||
	    found.bits != pt_unit_tnt_pending(replay->feed->unit) + 1)
		return;
	if (kind == WALK_COND)
		replay_resolve(replay,
		    found.value & 1 ? code_blocks_target(last)
				    : code_blocks_nlip(last));
	else if (kind == WALK_RET && pt_fast_ret_target(fast, &to))
		replay_resolve(replay, to);
}

/* Where the last packet ends that is no PAD. */
static uint64_t
trace_end_packets(const struct replay *replay)
{
	struct pkt_parser parser = replay->guide;
	struct pkt packet;
	uint64_t end;

	end = parser.offset = replay_offset(replay);
	while (pkt_next(&parser, &packet))
		if (packet.kind != PKT_PAD)
			end = parser.offset;
	return end;
}

/* The trace ends at END outside of all that is traced: at most a flush follows. */
static void
trace_end_flush(struct replay *replay, uint64_t *end)
{
	uint64_t at = replay_offset(replay);

	unit_driver_disable(replay->feed, &replay->at);
	if (*end == at && replay->feed->stats->cut_off == 0) {
		*end = at + (16 - (at + replay->feed->phase) % 16) % 16;
		if (*end > replay->config.count)
			*end = replay->config.count;
	}
	compare_limit(replay->feed->compare, *end);
	unit_driver_take(replay->feed);
}

void
trace_end_finish(struct replay *replay)
{
	struct replay_result *result = replay->result;
	uint64_t end;

	if (!replay->running)
		return;
	replay_take(replay);
	if (replay->ended)
		return;
	if (replay->has_last && code_blocks_kind(replay->last) == WALK_PLAIN)
		replay->at.ip = code_blocks_nlip(replay->last);
	trace_end_last(replay, replay->config.count);
	replay_take(replay);
	if (replay->ended)
		return;
	end = trace_end_packets(replay);
	if (!replay->traced)
		pending_packets_before(replay, true);
	replay_take(replay);
	if (replay->traced || replay_offset(replay) < end)
		overflow_cut(replay, end, false);
	else
		trace_end_flush(replay, &end);
	compare_stop(replay->feed->compare, end);
	result->tail = replay->config.count - end;
}
