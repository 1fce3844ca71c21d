/*
 * Turns control transfers into packets: which packets, in which order, with RET
 * compression and the CFE packets of Event Trace.
 *
 * Source: SDM vol. 3, 33.7 "Packet Generation Scenarios".
 */
#include "emu/pt/overflow.h"
#include "emu/pt/packet/emit.h"
#include "emu/pt/packet/psb.h"
#include "emu/pt/packet/tnt.h"
#include "emu/pt/state.h"
#include "emu/pt/trace.h"

#define VECTOR_PF 14

/* The differences between kinds of transfer, besides their TNT bits. */
struct flow_row {
	enum flow_fup {
		FUP_NEVER,
		FUP_ON, /* if tracing continues */
		FUP_ALWAYS,
	} fup;
	enum packet_cfe cfe;
};

static const struct flow_row flow_rows[PT_TRANSFER_KINDS] = {
#define TRANSFER(name, fup, cfe, cite) [PT_TRANSFER_##name] = { fup, cfe },
#include "emu/pt/transfer.def"
#undef TRANSFER
};

/* Near CALL: remembers the return address.  SDM vol. 3, 33.4.2.2, "RET". */
static void
flow_call(struct pt_unit *unit, const struct pt_transfer *transfer)
{
	/* A direct CALL to the next instruction only reads the IP. */
	if (transfer->kind == PT_TRANSFER_CALL_DIRECT &&
	    transfer->after.ip == transfer->nlip)
		return;
	pt_fast_push(&unit->fast, transfer->nlip);
}

/*
 * Sends a near RET that is not compressed.  SDM vol. 3, 33.4.2.3 "Deferred TIPs":
 * it is never deferred.  Model choice, because decoders differ on what it pops: the
 * return stack empties, unless the micro-architecture's .ret_pops is set.
 */
static void
flow_ret_whole(struct pt_unit *unit, uint64_t target)
{
	struct pt_fast *fast = &unit->fast;

	if (unit->profile->uarch->ret_pops)
		pt_fast_pop(fast);
	else
		fast->ret_count = 0;
	tnt_flush(unit);
	emit_tip(unit, PACKET_TIP, target);
}

/* Near RET with PacketEn 1 before and after; true if it was compressed. */
static bool
flow_ret(struct pt_unit *unit, uint64_t target)
{
	struct pt_fast *fast = &unit->fast;

	TZ_ASSERT(fast->ret_count <= PT_RETURN_STACK_ENTRIES);
	TZ_ASSERT(fast->ret_top < PT_RETURN_STACK_ENTRIES);
	if (pt_fast_compress(fast, target)) {
		tnt_add(unit, true);
		return true;
	}
	flow_ret_whole(unit, target);
	return false;
}

/* PIP, if the event wrote CR3 and ContextEn is 1 in the new context. */
static void
flow_pip(struct pt_unit *unit, const struct pt_transfer *transfer)
{
	TZ_ASSERT(unit->gate.trigger_en || !unit->gate.packet_en);
	/* SDM vol. 3, 33.4.2.7 "Paging Information Packet (PIP)". */
	if (transfer->cr3_written && unit->gate.context_en &&
	    (unit->msrs.ctl & CTL_OS) != 0) {
		tnt_flush(unit);
		emit_pip(unit);
	}
}

/*
 * CFE with its event data, if TRANSFER is an event of Event Trace; BEFORE are the
 * gates before it.  SDM vol. 3, 33.2.4 "Event Trace".  Model choices: the event is
 * sent if ContextEn is 1 before or after it; the CFE has a FUP of its own if no
 * other FUP with the source address follows.
 */
