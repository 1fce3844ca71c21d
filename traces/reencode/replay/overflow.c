/*
 * Overflows: the last packets before an OVF, and how the trace continues after it.
 */
#include "traces/reencode/replay/replay_internal.h"

/* Packets that show where the flow continues. */
#define OVERFLOW_PLACE \
 (PKT_BIT(PGE) | PKT_BIT(PGD) | PKT_BIT(FUP) | PKT_BIT(PSB) | PKT_BIT(OVF))

/*
 * Is the first packet after PARSER that shows a place or a branch one of KINDS?  A TIP.PGE
 * after the FUP of an OVF is erratum APL12 (that FUP means nothing: PacketEn was 0), a
 * branch after an OVF is SKD010.
 */
static bool
overflow_comes(struct pkt_parser parser, uint64_t kinds)
{
	const uint64_t branch = PKT_BIT(TNT) | PKT_BIT(TIP);
	struct pkt packet;

	return pkt_next_of(&parser, &packet, OVERFLOW_PLACE | branch) &&
	    pkt_is(&packet, kinds);
}

/*
 * Reads the packets after an OVF: FUP, PSB+ or, where nothing is traced, neither.  Returns
 * whether a PSB+ follows the FUP directly.
 */
static bool
overflow_read(
    struct replay *replay, struct psb_plus *plus, struct pt_resume *resume)
{
	const uint64_t timing = PKT_BIT(PAD) | PKT_BIT(CYC) | PKT_BIT(MTC) |
	    PKT_BIT(TSC) | PKT_BIT(TMA) | PKT_BIT(CBR);
	struct pkt_parser parser = replay->guide;
	struct pkt packet;
	bool psb = false;

	replay->traced = false;
	(void)pkt_next_of(&parser, &packet, ~timing);
	if (pkt_is(&packet, PKT_BIT(PGD) | PKT_BIT(FUP) | PKT_BIT(PSB)))
		replay->guide = parser;
	if (packet.kind == PKT_PGD) {
		resume->pgd = true;
		plus->context = false;
		replay->result->errata |= REPLAY_ERRATUM(APL11);
	} else if (packet.kind == PKT_FUP &&
	    overflow_comes(parser, PKT_BIT(PGE))) {
		resume->fup = true;
		resume->fup_ip = packet.value;
		plus->context = unit_driver_range(
		    &replay->driver, UNIT_DRIVER_CFG_FILTER, &replay->at.ip);
		replay->result->errata |= REPLAY_ERRATUM(APL12);
	} else if (packet.kind == PKT_FUP) {
		replay->traced = true;
		trace_boundary_move(&replay->at, packet.value);
		trace_boundary_peek_cr3(replay);
		psb = pkt_next_of(&parser, &packet, ~PKT_BIT(PAD)) &&
		    packet.kind == PKT_PSB;
	} else if (packet.kind == PKT_PSB) {
		trace_boundary_read_psb(&replay->guide, plus);
		trace_boundary_apply_bdm70(replay, plus);
		trace_boundary_take_state(replay, plus);
		resume->psb = true;
		resume->enable = plus->early;
		replay->traced = plus->has_fup;
		if (plus->has_fup)
			trace_boundary_move(&replay->at, plus->ip);
	} else {
		/* Without a range, only ContextEn 0 explains that there is no FUP. */
		plus->context = unit_driver_range(
		    &replay->driver, UNIT_DRIVER_CFG_FILTER, &replay->at.ip);
	}
	if (!replay->traced)
		replay->traced = trace_boundary_locate(
				     replay, plus, &replay->at) &&
		    plus->early;
	return psb;
}

/* The offset of the CYC of the OVF at OFFSET, the last before it. */
static uint64_t
overflow_cyc(const struct replay *replay, uint64_t offset)
{
	struct pkt_parser parser = replay->clock.look;
	struct pkt packet;
	uint64_t last = offset;

	while (replay->clock.timed && parser.offset < offset &&
	    pkt_next(&parser, &packet)) {
		if (packet.kind == PKT_CYC)
			last = packet.offset;
		else if (packet.kind != PKT_PAD)
			last = offset;
	}
	return last;
}

