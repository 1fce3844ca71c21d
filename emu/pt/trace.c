#include "emu/pt/trace.h"

#include "emu/pt/output/layout.h"
#include "emu/pt/output/output_queue.h"
#include "emu/pt/output/pmi.h"
#include "emu/pt/output/topa.h"
#include "emu/pt/overflow.h"
#include "emu/pt/packet/emit.h"
#include "emu/pt/packet/psb.h"
#include "emu/pt/packet/timing.h"
#include "emu/pt/packet/tnt.h"
#include "emu/pt/state.h"

/* A setting of IA32_RTIT_CTL that is not modelled. */
struct trace_lack {
	uint64_t mask, value; /* not modelled if (ctl & mask) == value */
	const char *text;
};

static const struct trace_lack trace_lacks[] = {
	{ CTL_FABRIC_EN, CTL_FABRIC_EN, "trace transport output (FabricEn)" },
};

/* The kinds of ranges in use, which cannot change until TraceEn is 0 again. */
static void
trace_range(struct pt_unit *unit)
{
	struct pt_fast *fast = &unit->fast;

	fast->low = 0;
	fast->high = UINT64_MAX;
	if (!gate_has_ranges(&unit->msrs))
		unit->ranges = UNIT_NO_RANGES;
	else if (gate_filter(&unit->msrs, &fast->low, &fast->high))
		unit->ranges = UNIT_FILTERS;
	else
		unit->ranges = UNIT_STOPS;
}

void
trace_open(struct pt_unit *unit)
{
	uint64_t ctl = unit->msrs.ctl;

	TZ_ASSERT(ctl & CTL_TRACE_EN);
	TZ_ASSERT(!unit->overflow.on);
	trace_range(unit);
	unit->stale = (struct topa_stale){ 0 };
	unit_event(
	    unit, (struct pt_event){ .kind = PT_EVENT_TRACE_ON, .value = ctl });
	for (size_t i = 0; i < TZ_ARRAY_LEN(trace_lacks); i++) {
		const struct trace_lack *lack = &trace_lacks[i];

		if ((ctl & lack->mask) == lack->value)
			unit_event(unit,
			    (struct pt_event){ .kind = PT_EVENT_UNMODELLED,
				.value = ctl,
				.text = lack->text });
	}
	/* SDM vol. 3, 33.2.8.2, FabricEn: when it is 1, ToPA is ignored. */
	if (gate_trigger_en(&unit->msrs) && !(ctl & CTL_FABRIC_EN))
		topa_open(unit);
	if (unit_injects(unit, STATUS_PEND_PMI))
		pmi_raise(unit);
}

void
trace_stop(struct pt_unit *unit, bool lost)
{
	struct pt_event event = { .kind = PT_EVENT_STOPPED };

	TZ_ASSERT(!unit->gate.packet_en);
	/* STOP or an error has ended the output before the TraceStop. */
	if (!gate_trigger_en(&unit->msrs))
		return;
	/* SDM vol. 3, 33.4.2.9 "TraceStop Packet". */
	if (!lost)
		emit_packet(unit, PACKET_TRACESTOP, 0);
	unit->msrs.status |= STATUS_STOPPED;
	event.offset_bytes = layout_made_bytes(unit);
	unit->port.event(unit->port.arg, &event);
}

/*
 * The packets of an enable whose next instruction is at NLIP; COUNT is
 * STATUS.PacketByteCnt.
 */
