#include "emu/pt/packet/nonbranch.h"

#include "emu/pt/packet/emit.h"
#include "emu/pt/packet/psb.h"
#include "emu/pt/packet/timing.h"
#include "emu/pt/packet/tnt.h"
#include "emu/pt/state.h"
#include "emu/pt/trace.h"

#define PWRE_HW TZ_BIT(7) /* SDM and perf; libipt reads bit 3 */

/*
 * Begins an event at AT.  False: the unit sends nothing.  Pending TNT bits are sent
 * first.
 */
static bool
nonbranch_begin(struct pt_unit *unit)
{
	if (!unit->gate.trigger_en || unit->overflow.on)
		return false;
	TZ_ASSERT(unit->msrs.ctl & CTL_TRACE_EN);
	tnt_flush(unit);
	return true;
}

static void
nonbranch_end(struct pt_unit *unit, const struct pt_context *at)
{
	psb_end_event(unit, unit->place.psb_due, at->ip);
}

/*
 * Ends an event whose address is that of a retired instruction.  The address of the
 * next instruction is not known here, so a PSB+ that is due waits for the next
 * event.
 */
static void
nonbranch_end_clip(struct pt_unit *unit)
{
	psb_end_event(unit, false, 0);
}

void
pt_unit_ptwrite(struct pt_unit *unit, const struct pt_context *at,
    uint64_t value, unsigned bytes)
{
	bool with_ip = (unit->msrs.ctl & CTL_FUP_ON_PTW) != 0;

	TZ_ASSERT(bytes == 4 || bytes == 8);
	/* SDM vol. 3, 33.4.2.21 "PTW Packet", dependencies. */
	if (!(unit->msrs.ctl & CTL_PTW_EN) || !unit->gate.context_en ||
	    !unit->gate.filter_en || !nonbranch_begin(unit))
		return;
	if (bytes == 4)
		emit_packet(unit, with_ip ? PACKET_PTW4_IP : PACKET_PTW4,
		    value & UINT32_MAX);
	else
		emit_packet(
		    unit, with_ip ? PACKET_PTW8_IP : PACKET_PTW8, value);
	if (with_ip)
		emit_fup(unit, at->ip);
	nonbranch_end_clip(unit);
}

void
pt_unit_if_changed(struct pt_unit *unit, const struct pt_context *at)
{
	uint8_t exec = packet_exec_payload(unit->msrs.ctl, at);

	unit->flow.exec = exec;
	if (!(unit->msrs.ctl & CTL_EVENT_EN) || !unit->gate.context_en ||
	    !unit->gate.filter_en ||
	    (unit->flow.exec_known && unit->flow.exec_sent == exec) ||
	    !nonbranch_begin(unit))
		return;
	emit_mode_exec(unit);
	emit_fup(unit, at->ip);
	nonbranch_end(unit, at);
}

/* EXSTOP, with the address if ContextEn is 1. */
static void
nonbranch_exstop(struct pt_unit *unit, const struct pt_context *at)
{
	if (!unit->gate.context_en) {
		emit_packet(unit, PACKET_EXSTOP, 0);
		return;
	}
	emit_packet(unit, PACKET_EXSTOP_IP, 0);
	emit_fup(unit, at->ip);
}

void
pt_unit_power_enter(struct pt_unit *unit, const struct pt_context *at,
    const struct pt_power *power)
{
	TZ_ASSERT(power->cstate <= 15 && power->sub <= 15);
	TZ_ASSERT(power->ext <= 3);
	if (!(unit->msrs.ctl & CTL_PWR_EVT_EN) || !nonbranch_begin(unit))
		return;
	/* SDM vol. 3, 33.4.2.23 "MWAIT Packet": needs ContextEn. */
	if (power->mwait && unit->gate.context_en)
		emit_packet(unit, PACKET_MWAIT,
		    power->hints | (uint64_t)power->ext << 32);
	emit_packet(unit, PACKET_PWRE,
	    (power->hw ? PWRE_HW : 0) | (uint64_t)power->sub << 8 |
		(uint64_t)power->cstate << 12);
	nonbranch_exstop(unit, at);
	nonbranch_end(unit, at);
}

void
pt_unit_power_exit(struct pt_unit *unit, const struct pt_context *at,
    uint8_t last, uint8_t deepest, uint8_t reason)
{
	TZ_ASSERT(last <= 15 && deepest <= 15 && reason <= 15);
	/*
	 * SDM vol. 3, 33.8.3: TSC, TMA and CBR at a wake.  Model choice, from
	 * captures, where CBR is rare: a trace without TSC and power events has
	 * no CBR either.
	 */
	if (!(unit->msrs.ctl & (CTL_TSC_EN | CTL_PWR_EVT_EN)) ||
	    !nonbranch_begin(unit))
		return;
	timing_status(unit);
	/* SDM vol. 3, 33.4.2.25 "PWRX Packet". */
	if (unit->msrs.ctl & CTL_PWR_EVT_EN)
		emit_packet(unit, PACKET_PWRX,
		    deepest | (uint64_t)last << 4 | (uint64_t)reason << 8);
	nonbranch_end(unit, at);
}