/*
 * Are there two CYCs in a row before END?  The first is that of an outcome that was
 * pending while the counter wrapped or an MTC came, and that the overflow lost.
 */
static bool
overflow_loses_outcome(const struct replay *replay, uint64_t end)
{
	struct pkt_parser parser = replay->clock.look;
	struct pkt packet;
	unsigned count = 0;

	parser.offset = replay_offset(replay);
	while (count < 2 && pkt_next(&parser, &packet) && packet.offset < end) {
		if (packet.kind != PKT_PAD && packet.kind != PKT_CYC)
			return false;
		/* A wrap of the counter comes before a packet with its own CYC. */
		if (count == 0 && packet.kind == PKT_CYC &&
		    packet.value == replay->clock.most)
			continue;
		count += packet.kind == PKT_CYC;
	}
	return count == 2;
}

static void
overflow_lose_outcome(struct replay *replay)
{
	const struct pt_context at = replay->at;

	pending_packets_before(replay, false);
	replay->has_last = false;
	report_event(replay, PT_TRANSFER_COND, 0, &at);
	pending_packets_before(replay, false);
}

/* Reports everything before the OVF; false: there is no OVF. */
static bool
overflow_begin(struct replay *replay, uint64_t *offset)
{
	struct pkt_parser before = replay->guide, behind;
	uint64_t ovf;

	pending_packets_before(replay, false);
	report_take(replay);
	if (!trace_boundary_guide(replay, PKT_OVF, &ovf))
		return false;
	behind = replay->guide;
	replay->guide = before;
	cut_last(replay, ovf);
	replay->guide = behind;
	pending_packets_before(replay, false);
	report_take(replay);
	*offset = overflow_cyc(replay, ovf);
	if (overflow_loses_outcome(replay, *offset))
		overflow_lose_outcome(replay);
	if (replay->ended)
		return false;
	cut_event(replay, *offset, true);
	/* The unit itself sends the PADs that fill a word. */
	if (replay->driver.offset <= *offset &&
	    *offset - replay->driver.offset < 8)
		*offset = replay->driver.offset;
	compare_stop(replay->driver.compare, *offset);
	return true;
}

void
overflow_drive(struct replay *replay)
{
	struct pt_resume resume = { .overflow = true };
	struct psb_plus plus = { .context = true };
	uint64_t offset, lost;
	bool psb;

	gap_doubt(replay);
	if (!overflow_begin(replay, &offset))
		return;
	replay->result->overflows++;
	if (overflow_comes(replay->guide, PKT_BIT(TNT) | PKT_BIT(TIP))) {
		gap_skip(replay, offset,
		    "an overflow without its FUP, as of SKD010");
		return;
	}
	lost = offset > replay->driver.offset ? offset - replay->driver.offset
					      : 0;
	psb = overflow_read(replay, &plus, &resume);
	/* The counter stands still while packets are lost. */
	resume.count = (uint32_t)(unit_driver_count(&replay->driver) + lost) &
	    0x1ffff;
	/* The PSB after the OVF is the one that was due. */
	resume.close_word = pt_unit_closes_word(replay->driver.unit);
	resume.due = !resume.psb && pt_unit_psb_due(replay->driver.unit);
	if (resume.due)
		replay->late += pt_unit_psb_late(replay->driver.unit) + lost;
	resume.since_look = (uint32_t)((offset + replay->driver.config.phase -
					   replay->look_base) %
	    PT_LOOK_BYTES);
	trace_boundary_resume(replay, offset, &resume);
	/* A PSB+ that is not due has the mode, which may have been lost. */
	if (psb && !resume.due && !replay->ended) {
		pending_packets_psb(replay);
		pt_unit_psb(replay->driver.unit, replay->at.ip);
	}
	if (!replay->traced || plus.early)
		trace_off_span_drive(replay);
}
