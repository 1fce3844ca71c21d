#include "emu/pt/packet/timing.h"

#include "emu/pt/output/layout.h"
#include "emu/pt/output/output_queue.h"
#include "emu/pt/output/overflow.h"
#include "emu/pt/packet/emit.h"
#include "emu/pt/packet/tnt.h"
#include "emu/pt/state.h"

#define TIMING_TSC_BITS 56
#define TIMING_FC_MAX   511

static bool
timing_has(const struct pt_unit *unit, uint64_t enable)
{
	return unit->gate.trigger_en && (unit->msrs.ctl & enable) != 0;
}

/* A processor whose cycle counter has no bits sends no CYC. */
static bool
timing_has_cyc(const struct pt_unit *unit)
{
	return unit->profile->uarch->cyc_bits != 0 &&
	    timing_has(unit, CTL_CYC_EN);
}

static uint64_t
timing_period(const struct pt_unit *unit)
{
	/* SDM vol. 3, 33.2.8.2, MTCFreq: an MTC each 2^value ticks. */
	return UINT64_C(1) << CTL_MTC_FREQ(unit->msrs.ctl);
}

/* Cycles that must have passed since the last CYC: 0, 1, 2, 4 ... 16384. */
static uint64_t
timing_threshold(const struct pt_unit *unit)
{
	unsigned value = CTL_CYC_THRESH(unit->msrs.ctl);

	/* SDM vol. 3, 33.2.8.2, CycThresh. */
	return value == 0 ? 0 : UINT64_C(1) << (value - 1);
}

/* The value of the cycle counter. */
static uint64_t
timing_count(const struct pt_unit *unit)
{
	TZ_ASSERT(unit->timing.now.cycles >= unit->timing.cyc_zero);
	return unit->timing.now.cycles - unit->timing.cyc_zero;
}

static void
timing_put_cyc(struct pt_unit *unit, uint64_t count)
{
	struct packet packet;

	unit->timing.cyc_zero += count;
	unit->timing.cyc_sent = true;
	/* Most CYCs have one byte. */
	if (count <= PACKET_CYC_BYTE_MAX &&
	    unit_put_byte(unit, unit->topa.free_limit, packet_cyc_first(count)))
		return;
	packet = packet_cyc(count);
	layout_emit(unit, &packet);
}

/*
 * A CYC that belongs to no packet goes before the counter wraps, so that the
 * cycles add up: SDM vol. 3, 33.4.2.14 "Cycle Count (CYC) Packet".
 */
static void
timing_wrap(struct pt_unit *unit)
{
	uint64_t most = TZ_BIT(unit->profile->uarch->cyc_bits) - 1;

	TZ_ASSERT(unit->profile->uarch->cyc_bits > 0 &&
	    unit->profile->uarch->cyc_bits < 64);
	while (timing_count(unit) > most)
		timing_put_cyc(unit, most);
}

void
timing_begin(struct pt_unit *unit)
{
	struct timing *timing = &unit->timing;
	uint64_t period = timing_period(unit);

	TZ_ASSERT(unit->msrs.ctl & CTL_TRACE_EN);
	timing->cyc_zero = timing->now.cycles - timing->ahead;
	timing->ahead = 0;
	timing->cyc_sent = false;
	timing->mtc_due = timing->now.art - timing->now.art % period + period;
}

void
timing_cyc(struct pt_unit *unit)
{
	uint64_t threshold = timing_threshold(unit);
	uint64_t count = timing_count(unit);

	if (!timing_has_cyc(unit) || count < threshold)
		return;
	/* "At most one CYC in a core cycle": all packets of a cycle share it. */
	if (count < CYCLES_CYC && unit->timing.cyc_sent)
		return;
	timing_put_cyc(unit, count);
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

	if (timing_has(unit, CTL_TSC_EN)) {
		emit_packet(
		    unit, PACKET_TSC, now->tsc & (TZ_BIT(TIMING_TSC_BITS) - 1));
		if (unit->msrs.ctl & CTL_MTC_EN)
			timing_tma(unit);
	}
	emit_packet(unit, PACKET_CBR, unit->timing.cbr & 0xff);
}

