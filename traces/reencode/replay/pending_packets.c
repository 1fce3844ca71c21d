/*
 * What happens between two transfers: packets that stand where the unit's output
 * has come to are told of to the unit before anything else is.
 */
#include "emu/pt/packet/packet.h"
#include "traces/reencode/replay/replay_internal.h"

/* Outcomes that the unit has not sent. */
static unsigned
pending_packets_pending(const struct replay *replay)
{
	return pt_unit_tnt_pending(replay->feed->unit);
}

struct clock_next
pending_packets_behind(
    const struct replay *replay, const struct clock_next *next)
{
	struct clock ahead = replay->clock;
	struct clock_next found = *next;
	enum pkt_kind kind = found.packet.kind;

	while ((!found.cyc || found.wraps) &&
	    (kind == PKT_FUP || kind == PKT_EVD || kind == PKT_PWRE)) {
		uint64_t before = found.cycles;

		ahead.look = found.behind;
		found = *clock_look(&ahead, 0, replay->cyc_most);
		found.cycles += before;
		found.cyc |= before != 0;
		if (kind == PKT_PWRE && found.packet.kind != PKT_EXSTOP)
			return *next;
		kind = found.packet.kind;
	}
	return found;
}

void
pending_packets_told(
    const struct replay *replay, struct pending_packets_event *event)
{
	struct pkt_parser parser = replay->clock.look;
	unsigned pending = pending_packets_pending(replay);
	struct pkt packet;

	*event = (struct pending_packets_event){ .type = 0 };
	while (pkt_next_event(&parser, &packet)) {
		if (packet.kind == PKT_TNT && packet.bits == pending)
			pending = 0;
		else if (packet.kind == PKT_EVD && (packet.value & 0x3f) == 0)
			event->cr2 = packet.extra;
		else if (packet.kind == PKT_EVD)
			event->exit[(packet.value & 0x3f) != 1] = packet.extra;
		else
			break;
	}
	if (packet.kind == PKT_TSX)
		event->aborts = (packet.value & PKT_TSX_ABORT) != 0;
	if (packet.kind != PKT_CFE)
		return;
	event->type = packet.value & 0x1f;
	event->vector = (uint8_t)(packet.value >> 8);
	if (packet.with_ip && pkt_take_event(&parser, PKT_FUP, &packet))
		event->ip = packet.value;
}

bool
pending_packets_is_entry(const struct replay *replay, uint64_t end)
{
	struct pkt_parser parser = replay->guide;
	struct pkt packet;
	bool entry = false;

	parser.offset = compare_offset(replay->config.compare);
	while (parser.offset < end && pkt_next(&parser, &packet))
		if (packet.kind != PKT_PAD && packet.kind != PKT_CYC)
			entry = packet.kind == PKT_CFE &&
			    (packet.value & 0x1f) == CFE_VMENTRY;
	return entry;
}

/* Hands the clock what NEXT, which no event is told of by, says of the time. */
static void
pending_packets_time(
    struct replay *replay, const struct clock_next *next, bool sends)
{
	struct clock_next behind;

	if (sends && (!next->cyc || next->wraps)) {
		behind = pending_packets_behind(replay, next);
		clock_hand(&replay->clock, replay->feed, &behind);
	} else if (sends || !next->behind_tnt) {
		clock_hand(&replay->clock, replay->feed, next);
	}
}

void
pending_packets_before(struct replay *replay, bool sends)
{
	struct clock *clock = &replay->clock;
	const struct clock_next *next;
	struct clock_next told;
	unsigned pending;

	replay->quiet = 0;
	if (!replay->watched || replay->ended)
		return;
	for (;;) {
		replay_take(replay);
		if (replay->ended)
			return;
		clock_move(clock, compare_offset(replay->config.compare));
		pending = pending_packets_pending(replay);
		next = clock_look(clock, pending, replay->cyc_most);
		if (!event_packets_is_event(&next->packet))
			break;
		told = *next;
		if (!event_packets_event(replay, &told))
			break;
		replay->result->other_events += told.packet.kind != PKT_MTC;
		clock_move(clock, told.behind.offset);
	}
	pending_packets_time(replay, next, sends);
	if (!sends && next->packet.kind == PKT_TNT && !next->behind_tnt &&
	    !(next->cyc && pending != 0) && next->packet.bits > pending)
		replay->quiet = next->packet.bits - pending;
}

void
pending_packets_frequency(struct replay *replay, uint32_t ratio)
{
	pending_packets_before(replay, true);
	if (replay->ended || ratio == 0)
		return;
	clock_status(&replay->clock, replay->feed, replay->clock.look);
	pt_unit_frequency(replay->feed->unit, ratio & 0xff);
}

void
pending_packets_psb(struct replay *replay)
{
	struct clock_next next;

	if (!replay->watched)
		return;
	pending_packets_before(replay, false);
	next = *clock_look(
	    &replay->clock, pending_packets_pending(replay), replay->cyc_most);
	/* The counter was at its end before the PSB forced outcomes out. */
	if (!replay->ended && next.wraps) {
		clock_hand(&replay->clock, replay->feed, &next);
		replay_take(replay);
		clock_move(
		    &replay->clock, compare_offset(replay->config.compare));
		next = *clock_look(&replay->clock,
		    pending_packets_pending(replay), replay->cyc_most);
	}
	if (!replay->ended && next.packet.kind == PKT_PSB) {
		next.behind.offset = next.packet.offset;
		clock_status(&replay->clock, replay->feed, next.behind);
	}
}
