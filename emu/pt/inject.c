#include "emu/pt/inject.h"

#include "emu/pt/output/layout.h"
#include "emu/pt/output/output_queue.h"
#include "emu/pt/output/topa.h"
#include "emu/pt/output/topa_entry.h"
#include "emu/pt/state.h"

bool
pt_unit_trigger_en(const struct pt_unit *unit)
{
	return unit->gate.trigger_en;
}

bool
pt_unit_current_entry(const struct pt_unit *unit, struct gpa *pa)
{
	if (!unit->topa.open || !(unit->msrs.ctl & CTL_TOPA))
		return false;
	TZ_ASSERT(unit->topa.index < TOPA_ENTRY_ENTRIES_MAX);
	pa->u = unit->output_base + (uint64_t)unit->topa.index * 8;
	return true;
}

/* True if output can be added. */
static bool
inject_is_open(const struct pt_unit *unit)
{
	TZ_ASSERT(!unit->overflow.on || unit->gate.trigger_en);
	return unit->gate.trigger_en && unit->topa.open && !unit->overflow.on;
}

bool
pt_unit_fill_to_pmi(struct pt_unit *unit)
{
	uint64_t bytes;
	bool intr;

	if (!inject_is_open(unit))
		return false;
	output_queue_flush(unit);
	state_refresh(unit);
	if (!inject_is_open(unit) || !topa_leads_to_intr(unit, &bytes))
		return false;
	do {
		TZ_ASSERT(unit->topa.open);
		intr = unit->topa.region_intr;
		layout_fill(unit);
	} while (!intr);
	state_refresh(unit);
	return true;
}

bool
pt_unit_force_error(struct pt_unit *unit)
{
	if (!unit->gate.trigger_en)
		return false;
	topa_fail(unit, "operational error asked for");
	state_refresh(unit);
	TZ_ASSERT(!unit->gate.trigger_en);
	return true;
}

bool
pt_unit_force_stop(struct pt_unit *unit)
{
	if (!inject_is_open(unit) || !(unit->msrs.ctl & CTL_TOPA))
		return false;
	output_queue_flush(unit);
	state_refresh(unit);
	if (!inject_is_open(unit))
		return true;
	unit->topa.region_stop = true;
	layout_fill(unit);
	state_refresh(unit);
	TZ_ASSERT(!unit->gate.trigger_en);
	TZ_ASSERT(unit->msrs.status & STATUS_STOPPED);
	return true;
}

bool
pt_unit_overflow(struct pt_unit *unit, uint32_t transfers)
{
	if (!inject_is_open(unit))
		return false;
	state_lose(unit,
	    (struct overflow){
		.on = true, .transfers = transfers == 0 ? 1 : transfers });
	state_refresh(unit);
	TZ_ASSERT(!unit->fast.fast && !unit->fast.off);
	return true;
}

bool
pt_unit_stale(struct pt_unit *unit, uint32_t entries)
{
	if (!unit->gate.trigger_en || !unit->topa.open ||
	    !(unit->msrs.ctl & CTL_TOPA) || entries == 0)
		return false;
	topa_entry_remember(unit, entries);
	return true;
}
