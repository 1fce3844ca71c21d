#include "emu/pt/packet/timing.h"

#include "emu/pt/packet/cyc.h"
#include "emu/pt/packet/emit.h"
#include "emu/pt/state.h"

#define TIMING_TSC_BITS 56

static uint64_t
timing_period(const struct pt_unit *unit)
{
	/* SDM vol. 3, 33.2.8.2, MTCFreq: an MTC each 2^value ticks. */
	return UINT64_C(1) << CTL_MTC_FREQ(unit->msrs.ctl);
}

void
timing_begin(struct pt_unit *unit)
{
	struct timing *timing = &unit->timing;
	uint64_t period = timing_period(unit);

	TZ_ASSERT(unit->msrs.ctl & CTL_TRACE_EN);
	cyc_begin(unit);
	timing->mtc_due = timing->now.art - timing->now.art % period + period;
}

/* SDM vol. 3, 33.4.2.12 "TSC/MTC Alignment (TMA) Packet". */
static void
timing_tma(struct pt_unit *unit)
{
	const struct pt_time *now = &unit->timing.now;
	uint64_t payload = (now->art & 0xffff) | (uint64_t)now->fc << 24;

	/*
	 * SKZ84: in a VMX guest with TSC offset or scaling, which every guest has
	 * here, TMA is corrupt and a byte follows it.  Model choice: reserved bits
	 * are set, so that a decoder can detect it.
	 */
	if (unit->flow.non_root && unit_erratum(unit, PROFILE_ERRATUM_SKZ84))
		emit_packet(unit, PACKET_TMA_SKZ84, payload | TZ_BIT(16));
	else
		emit_packet(unit, PACKET_TMA, payload);
}

void
timing_status(struct pt_unit *unit)
{
	const struct pt_time *now = &unit->timing.now;

	if (unit_sends(unit, CTL_TSC_EN)) {
		emit_packet(
		    unit, PACKET_TSC, now->tsc & (TZ_BIT(TIMING_TSC_BITS) - 1));
		if (unit->msrs.ctl & CTL_MTC_EN)
			timing_tma(unit);
	}
	emit_packet(unit, PACKET_CBR, unit->timing.cbr & 0xff);
}

void
timing_mtc(struct pt_unit *unit)
{
	struct timing *timing = &unit->timing;
	uint64_t art = timing->now.art;

	/* CYCLES_MTC: in the first cycle of the tick. */
	TZ_ASSERT(art - timing->mtc_due < timing_period(unit));
	timing->mtc_due += timing_period(unit);
	/* SKL168: a CYC and its MTC just before PSB are dropped. */
	if (unit->place.psb_due && cyc_is_on(unit) &&
	    unit_erratum(unit, PROFILE_ERRATUM_SKL168)) {
		cyc_restart(unit);
		return;
	}
	if (!unit->overflow.on)
		emit_packet(unit, PACKET_MTC,
		    art >> CTL_MTC_FREQ(unit->msrs.ctl) & 0xff);
}

uint64_t
pt_unit_mtc_period(const struct pt_unit *unit)
{
	return timing_period(unit);
}
