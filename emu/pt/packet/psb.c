#include "emu/pt/packet/psb.h"

#include "emu/pt/output/layout.h"
#include "emu/pt/output/output_queue.h"
#include "emu/pt/packet/emit.h"
#include "emu/pt/packet/timing.h"
#include "emu/pt/packet/tnt.h"
#include "emu/pt/state.h"

/*
 * MODE.TSX, MODE.Exec and FUP of PSB+, each where its condition holds.  Model
 * choice, from captures: a CYC in PSB+ comes before TSC, not before these.
 */
static void
psb_send_status(struct pt_unit *unit, bool packet_en, uint64_t ip)
{
	struct packet tsx = packet_fixed(
	    PACKET_MODE, PACKET_MODE_TSX | unit->flow.tsx);
	struct packet exec = packet_fixed(PACKET_MODE, unit->flow.exec);
	struct packet fup;

	TZ_ASSERT(unit->gate.context_en);
	if (!packet_en) {
		if (unit->msrs.ctl & CTL_BRANCH_EN)
			layout_emit(unit, &tsx);
		return;
	}
	TZ_ASSERT(unit->msrs.ctl & CTL_BRANCH_EN);
	fup = emit_make_fup(unit, ip);
	fup = packet_join(&exec, &fup);
	fup = packet_join(&tsx, &fup);
	layout_emit(unit, &fup);
	unit->flow.last_ip = ip;
	unit->flow.exec_known = unit->flow.exec_told = true;
	unit->flow.exec_sent = unit->flow.exec;
}

unsigned
psb_most(const struct pt_unit *unit)
{
	/* Each TIP has 9 bytes, and takes two words with its padding. */
	return PSB_BYTES + unit->tnt.tips * 2 * LAYOUT_WORD_BYTES;
}

void
psb_send(struct pt_unit *unit, bool packet_en, uint64_t ip)
{
	struct pt_event event = { .kind = PT_EVENT_PSB };
	uint64_t most = layout_made_bytes(unit) + psb_most(unit);
	bool context_en = unit->gate.context_en;
	struct packet pip = packet_fixed(PACKET_PIP,
	    packet_pip_payload(unit->flow.cr3, unit->flow.non_root));

	TZ_ASSERT(unit->gate.trigger_en);
	tnt_flush(unit);
	layout_align(unit);
	if (!unit->topa.open)
		return;
	event.offset_bytes = layout_made_bytes(unit);
	unit->port.event(unit->port.arg, &event);
	/*
	 * SDM vol. 3, 33.3.7 "Decoder Synchronization (PSB+)": PSB+ resets the
	 * last IP and the RET stack.  Model choice, from captures: this order.
	 */
	unit->flow.last_ip_valid = false;
	unit->flow.exec_known = unit->flow.exec_told = false;
	unit->fast.ret_count = 0;
	emit_packet(unit, PACKET_PSB, 0);
	if (context_en)
		psb_send_status(unit, packet_en, ip);
	if (context_en && (unit->msrs.ctl & CTL_OS) != 0)
		layout_emit(unit, &pip);
	if (context_en && unit->vmx.on)
		emit_packet(unit, PACKET_VMCS, unit->vmx.vmcs);
	timing_status(unit);
	emit_packet(unit, PACKET_PSBEND, 0);
	TZ_ASSERT(layout_made_bytes(unit) <= most);
}

void
psb_send_due(struct pt_unit *unit, uint64_t ip)
{
	TZ_ASSERT(unit->gate.trigger_en && unit->place.psb_due);
	/* Model choice: a PSB+ waits until all of it fits; no OVF is in it. */
	if (unit->overflow.on || !output_queue_fits(unit, psb_most(unit)))
		return;
	unit->place.psb_due = false;
	psb_send(unit, unit->gate.packet_en, ip);
	state_refresh(unit);
}

void
psb_end_event(struct pt_unit *unit, bool due, uint64_t ip)
{
	state_refresh(unit);
	if (due && unit->gate.trigger_en && !layout_psb_waits(unit))
		psb_send_due(unit, ip);
}