/* SKD007: OVF replaces the rest of a longer CYC.  True: it was sent. */
static bool
timing_cut_cyc(struct pt_unit *unit)
{
	struct packet ovf = packet_fixed(PACKET_OVF, 0);
	struct packet cyc = packet_cyc(timing_count(unit));

	if (!timing_has_cyc(unit) || cyc.bytes == 1 ||
	    timing_count(unit) < timing_threshold(unit) ||
	    !unit_erratum(unit, PROFILE_ERRATUM_SKD007))
		return false;
	cyc.bytes = cyc.header_bytes = 1;
	ovf = packet_join(&cyc, &ovf);
	layout_emit(unit, &ovf);
	return true;
}

void
timing_overflow(struct pt_unit *unit)
{
	/*
	 * SDM vol. 3, 33.4.2.16 "Overflow (OVF) Packet": a CYC before it has the
	 * overflow's duration.  Model choice: one CYC, even if the counter has
	 * wrapped: their number would grow with the duration, and they would cause
	 * the next overflow.
	 */
	if (!timing_cut_cyc(unit))
		emit_packet(unit, PACKET_OVF, 0);
	unit->timing.cyc_zero = unit->timing.now.cycles;
	unit->timing.cyc_sent = true;
}

/* The crystal clock has reached the edge that was due. */
static void
timing_mtc(struct pt_unit *unit)
{
	struct timing *timing = &unit->timing;
	uint64_t art = timing->now.art;

	/* CYCLES_MTC: in the first cycle of the tick. */
	TZ_ASSERT(art - timing->mtc_due < timing_period(unit));
	timing->mtc_due += timing_period(unit);
	/* SKL168: a CYC and its MTC just before PSB are dropped. */
	if (unit->place.psb_due && timing_has_cyc(unit) &&
	    unit_erratum(unit, PROFILE_ERRATUM_SKL168)) {
		timing->cyc_zero = timing->now.cycles;
		return;
	}
	if (!unit->overflow.on)
		emit_packet(unit, PACKET_MTC,
		    art >> CTL_MTC_FREQ(unit->msrs.ctl) & 0xff);
}

void
pt_unit_time(struct pt_unit *unit, const struct pt_time *now)
{
	struct timing *timing = &unit->timing;
	uint64_t written = unit->topa.written;

	TZ_ASSERT(now->cycles >= timing->now.cycles);
	TZ_ASSERT(now->tsc >= timing->now.tsc && now->art >= timing->now.art);
	TZ_ASSERT(now->fc <= TIMING_FC_MAX);
	timing->now = *now;
	if (!unit->fast.timed)
		return;
	if (unit->buffer != NULL) {
		output_queue_run(unit);
		state_refresh(unit);
		overflow_drained(unit);
	}
	if (timing_has_cyc(unit) && !unit->overflow.on)
		timing_wrap(unit);
	if (now->art >= pt_unit_mtc_due(unit))
		timing_mtc(unit);
	if (unit->buffer != NULL || unit->topa.written != written)
		state_refresh(unit);
}

uint64_t
pt_unit_mtc_due(const struct pt_unit *unit)
{
	return timing_has(unit, CTL_MTC_EN) ? unit->timing.mtc_due : UINT64_MAX;
}

uint64_t
pt_unit_mtc_period(const struct pt_unit *unit)
{
	return timing_period(unit);
}

/* TSC and CBR between two events. */
static void
timing_resync(struct pt_unit *unit)
{
	if (!unit->gate.trigger_en || unit->overflow.on)
		return;
	/* Branches before a TSC are sent before it. */
	if (unit->msrs.ctl & CTL_TSC_EN)
		tnt_flush(unit);
	timing_status(unit);
	state_refresh(unit);
}

void
pt_unit_frequency(struct pt_unit *unit, uint32_t cbr)
{
	TZ_ASSERT(cbr > 0 && cbr <= 0xff);
	unit->timing.cbr = cbr;
	timing_resync(unit);
}
