/*
 * Where the flow is no longer known: libipt stops, or the trace ends.
 */
#include "traces/decode/vector.h"
#include "traces/reencode/replay/replay_internal.h"

/*
 * An instruction of which a part lies in memory that no image has is none to libipt.
 * Where it must begin: behind the last block or where its last instruction leads.
 */
static bool
replay_is_part(const struct replay *replay, const struct recover_item *item)
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
replay_add_gap(struct replay *replay, const struct replay_gap *gap)
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

void
replay_gap(struct replay *replay, const struct recover_item *item)
{
	bool part = replay_is_part(replay, item);
	bool entry = pending_packets_is_entry(replay, item->offset);

	if (item->endless)
		replay->result->endless = replay->ended = true;
	/* What is left out goes on. */
	if (!replay->running)
		return;
	if (!item->endless &&
	    (replay->doubts || errata_gap_is_ovf(replay, item->offset))) {
		errata_gap_begin(replay);
		replay_wrong(replay, item->text, replay->at.ip);
		return;
	}
	replay_take(replay);
	replay_add_gap(replay,
	    &(struct replay_gap){
		.from = compare_offset(replay->config.compare),
		.at = item->offset,
		.text = part ? "only a part of the instruction is mapped"
		    : entry  ? "it takes no CFE of a VM entry"
			     : item->text,
		.unmapped = item->flag || part || entry });
}

/* The last block's last instruction, if it is one that may, gives an outcome. */
static void
replay_last_outcome(struct replay *replay, bool taken)
{
	const struct code_block *last = replay->last;
	const struct pt_fast *fast = pt_unit_fast(replay->feed->unit);
	uint64_t compressed;

	if (code_blocks_kind(last) == WALK_COND)
		replay_resolve(replay,
		    taken ? code_blocks_target(last) : code_blocks_nlip(last));
	else if (code_blocks_kind(last) == WALK_RET &&
	    pt_fast_ret_target(fast, &compressed))
		replay_resolve(replay, compressed);
}

void
replay_last(struct replay *replay, uint64_t end)
{
	const struct code_block *last = replay->last;
	uint64_t at = compare_offset(replay->config.compare);
	struct pkt_parser parser = replay->guide;
	struct pkt packet, found = { .kind = PKT_PAD };

	while (pkt_next(&parser, &packet) && packet.offset < end)
		if (packet.offset >= at &&
		    (packet.kind == PKT_TIP || packet.kind == PKT_TNT))
			found = packet;
	if (!replay->has_last)
		return;
	if (found.kind == PKT_TIP && code_blocks_kind(last) != WALK_COND &&
	    code_blocks_kind(last) != WALK_PLAIN)
		replay_resolve(replay, found.value);
	else if (found.kind == PKT_TNT &&
	    found.bits == pt_unit_tnt_pending(replay->feed->unit) + 1)
		/* One outcome more than the unit still holds is this one's. */
		replay_last_outcome(replay, (found.value & 1) != 0);
}

/* Where the last packet ends that is no PAD. */
static uint64_t
replay_end(const struct replay *replay)
{
	struct pkt_parser parser = replay->guide;
	struct pkt packet;
	uint64_t end;

	end = parser.offset = compare_offset(replay->config.compare);
	while (pkt_next(&parser, &packet))
		if (packet.kind != PKT_PAD)
			end = parser.offset;
	return end;
}

/* The trace ends at END outside of all that is traced: at most a flush follows. */
static void
replay_flush(struct replay *replay, uint64_t *end)
{
	uint64_t at = compare_offset(replay->config.compare);

	unit_driver_disable(replay->feed, &replay->at);
	if (*end == at && replay->config.stats->cut_off == 0) {
		*end = at + (16 - (at + replay->phase) % 16) % 16;
		if (*end > replay->config.count)
			*end = replay->config.count;
	}
	compare_limit(replay->config.compare, *end);
	if (!unit_driver_take(replay->feed))
		replay_fail(replay);
}

void
replay_finish(struct replay *replay)
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
	replay_last(replay, replay->config.count);
	replay_take(replay);
	if (replay->ended)
		return;
	end = replay_end(replay);
	if (!replay->traced)
		pending_packets_before(replay, true);
	replay_take(replay);
	if (replay->traced || compare_offset(replay->config.compare) < end)
		overflow_cut(replay, end, false);
	else
		replay_flush(replay, &end);
	if (!compare_stop(replay->config.compare, end))
		replay_fail(replay);
	result->tail = replay->config.count - end;
}
