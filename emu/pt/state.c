/*
 * The enables, and what follows from them and from the MSRs.
 */
#include "emu/pt/state.h"

#include "emu/profile/profile.h"
#include "emu/pt/output/buffer.h"

/* True if held bytes or a delayed PMI depend on time, whatever the enables are. */
static bool
state_is_busy(const struct pt_unit *unit)
{
	return unit->buffer != NULL &&
	    (unit->gate.trigger_en || unit->late_pmi.on ||
		buffer_held(unit->buffer) != 0);
}

void
state_forget_tnt(struct pt_unit *unit)
{
	unit->tnt = (struct tnt){ 0 };
	unit->fast.tnt = PT_FAST_TNT_EMPTY;
}

void
state_refresh(struct pt_unit *unit)
{
	struct gate *gate = &unit->gate;
	struct pt_fast *fast = &unit->fast;
	bool busy, waits;

	gate->trigger_en = gate_trigger_en(&unit->msrs);
	gate->packet_en = gate->packet_en && gate->trigger_en;
	/* SDM vol. 3, 33.2.8.4: the enables freeze while TraceEn is 0. */
	unit->msrs.status &= ~STATUS_TRIGGER_EN;
	if (gate->trigger_en) {
		unit->msrs.status &= ~STATUS_ENABLES;
		unit->msrs.status |= STATUS_TRIGGER_EN |
		    (gate->context_en ? STATUS_CONTEXT_EN : 0) |
		    (gate->filter_en ? STATUS_FILTER_EN : 0);
	} else {
		state_forget_tnt(unit);
		unit->overflow = (struct overflow){ 0 };
	}
	if (!gate->packet_en)
		fast->ret_count = 0;
	/* The next transfer sends more than its own packets. */
	waits = unit->place.psb_due || unit->overflow.on;
	/* SDM vol. 3, 33.2.8.2, DisTNT: without TNT no RET is compressed. */
	fast->compress_ret = !(unit->msrs.ctl & (CTL_DIS_RETC | CTL_DIS_TNT));
	busy = state_is_busy(unit);
	fast->timed = busy ||
	    (gate->trigger_en && (unit->msrs.ctl & CTL_TIMING) != 0);
	waits |= (unit->msrs.ctl & CTL_DIS_TNT) != 0;
	fast->steady = gate->packet_en && unit->ranges != UNIT_STOPS &&
	    !waits && !busy;
	fast->fast = fast->steady && !fast->timed &&
	    unit->ranges == UNIT_NO_RANGES;
	fast->off = !fast->timed &&
	    (!gate->trigger_en ||
		(!gate->packet_en && !waits &&
		    (!gate->context_en || unit->ranges == UNIT_NO_RANGES)));
	TZ_ASSERT(!fast->fast || !fast->off);
	TZ_ASSERT(gate->packet_en || fast->ret_count == 0);
}

void
state_lose(struct pt_unit *unit, struct overflow how)
{
	state_forget_tnt(unit);
	unit->fast.ret_count = 0;
	unit->overflow = how;
}

bool
state_move(struct pt_unit *unit, const struct pt_context *at, bool moved)
{
	bool stop;

	unit->gate = gate_next(&unit->msrs, unit->gate, at, moved, &stop);
	unit->flow.cr3 = at->cr3;
	unit->flow.non_root = at->non_root;
	unit->flow.exec = packet_exec_payload(unit->msrs.ctl, at);
	return stop;
}

uint64_t
state_pending(const struct pt_unit *unit, uint64_t status)
{
	TZ_ASSERT(unit->msrs.ctl & CTL_TRACE_EN);
	if ((unit->msrs.ctl & CTL_INJECT) != 0 && unit->place.psb_due)
		status |= STATUS_PEND_PSB;
	return status;
}
