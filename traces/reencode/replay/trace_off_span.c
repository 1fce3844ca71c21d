/*
 * Spans in which tracing is off: from a TIP.PGD, or an overflow, to where tracing
 * continues.  libipt reports nothing of them; the packets show them.
 */
#include "traces/reencode/replay/replay_internal.h"

/* The end of tracing is padded to this, as in emu/pt/output/layout.c. */
#define TRACE_OFF_SPAN_FLUSH_BYTES 16

/* Can an enable begin at OFFSET?  A flush precedes it. */
static bool
trace_off_span_is_flushed(const struct replay *replay, uint64_t offset)
{
	return (offset + replay->driver.config.phase) %
	    TRACE_OFF_SPAN_FLUSH_BYTES ==
	    0;
}

/* TraceEn fell and rose again: its first packet is at OFFSET. */
static void
trace_off_span_toggle(
    struct replay *replay, uint64_t offset, const struct psb_plus *plus)
{
	bool restart = plus != NULL;
	struct pt_context at;

	replay->result->toggles++;
	replay->result->last_toggle = offset;
	if (unit_driver_has_other_setting(&replay->driver, offset)) {
		unit_driver_disable(&replay->driver, &replay->at);
		report_set(replay, offset);
	}
	if (restart) {
		trace_boundary_take_state(replay, plus);
		at = replay->at;
		replay->traced = trace_boundary_locate(replay, plus, &at);
	} else {
		trace_boundary_peek_cr3(replay);
		at = unit_driver_context(&replay->driver, &replay->at, false);
	}
	replay->at = at;
	trace_boundary_look(replay, offset);
	clock_start(&replay->clock, offset);
	if (!unit_driver_toggle(
		&replay->driver, offset, restart ? &replay->vmx : NULL, &at))
		report_fail(replay);
	replay->look_base = offset + replay->driver.config.phase -
	    (offset + replay->driver.config.phase) % 64;
}

/*
 * Is the next TIP.PGE that of an enable at OFFSET: with a full IP, or after MODE.Exec?
 * The first after a PSB+ is like that, too, but no flush precedes it.
 */
static bool
trace_off_span_is_enable(const struct replay *replay, uint64_t offset)
{
	const uint64_t anew = PKT_BIT(EXEC) | PKT_BIT(PSB) | PKT_BIT(OVF);
	struct pkt_parser parser = replay->guide;
	struct pkt packet;

	if (!trace_off_span_is_flushed(replay, offset))
		return false;
	return !pkt_next_of(&parser, &packet, anew | PKT_BIT(PGE)) ||
	    packet.kind != PKT_PGE || packet.bits == 3 || packet.bits == 6;
}

/* Can ContextEn change without a packet?  It does outside of all ranges. */
static bool
trace_off_span_hides_context(const struct replay *replay)
{
	uint64_t ip;

	return !replay->traced &&
	    unit_driver_range(&replay->driver, UNIT_DRIVER_CFG_FILTER, &ip);
}

static void
trace_off_span_take_context(struct replay *replay, const struct psb_plus *plus)
{
	struct pt_context after = replay->at;

	if (!trace_off_span_hides_context(replay))
		return;
	(void)trace_boundary_locate(replay, plus, &after);
	if (after.cpl != replay->at.cpl || after.enclave != replay->at.enclave)
		report_event(replay, PT_TRANSFER_FAR, 0, &after);
}

static void
trace_off_span_psb(struct replay *replay, const struct pkt *psb)
{
	struct psb_plus plus;
	bool due;

	/* A non-branch event may make it due. */
	pending_packets_before(replay, false);
	due = pt_unit_psb_due(replay->driver.unit);
	trace_boundary_read_psb(&replay->guide, &plus);
	trace_boundary_apply_bdm70(replay, &plus);
	/* With BDM70 it is the counter's only where no enable can be. */
	if (plus.early && trace_off_span_is_flushed(replay, psb->offset))
		due = false;
	/* If only an enable can make ContextEn 1 again, the PSB+ is an enable's. */
	if (due &&
	    !unit_driver_has_other_setting(&replay->driver, psb->offset) &&
	    !(replay->at.enclave && plus.context &&
		!trace_off_span_hides_context(replay))) {
		pending_packets_psb(replay);
		if (plus.early) {
			/* The unit sends it with the TIP.PGE. */
			trace_boundary_take_state(replay, &plus);
			return;
		}
		trace_off_span_take_context(replay, &plus);
		pt_unit_psb(replay->driver.unit, replay->at.ip);
	} else {
		trace_off_span_toggle(replay, psb->offset, &plus);
	}
}

