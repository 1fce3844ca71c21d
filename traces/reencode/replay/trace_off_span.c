/*
 * Interludes: what the packets say of the time from where tracing ends, or the flow
 * is lost, to where it goes on.
 */
#include "traces/reencode/replay/replay_internal.h"

/* What the end of tracing is padded to, as in emu/pt/output/layout.c. */
#define TRACE_OFF_SPAN_FLUSH_BYTES 16

/* May an enable begin at OFFSET?  It comes after a flush. */
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
 * Does a TIP.PGE that is new in a trace come next: full, with MODE.Exec?  So does the
 * first after a PSB+; but an enable, at OFFSET, stands after a flush.
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

/*
 * Where there are ranges, context comes and goes without a packet while the CPU is in
 * none of them.
 */
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

	/* What makes it due may be no transfer. */
	pending_packets_before(replay, false);
	due = pt_unit_psb_due(replay->driver.unit);
	trace_boundary_read_psb(&replay->guide, &plus);
	trace_boundary_apply_bdm70(replay, &plus);
	/* With BDM70 it is the counter's only where no enable can be. */
	if (plus.early && trace_off_span_is_flushed(replay, psb->offset))
		due = false;
	/* Context that nothing but an enable gives back. */
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
	/* An enable that is traced at once has sent the packet already. */
	if (replay->traced) {
		replay->at = after;
	} else {
		pending_packets_before(replay, true);
		report_event(replay, PT_TRANSFER_FAR, 0, &after);
	}
	replay->traced = replay->entered = true;
}

/* A CBR while nothing is traced; TSC: offset of a TSC before it. */
static void
trace_off_span_cbr(struct replay *replay, const struct pkt *cbr, uint64_t tsc)
{
	uint64_t offset = tsc != UINT64_MAX ? tsc : cbr->offset;

	pending_packets_before(replay, false);
	/* It was that of a wake. */
	if (replay->clock.look.offset > cbr->offset)
		return;
	if (unit_driver_has_other_setting(&replay->driver, offset) ||
	    trace_off_span_is_enable(replay, offset))
		trace_off_span_toggle(replay, offset, NULL);
	else
		pending_packets_frequency(replay, cbr->value & 0xff);
}

/* TraceStop, unless a TIP.PGD before it has come with it. */
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

/* Takes the unit's output where there might be no room for much more. */
static void
trace_off_span_make_room(struct replay *replay)
{
	if (unit_driver_is_filling(&replay->driver))
		report_take(replay);
}

void
trace_off_span_drive(struct replay *replay)
{
	/* Offset of one that an enable begins with, and of a CYC before it. */
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
			/* Not a wrap of the counter before. */
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