static void
trace_enable(struct pt_unit *unit, const struct pt_context *at, uint64_t nlip,
    uint64_t count, enum packet_cfe cfe)
{
	struct pt_context next = *at;
	bool stop;

	TZ_ASSERT(unit->msrs.ctl & CTL_TRACE_EN);
	TZ_ASSERT(count <= STATUS_COUNT_MASK);
	next.ip = nlip;
	state_forget_tnt(unit);
	unit->flow.last_ip_valid = false;
	unit->flow.exec_known = unit->flow.exec_told = false;
	layout_begin(unit, count);
	timing_begin(unit);
	stop = state_move(unit, &next, true);
	if (!unit->gate.trigger_en)
		return;
	/* SDM vol. 3, 33.3.7: PSB+ on enable where PacketByteCnt is 0. */
	if (count == 0 || !(unit->profile->pt_ebx & PROFILE_PT_EBX_PSB) ||
	    unit_injects(unit, STATUS_PEND_PSB)) {
		/* BDM70: PSB+ may show PacketEn 1 too early. */
		psb_send(unit,
		    unit->gate.packet_en &&
			unit_erratum(unit, PROFILE_ERRATUM_BDM70),
		    nlip);
		if (unit_injects(unit, STATUS_PEND_PSB))
			unit->msrs.status &= ~STATUS_PEND_PSB;
	} else {
		timing_status(unit);
	}
	if (cfe != CFE_NONE && (unit->msrs.ctl & CTL_EVENT_EN) != 0 &&
	    unit->gate.context_en)
		emit_cfe(unit, cfe, false, 0);
	if (unit->gate.packet_en)
		emit_tip(unit, PACKET_TIP_PGE, nlip);
	/* Model choice: an enable inside a TraceStop range stops at once. */
	if (stop)
		trace_stop(unit, false);
}

void
trace_on(struct pt_unit *unit, const struct pt_context *at, uint64_t nlip,
    enum packet_cfe cfe)
{
	uint64_t count = unit->msrs.status >> STATUS_COUNT_SHIFT &
	    STATUS_COUNT_MASK;

	trace_open(unit);
	trace_enable(unit, at, nlip, count, cfe);
	state_refresh(unit);
	TZ_ASSERT(!unit->gate.packet_en || unit->gate.trigger_en);
}

void
trace_off(struct pt_unit *unit)
{
	uint64_t before = unit->msrs.ctl;
	uint64_t count = 0;

	TZ_ASSERT(before & CTL_TRACE_EN);
	output_queue_flush(unit);
	topa_close(unit);
	if (unit->profile->pt_ebx & PROFILE_PT_EBX_PSB)
		count = layout_count(unit);
	unit->msrs.status &= ~(STATUS_COUNT_MASK << STATUS_COUNT_SHIFT);
	unit->msrs.status |= count << STATUS_COUNT_SHIFT;
	unit->msrs.status = state_pending(unit, unit->msrs.status);
	unit->msrs.ctl &= ~CTL_TRACE_EN;
	unit->place.psb_due = false;
	state_refresh(unit);
	unit_event(unit,
	    (struct pt_event){ .kind = PT_EVENT_TRACE_OFF, .value = before });
	TZ_ASSERT(!unit->gate.trigger_en);
}

/* TraceEn is about to fall by the instruction at CLIP: packets and flush. */
static void
trace_end(struct pt_unit *unit, uint64_t clip)
{
	TZ_ASSERT(unit->msrs.ctl & CTL_TRACE_EN);
	if (!unit->gate.trigger_en)
		return;
	TZ_ASSERT(gate_trigger_en(&unit->msrs));
	/* SDM vol. 3, 33.2.8.2: TraceEn 1 -> 0 flushes the internal buffers. */
	output_queue_flush(unit);
	if (!gate_trigger_en(&unit->msrs))
		return;
	if (unit->overflow.on && unit->gate.packet_en &&
	    unit_erratum(unit, PROFILE_ERRATUM_APL11)) {
		overflow_resolve_by_pgd(unit);
		layout_flush(unit);
		return;
	}
	if (unit->overflow.on)
		overflow_resolve(unit, clip);
	tnt_flush(unit);
	if (unit->gate.packet_en) {
		emit_fup(unit, clip);
		emit_pgd_bare(unit);
	}
	layout_flush(unit);
}

void
trace_disable(struct pt_unit *unit, uint64_t clip)
{
	trace_end(unit, clip);
	trace_off(unit);
}

void
trace_off_flushed(struct pt_unit *unit)
{
	output_queue_flush(unit);
	if (gate_trigger_en(&unit->msrs))
		layout_flush(unit);
	trace_off(unit);
}
