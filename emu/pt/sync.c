#include "emu/pt/sync.h"

#include "emu/pt/output/layout.h"
#include "emu/pt/output/topa.h"
#include "emu/pt/overflow.h"
#include "emu/pt/packet/emit.h"
#include "emu/pt/packet/psb.h"
#include "emu/pt/packet/timing.h"
#include "emu/pt/state.h"
#include "emu/pt/trace.h"

/* TraceEn went 0 -> 1 with output open: the packets of pt_unit_resume(). */
static void
sync_flow(struct pt_unit *unit, const struct pt_resume *resume)
{
	uint64_t ip = resume->at.ip;
	bool stop;

	TZ_ASSERT(unit->msrs.ctl & CTL_TRACE_EN);
	TZ_ASSERT(resume->count <= STATUS_COUNT_MASK);
	state_forget_tnt(unit);
	unit->flow.last_ip_valid = false;
	unit->flow.exec_known = unit->flow.exec_told = false;
	layout_resume(unit, resume->count, resume->since_look);
	unit->place.psb_due = resume->due;
	unit->place.close_word = resume->close_word;
	timing_begin(unit);
	unit->cyc.sent = resume->cyc_sent;
	stop = state_move(unit, &resume->at, true);
	TZ_ASSERT(!stop);
	if (!unit->gate.trigger_en)
		return;
	if (resume->overflow)
		overflow_send(unit);
	/* SDM vol. 3, 33.3.8 "Internal Buffer Overflow". */
	if (resume->psb)
		psb_send(unit,
		    unit->gate.packet_en &&
			(!resume->enable ||
			    unit_erratum(unit, PROFILE_ERRATUM_BDM70)),
		    ip);
	else if (resume->overflow && unit->gate.packet_en)
		emit_fup(unit, ip);
	else if (resume->pgd)
		emit_pgd_bare(unit);
	else if (resume->fup)
		emit_fup(unit, resume->fup_ip);
	if (resume->enable && unit->gate.packet_en)
		emit_tip(unit, PACKET_TIP_PGE, ip);
}

enum fault
pt_unit_resume(
    struct pt_unit *unit, uint64_t ctl, const struct pt_resume *resume)
{
	TZ_ASSERT(!(unit->msrs.ctl & CTL_TRACE_EN));
	TZ_ASSERT(ctl & CTL_TRACE_EN);
	if (!msr_accepts(unit->profile, MSR_CTL, unit->msrs.ctl, ctl))
		return FAULT_GP;
	unit->msrs.ctl = ctl;
	trace_open(unit);
	sync_flow(unit, resume);
	state_refresh(unit);
	return FAULT_NONE;
}

void
pt_unit_hold_psb(struct pt_unit *unit, uint32_t bytes)
{
	unit->place.hold_bytes = bytes;
}

void
pt_unit_set_cbr(struct pt_unit *unit, uint32_t cbr)
{
	TZ_ASSERT(cbr > 0 && cbr <= 0xff);
	unit->timing.cbr = cbr;
}

void
pt_unit_set_time(
    struct pt_unit *unit, const struct pt_time *now, uint64_t count)
{
	bool sent = unit->cyc.sent;

	TZ_ASSERT(count <= now->cycles);
	unit->timing.now = *now;
	unit->cyc.ahead = count;
	if (!(unit->msrs.ctl & CTL_TRACE_EN))
		return;
	timing_begin(unit);
	unit->cyc.sent = sent;
}

void
pt_unit_lose(struct pt_unit *unit, uint64_t bytes)
{
	TZ_ASSERT(unit->buffer == NULL && unit->topa.written != 0);
	unit->topa.lose_at = unit->topa.written + bytes;
	topa_set_look(unit, unit->topa.look);
	state_refresh(unit);
}

bool
pt_unit_closes_word(const struct pt_unit *unit)
{
	return unit->place.close_word;
}

bool
pt_unit_psb_due(const struct pt_unit *unit)
{
	return unit->place.psb_due;
}

uint64_t
pt_unit_psb_late(const struct pt_unit *unit)
{
	return layout_late(unit);
}

void
pt_unit_psb(struct pt_unit *unit, uint64_t ip)
{
	unit->place.psb_due = true;
	state_refresh(unit);
	psb_send_due(unit, ip);
}
