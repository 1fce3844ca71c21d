/*
 * The passing of time: what happens between two events of the CPU.
 */
#include "emu/pt/output/output_queue.h"
#include "emu/pt/overflow.h"
#include "emu/pt/packet/cyc.h"
#include "emu/pt/packet/timing.h"
#include "emu/pt/packet/tnt.h"
#include "emu/pt/state.h"

#define CLOCK_FC_MAX 511

void
pt_unit_time(struct pt_unit *unit, const struct pt_time *now)
{
	struct timing *timing = &unit->timing;
	uint64_t written = unit->topa.written;

	TZ_ASSERT(now->cycles >= timing->now.cycles);
	TZ_ASSERT(now->tsc >= timing->now.tsc && now->art >= timing->now.art);
	TZ_ASSERT(now->fc <= CLOCK_FC_MAX);
	timing->now = *now;
	if (!unit->fast.timed)
		return;
	if (unit->buffer != NULL) {
		output_queue_run(unit);
		state_refresh(unit);
		overflow_drained(unit);
	}
	if (!unit->overflow.on)
		cyc_wrap(unit);
	if (now->art >= pt_unit_mtc_due(unit))
		timing_mtc(unit);
	if (unit->buffer != NULL || unit->topa.written != written)
		state_refresh(unit);
}

uint64_t
pt_unit_mtc_due(const struct pt_unit *unit)
{
	return unit_sends(unit, CTL_MTC_EN) ? unit->timing.mtc_due : UINT64_MAX;
}

/* TSC and CBR between two events. */
static void
clock_resync(struct pt_unit *unit)
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
	clock_resync(unit);
}
