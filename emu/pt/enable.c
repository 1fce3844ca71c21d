/*
 * TraceEn 0 -> 1 and 1 -> 0, and TraceStop: the packets at both ends of a trace.
 */
#include "emu/pt/flow.h"
#include "emu/pt/output/layout.h"
#include "emu/pt/output/output_queue.h"
#include "emu/pt/output/overflow.h"
#include "emu/pt/packet/emit.h"
#include "emu/pt/packet/timing.h"
#include "emu/pt/packet/tnt.h"
#include "emu/pt/state.h"

void
flow_stop(struct pt_unit *unit, bool lost)
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

void
flow_enable(struct pt_unit *unit, const struct pt_context *at, uint64_t nlip,
    uint64_t count, enum packet_cfe cfe)
{
	struct pt_context next = *at;
	bool stop;

	TZ_ASSERT(unit->msrs.ctl & CTL_TRACE_EN);
	TZ_ASSERT(count <= STATUS_COUNT_MASK);
	next.ip = nlip;
	unit_forget_tnt(unit);
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
		emit_psb(unit,
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
		flow_send_cfe(unit, cfe, false, 0);
	if (unit->gate.packet_en)
		emit_tip(unit, PACKET_TIP_PGE, nlip);
	/* Model choice: an enable inside a TraceStop range stops at once. */
	if (stop)
		flow_stop(unit, false);
}

void
flow_disable(struct pt_unit *unit, uint64_t clip)
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
flow_trace_off(struct pt_unit *unit)
{
	output_queue_flush(unit);
	if (gate_trigger_en(&unit->msrs))
		layout_flush(unit);
	unit_trace_off(unit);
}