static void
trace_off_span_pip(struct replay *replay, uint64_t pip)
{
	struct pt_context after = unit_driver_context(
	    &replay->driver, &replay->at, true);

	trace_boundary_pip(&after, pip);
	if (replay->at.enclave || replay->driver.filter.config != 0)
		after.ip = unit_driver_outside(&replay->driver);
	replay->cr3_written = true;
	pending_packets_before(replay, true);
	report_event(replay, PT_TRANSFER_MOV_CR3, 0, &after);
}

static void
trace_off_span_enter(struct replay *replay, uint64_t ip)
{
	struct pt_context after = replay->at;

	trace_boundary_move(&after, ip);
	/* An enable with PacketEn 1 has sent the TIP.PGE already. */
	if (replay->traced) {
		replay->at = after;
	} else {
		pending_packets_before(replay, true);
		report_event(replay, PT_TRANSFER_FAR, 0, &after);
	}
	replay->traced = replay->entered = true;
}

/* A CBR while nothing is traced; TSC: offset of the TSC before it, or UINT64_MAX. */
static void
trace_off_span_cbr(struct replay *replay, const struct pkt *cbr, uint64_t tsc)
{
	uint64_t offset = tsc != UINT64_MAX ? tsc : cbr->offset;

	pending_packets_before(replay, false);
	/* The CBR of a wake, already reported. */
	if (replay->clock.look.offset > cbr->offset)
		return;
	if (unit_driver_has_other_setting(&replay->driver, offset) ||
	    trace_off_span_is_enable(replay, offset))
		trace_off_span_toggle(replay, offset, NULL);
	else
		pending_packets_frequency(replay, cbr->value & 0xff);
}

/* A TraceStop packet, unless the unit sent it with the TIP.PGD before it. */
static void
trace_off_span_stop(struct replay *replay, const struct pkt *packet)
{
	struct pt_context after = replay->at;
	uint64_t ip;

	pending_packets_before(replay, false);
	report_take(replay);
	if (replay_offset(replay) > packet->offset ||
	    !unit_driver_range(&replay->driver, UNIT_DRIVER_CFG_STOP, &ip))
		return;
	after.enclave = false;
	trace_boundary_move(&after, ip);
	report_event(replay, PT_TRANSFER_FAR, 0, &after);
}

/* Takes the unit's output before the ring is full. */
static void
trace_off_span_make_room(struct replay *replay)
{
	if (unit_driver_is_filling(&replay->driver))
		report_take(replay);
}

void
trace_off_span_drive(struct replay *replay)
{
	/* Offsets of a TSC that may begin an enable, and of the CYC before it. */
	uint64_t tsc = UINT64_MAX, cyc = UINT64_MAX;
	struct pkt packet;

	for (;; trace_off_span_make_room(replay)) {
		struct pkt_parser before;

		pkt_skip_pads(&replay->guide);
		before = replay->guide;
		if (!pkt_next(&replay->guide, &packet)) {
			pending_packets_before(replay, true);
			return;
		}
		switch ((int)packet.kind) {
		case PKT_PGE:
			trace_off_span_enter(replay, packet.value);
			return;
		case PKT_PSB:
			trace_off_span_psb(replay, &packet);
			break;
		case PKT_CBR:
			trace_off_span_cbr(replay, &packet, tsc);
			tsc = UINT64_MAX;
			break;
		case PKT_CYC:
			/* A wrap of the counter does not belong to the TSC. */
			if (packet.value != replay->clock.most)
				cyc = packet.offset;
			continue;
		case PKT_TSC:
			tsc = cyc != UINT64_MAX ? cyc : packet.offset;
			break;
		case PKT_PIP:
			trace_off_span_pip(replay, packet.value);
			break;
		case PKT_VMCS:
			pending_packets_before(replay, true);
			trace_boundary_vmcs(
			    replay, trace_boundary_vmcs_pa(packet.value));
			break;
		case PKT_STOP:
			trace_off_span_stop(replay, &packet);
			break;
		case PKT_EXEC:
			trace_boundary_mode(&replay->at, packet.value);
			break;
		case PKT_OVF:
		case PKT_TIP:
		case PKT_TNT:
		case PKT_PGD:
			replay->guide = before;
			return;
		default:
			break;
		}
		cyc = UINT64_MAX;
	}
}