void
pt_unit_exstop(struct pt_unit *unit, const struct pt_context *at)
{
	if (!(unit->msrs.ctl & CTL_PWR_EVT_EN) || !nonbranch_begin(unit))
		return;
	nonbranch_exstop(unit, at);
	nonbranch_end(unit, at);
}

void
pt_unit_shutdown_cfe(struct pt_unit *unit, const struct pt_context *at)
{
	bool own_fup = unit->gate.context_en && unit->gate.filter_en;

	if ((unit->msrs.ctl & CTL_EVENT_EN) != 0 && unit->gate.context_en &&
	    nonbranch_begin(unit)) {
		emit_cfe(unit, CFE_SHUTDOWN, own_fup, 0);
		if (own_fup)
			emit_fup(unit, at->ip);
		nonbranch_end(unit, at);
	}
}

void
pt_unit_shutdown(struct pt_unit *unit, const struct pt_context *at)
{
	static const struct pt_power halt = { 0 };

	pt_unit_shutdown_cfe(unit, at);
	pt_unit_power_enter(unit, at, &halt);
}

void
pt_unit_tsx(struct pt_unit *unit, const struct pt_context *at, bool begins)
{
	unit->flow.tsx = begins ? PACKET_MODE_TSX_IN : 0;
	/* SDM vol. 3, 33.4.2.8 "MODE Packets": ContextEn and BranchEn. */
	if (!unit->gate.context_en || !(unit->msrs.ctl & CTL_BRANCH_EN) ||
	    !nonbranch_begin(unit))
		return;
	emit_packet(unit, PACKET_MODE, PACKET_MODE_TSX | unit->flow.tsx);
	if (unit->gate.packet_en)
		emit_fup(unit, at->ip);
	nonbranch_end_clip(unit);
}

void
pt_unit_smi(struct pt_unit *unit, const struct pt_context *at)
{
	if (!(unit->msrs.ctl & CTL_TRACE_EN))
		return;
	if ((unit->msrs.ctl & CTL_EVENT_EN) != 0 && unit->gate.context_en &&
	    nonbranch_begin(unit)) {
		/* Without branch packets it has a FUP of its own. */
		bool own_fup = !unit->gate.packet_en && unit->gate.filter_en &&
		    !(unit->msrs.ctl & CTL_BRANCH_EN);

		emit_cfe(unit, CFE_SMI, own_fup, 0);
		if (own_fup)
			emit_fup(unit, at->ip);
		/* These packets may have ended the output. */
		state_refresh(unit);
	}
	trace_disable(unit, at->ip);
}

void
pt_unit_rsm(struct pt_unit *unit, const struct pt_context *at, bool trace_en)
{
	TZ_ASSERT(!(unit->msrs.ctl & CTL_TRACE_EN));
	if (!trace_en)
		return;
	unit->msrs.ctl |= CTL_TRACE_EN;
	trace_on(unit, at, at->ip, CFE_RSM);
}

void
pt_unit_senter(struct pt_unit *unit)
{
	if (unit->msrs.ctl & CTL_TRACE_EN)
		trace_off(unit);
}

void
pt_unit_acm(struct pt_unit *unit, const struct pt_context *at)
{
	if (!(unit->msrs.ctl & CTL_TSC_EN) || !nonbranch_begin(unit))
		return;
	timing_status(unit);
	nonbranch_end(unit, at);
}

void
pt_unit_maintenance(struct pt_unit *unit, uint64_t payload)
{
	if (!nonbranch_begin(unit))
		return;
	emit_packet(unit, PACKET_MNT, payload);
	nonbranch_end_clip(unit);
}

void
pt_unit_pebs(struct pt_unit *unit, const struct pt_context *at,
    const struct pt_block *blocks, size_t count, bool with_ip)
{
	TZ_ASSERT(count != 0);
	if (!nonbranch_begin(unit))
		return;
	for (size_t b = 0; b < count; b++) {
		const struct pt_block *block = &blocks[b];

		TZ_ASSERT(block->type < 32);
		emit_packet(
		    unit, PACKET_BBP, block->type | (block->narrow ? 0x80 : 0));
		for (size_t i = 0; i < block->count; i++)
			emit_bip(unit, block->items[i].id,
			    block->narrow ? 4 : 8, block->items[i].value);
	}
	emit_packet(unit, with_ip ? PACKET_BEP_IP : PACKET_BEP, 0);
	if (with_ip)
		emit_fup(unit, at->ip);
	nonbranch_end_clip(unit);
}
