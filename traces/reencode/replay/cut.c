/*
 * The last event before an OVF or the end of the trace, whose packets are incomplete.
 */
#include "traces/reencode/replay/replay_internal.h"

void
cut_last(struct replay *replay, uint64_t end)
{
	const struct code_block *last = replay->last;
	const struct pt_fast *fast = pt_unit_fast(replay->driver.unit);
	enum insn_class_kind kind = code_blocks_kind(last);
	uint64_t at = replay_offset(replay), to;
	struct pkt_parser parser = replay->guide;
	struct pkt packet, found = { .kind = PKT_PAD };

	while (pkt_next(&parser, &packet) && packet.offset < end)
		if (packet.offset >= at &&
		    (packet.kind == PKT_TIP || packet.kind == PKT_TNT))
			found = packet;
	if (!replay->has_last)
		return;
	if (found.kind == PKT_TIP && kind != INSN_CLASS_COND &&
	    kind != INSN_CLASS_PLAIN)
		flow_resolve(replay, found.value);
	/* The TNT has one outcome more than the unit holds: that of the last block. */
	if (found.kind != PKT_TNT ||
	    found.bits != pt_unit_tnt_pending(replay->driver.unit) + 1)
		return;
	if (kind == INSN_CLASS_COND)
		flow_resolve(replay,
		    found.value & 1 ? code_blocks_target(last)
				    : code_blocks_nlip(last));
	else if (kind == INSN_CLASS_RET && pt_fast_ret_target(fast, &to))
		flow_resolve(replay, to);
}

struct cut
cut_read(const struct replay *replay, uint64_t end)
{
	struct pkt_parser parser = replay->clock.look;
	struct cut cut = { .end = replay_offset(replay) };
	struct pkt packet;

	parser.offset = cut.end;
	while (parser.offset < end && pkt_next(&parser, &packet)) {
		if (packet.kind == PKT_PAD)
			continue;
		cut.end = parser.offset;
		cut.kinds |= TZ_BIT(packet.kind);
		if (packet.kind != PKT_CYC)
			cut.last = packet;
		if (packet.kind == PKT_FUP)
			cut.ip = packet.value;
		else if (packet.kind == PKT_PIP)
			cut.pip = packet.value;
	}
	return cut;
}

void
cut_event(struct replay *replay, uint64_t end, bool lost)
{
	struct pt_context after = replay->at;
	struct cut cut;
	uint64_t inside;

	report_take(replay);
	trace_boundary_look(replay, replay_offset(replay));
	cut = cut_read(replay, end);
	if (cut.kinds == 0 || replay->ended)
		return;
	if (!replay->traced &&
	    unit_driver_range(&replay->driver, UNIT_DRIVER_CFG_FILTER, &inside))
		trace_boundary_move(&after, inside);
	/* Where bytes differ, their number says nothing. */
	if (!lost || replay->driver.compare->apart)
		compare_limit(replay->driver.compare, end);
	else
		pt_unit_lose(
		    replay->driver.unit, cut.end - replay->driver.offset);
	pending_packets_before(replay, (cut.kinds & PKT_BIT(CYC)) != 0);
	if (cut.kinds & PKT_BIT(PIP)) {
		trace_boundary_pip(&after, cut.pip);
		replay->cr3_written = true;
	}
	replay->has_last = false;
	/* A CYC alone before outcomes, or while nothing is traced, is that of an MTC. */
	if (cut.kinds == PKT_BIT(CYC) &&
	    (!replay->traced || pt_unit_tnt_pending(replay->driver.unit) != 0))
		clock_edge_lost(&replay->clock);
	report_event(replay,
	    cut.kinds & PKT_BIT(FUP) ? PT_TRANSFER_INTERRUPT : PT_TRANSFER_FAR,
	    cut.ip, &after);
	report_take(replay);
}
