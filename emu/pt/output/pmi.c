#include "emu/pt/output/pmi.h"

#include "emu/pt/state.h"

/* Raises the PMI of entry INDEX now. */
static void
pmi_now(struct pt_unit *unit, uint32_t index)
{
	unit_event(
	    unit, (struct pt_event){ .kind = PT_EVENT_PMI, .value = index });
	unit->port.raise_pmi(unit->port.arg);
}

static void
pmi_late(struct pt_unit *unit)
{
	unit->late_pmi.on = false;
	pmi_now(unit, unit->late_pmi.index);
}

void
pmi_raise(struct pt_unit *unit)
{
	uint32_t index = unit->topa.index;

	TZ_ASSERT(unit->msrs.ctl & CTL_TRACE_EN);
	/* SDM vol. 3, 33.2.8.4, PendTopaPMI: software clears it. */
	if (unit->msrs.ctl & CTL_INJECT)
		unit->msrs.status |= STATUS_PEND_PMI;
	if (unit->buffer == NULL || unit->cycles.pmi_cycles == 0) {
		pmi_now(unit, index);
		return;
	}
	/* Model choice: only one PMI is delayed at a time; a second full region
	 * raises the delayed one at once. */
	if (unit->late_pmi.on)
		pmi_late(unit);
	unit->late_pmi = (struct late_pmi){ .on = true,
		.index = index,
		.due = unit->timing.now.cycles + unit->cycles.pmi_cycles };
}

void
pmi_run(struct pt_unit *unit)
{
	if (unit->late_pmi.on && unit->late_pmi.due <= unit->timing.now.cycles)
		pmi_late(unit);
}