static void
flow_cfe(struct pt_unit *unit, const struct pt_transfer *transfer,
    const struct gate *before)
{
	enum packet_cfe type = flow_rows[transfer->kind].cfe;
	bool branches = (unit->msrs.ctl & CTL_BRANCH_EN) != 0;
	bool own_fup = branches
	    ? before->packet_en && type == CFE_VMENTRY
	    : before->context_en && before->filter_en && type != CFE_SIPI;

	if (type == CFE_NONE || !(unit->msrs.ctl & CTL_EVENT_EN) ||
	    (!before->context_en && !unit->gate.context_en))
		return;
	tnt_flush(unit);
	if (transfer->kind == PT_TRANSFER_EXCEPTION && transfer->has_vector &&
	    transfer->vector == VECTOR_PF)
		emit_evd(unit, EVD_CR2, transfer->cr2);
	if (transfer->kind == PT_TRANSFER_VM_EXIT) {
		emit_evd(unit, EVD_EXIT_QUALIFICATION, transfer->exit[0]);
		emit_evd(unit, EVD_EXIT_REASON, transfer->exit[1]);
		if (transfer->has_vector)
			type = CFE_VMEXIT_INTR;
	}
	emit_cfe(
	    unit, type, own_fup, transfer->has_vector ? transfer->vector : 0);
	if (own_fup)
		emit_fup(unit, transfer->ip_from);
}

/*
 * A transaction aborts.  SDM vol. 3, 33.4.2.8 "MODE Packets", MODE.TSX: it needs
 * no PacketEn.
 */
static void
flow_abort(struct pt_unit *unit)
{
	unit->flow.tsx = 0;
	if (!unit->gate.context_en || !(unit->msrs.ctl & CTL_BRANCH_EN))
		return;
	/* BDM64: the packet for the branch just before has the wrong outcome. */
	if (unit_erratum(unit, PROFILE_ERRATUM_BDM64) &&
	    !unit_tnt_is_empty(unit))
		unit->fast.tnt ^= 1;
	tnt_flush(unit);
	emit_packet(unit, PACKET_MODE, PACKET_MODE_TSX | PACKET_MODE_TSX_ABORT);
}

/*
 * An event with PacketEn 1 before and after; true if it only added to the pending
 * TNT bits.
 */
static bool
flow_stay(struct pt_unit *unit, const struct pt_transfer *transfer)
{
	uint64_t target = transfer->after.ip;

	TZ_ASSERT(unit->gate.packet_en);
	switch ((int)transfer->kind) {
	case PT_TRANSFER_COND:
		if (unit->msrs.ctl & CTL_DIS_TNT)
			return false;
		tnt_add(unit, transfer->taken);
		return true;
	case PT_TRANSFER_JMP_DIRECT:
		return false;
	case PT_TRANSFER_CALL_DIRECT:
		flow_call(unit, transfer);
		return false;
	case PT_TRANSFER_RET:
		return flow_ret(unit, target);
	case PT_TRANSFER_MOV_CR3:
		flow_pip(unit, transfer);
		return false;
	case PT_TRANSFER_CALL_INDIRECT:
		flow_call(unit, transfer);
		return tnt_tip(unit, target);
	case PT_TRANSFER_JMP_INDIRECT:
		return tnt_tip(unit, target);
	default:
		break;
	}
	tnt_flush(unit);
	if (flow_rows[transfer->kind].fup != FUP_NEVER)
		emit_fup(unit, transfer->ip_from);
	flow_pip(unit, transfer);
	emit_tip(unit, PACKET_TIP, target);
	return false;
}

/*
 * SDM vol. 3, 33.4.2.5 "Packet Generation Disable (TIP.PGD) Packet": no IP where
 * ContextEn or TraceEn is 0 or, by its table, at a conditional branch.
 */
static bool
flow_pgd_is_bare(const struct pt_unit *unit, const struct pt_transfer *transfer)
{
	if (!unit->gate.context_en || transfer->trace_off)
		return true;
	if (transfer->kind == PT_TRANSFER_COND)
		return !unit->profile->uarch->pgd_jcc_ip;
	/* SKL014: nor at a direct branch. */
	return (transfer->kind == PT_TRANSFER_JMP_DIRECT ||
		   transfer->kind == PT_TRANSFER_CALL_DIRECT) &&
	    unit_erratum(unit, PROFILE_ERRATUM_SKL014);
}

/* An event with PacketEn 1 before and 0 after. */
static void
flow_leave(struct pt_unit *unit, const struct pt_transfer *transfer)
{
	bool fup = flow_rows[transfer->kind].fup == FUP_ALWAYS;

	TZ_ASSERT(!unit->gate.packet_en);
	tnt_flush(unit);
	/* SKD022: VM entry that clears TraceEn sends a FUP. */
	if (transfer->kind == PT_TRANSFER_VM_ENTRY && transfer->trace_off)
		fup = unit_erratum(unit, PROFILE_ERRATUM_SKD022);
	if (fup)
		emit_fup(unit, transfer->ip_from);
	flow_pip(unit, transfer);
	if (flow_pgd_is_bare(unit, transfer))
		emit_pgd_bare(unit);
	else
		emit_tip(unit, PACKET_TIP_PGD, transfer->after.ip);
}

/* A transfer to IP while the buffer overflows; STOP: into a TraceStop range. */
static void
flow_lose(struct pt_unit *unit, uint64_t ip, bool stop)
{
	if (!stop) {
		overflow_lose(unit, ip);
		return;
	}
	overflow_resolve(unit, ip);
	/* Model choice: the TraceStop packet is lost, too. */
	trace_stop(unit, true);
	psb_end_event(unit, unit->place.psb_due, ip);
}

void
pt_unit_transfer(struct pt_unit *unit, const struct pt_transfer *transfer)
{
	struct gate before = unit->gate;
	bool due = unit->place.psb_due;
	bool moved = transfer->kind != PT_TRANSFER_COND || transfer->taken;
	bool quiet = false;
	bool stop;

	TZ_ASSERT(transfer->kind < PT_TRANSFER_KINDS);
	if (!unit->gate.trigger_en) {
		if (transfer->trace_off && (unit->msrs.ctl & CTL_TRACE_EN))
			trace_off_flushed(unit);
		return;
	}
	TZ_ASSERT(!before.packet_en || before.context_en);
	stop = state_move(unit, &transfer->after, moved);
	unit->gate.packet_en &= !transfer->trace_off;
	if (unit->overflow.on) {
		flow_lose(unit, transfer->after.ip, stop);
		if (transfer->trace_off)
			trace_off_flushed(unit);
		return;
	}
	if (transfer->kind == PT_TRANSFER_TSX_ABORT)
		flow_abort(unit);
	flow_cfe(unit, transfer, &before);
	if (before.packet_en && unit->gate.packet_en) {
		quiet = flow_stay(unit, transfer);
	} else if (before.packet_en) {
		flow_leave(unit, transfer);
	} else {
		flow_pip(unit, transfer);
		/* BDM70: a PSB that still waits shows PacketEn 1 too early. */
		if (unit->gate.packet_en && due &&
		    unit_erratum(unit, PROFILE_ERRATUM_BDM70))
			psb_send_due(unit, transfer->after.ip);
		if (unit->gate.packet_en)
			emit_tip(unit, PACKET_TIP_PGE, transfer->after.ip);
	}
	if (stop && !transfer->trace_off) {
		bool lost = unit->overflow.on;

		if (lost)
			overflow_resolve(unit, transfer->after.ip);
		trace_stop(unit, lost);
	}
	if (transfer->trace_off) {
		trace_off_flushed(unit);
		return;
	}
	/*
	 * Model choice: a PSB that a TNT packet made due is sent after the next
	 * event; any other PSB is sent after the event that made it due.
	 */
	psb_end_event(
	    unit, quiet ? due : unit->place.psb_due, transfer->after.ip);
}

/*
 * After a near transfer while .steady: the state that state_refresh() derives is
 * unchanged, unless a PSB has become due or the output has ended.
 */
static void
flow_settle(struct pt_unit *unit, bool due, uint64_t ip)
{
	if (unit->place.psb_due || !unit->topa.open)
		psb_end_event(unit, due && unit->place.psb_due, ip);
}

void
pt_unit_steady_cond_slow(struct pt_unit *unit, bool taken)
{
	TZ_ASSERT(unit->fast.steady && unit->gate.packet_en);
	tnt_add(unit, taken);
	flow_settle(unit, false, 0);
}

void
pt_unit_steady_tip(struct pt_unit *unit, uint64_t target)
{
	TZ_ASSERT(unit->fast.steady && unit->gate.packet_en);
	if (!tnt_tip(unit, target))
		flow_settle(unit, true, target);
}

void
pt_unit_steady_ret(struct pt_unit *unit, uint64_t target)
{
	TZ_ASSERT(unit->fast.steady && unit->gate.packet_en);
	flow_settle(unit, !flow_ret(unit, target), target);
}
