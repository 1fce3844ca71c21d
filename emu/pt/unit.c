#include "emu/pt/unit.h"

#include "emu/profile/profile.h"
#include "emu/pt/flow.h"
#include "emu/pt/output/layout.h"
#include "emu/pt/output/output_queue.h"
#include "emu/pt/output/pmi.h"
#include "emu/pt/output/topa.h"
#include "emu/pt/output/topa_entry.h"
#include "emu/pt/state.h"
#include "emu/pt/sync.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(
    offsetof(struct pt_unit, fast) == 0, "pt_unit_fast() converts the pointer");

/* A setting of IA32_RTIT_CTL that is not modelled. */
struct unit_lack {
	uint64_t mask, value; /* not modelled if (ctl & mask) == value */
	const char *text;
};

static const struct unit_lack unit_lacks[] = {
	{ CTL_FABRIC_EN, CTL_FABRIC_EN, "trace transport output (FabricEn)" },
};

/* Clears every trace MSR. */
static void
unit_clear(struct pt_unit *unit)
{
	memset(&unit->msrs, 0, sizeof(unit->msrs));
	unit->output_base = 0;
	unit->topa.index = 0;
	unit->topa.offset_bytes = 0;
	unit->place.psb_due = false;
	unit->late_pmi.on = false;
	state_refresh(unit);
	TZ_ASSERT(!unit->topa.open);
	TZ_ASSERT(!unit->fast.fast);
}

struct pt_unit *
pt_unit_create(const struct profile *profile, const struct pt_port *port)
{
	struct pt_unit *unit = calloc(1, sizeof(*unit));

	TZ_ASSERT(profile != NULL);
	TZ_ASSERT(port->window != NULL && port->read64 != NULL);
	TZ_ASSERT(port->raise_pmi != NULL && port->event != NULL);
	if (unit == NULL)
		return NULL;
	unit->profile = profile;
	unit->port = *port;
	unit->timing.cbr = profile->cbr;
	unit_clear(unit);
	return unit;
}

void
pt_unit_destroy(struct pt_unit *unit)
{
	if (unit != NULL)
		free(unit->buffer);
	free(unit);
}

void
unit_trace_off(struct pt_unit *unit)
{
	uint64_t before = unit->msrs.ctl;
	uint64_t count = 0;

	TZ_ASSERT(before & CTL_TRACE_EN);
	output_queue_flush(unit);
	topa_close(unit);
	if (unit->profile->pt_ebx & PROFILE_PT_EBX_PSB)
		count = layout_count(unit);
	unit->msrs.status &= ~(STATUS_COUNT_MASK << STATUS_COUNT_SHIFT);
	unit->msrs.status |= count << STATUS_COUNT_SHIFT;
	unit->msrs.status = state_pending(unit, unit->msrs.status);
	unit->msrs.ctl &= ~CTL_TRACE_EN;
	unit->place.psb_due = false;
	state_refresh(unit);
	unit_event(unit,
	    (struct pt_event){ .kind = PT_EVENT_TRACE_OFF, .value = before });
	TZ_ASSERT(!unit->gate.trigger_en);
}

/* The kinds of ranges in use, which cannot change until TraceEn is 0 again. */
static void
unit_range(struct pt_unit *unit)
{
	struct pt_fast *fast = &unit->fast;

	fast->low = 0;
	fast->high = UINT64_MAX;
	if (!gate_has_ranges(&unit->msrs))
		unit->ranges = UNIT_NO_RANGES;
	else if (gate_filter(&unit->msrs, &fast->low, &fast->high))
		unit->ranges = UNIT_FILTERS;
	else
		unit->ranges = UNIT_STOPS;
}

/* TraceEn 0 -> 1 without its packets; IA32_RTIT_CTL has its new value. */
static void
unit_open(struct pt_unit *unit)
{
	uint64_t ctl = unit->msrs.ctl;

	TZ_ASSERT(ctl & CTL_TRACE_EN);
	TZ_ASSERT(!unit->overflow.on);
	unit_range(unit);
	unit->stale = (struct topa_stale){ 0 };
	unit_event(
	    unit, (struct pt_event){ .kind = PT_EVENT_TRACE_ON, .value = ctl });
	for (size_t i = 0; i < TZ_ARRAY_LEN(unit_lacks); i++) {
		const struct unit_lack *lack = &unit_lacks[i];

		if ((ctl & lack->mask) == lack->value)
			unit_event(unit,
			    (struct pt_event){ .kind = PT_EVENT_UNMODELLED,
				.value = ctl,
				.text = lack->text });
	}
	/* SDM vol. 3, 33.2.8.2, FabricEn: when it is 1, ToPA is ignored. */
	if (gate_trigger_en(&unit->msrs) && !(ctl & CTL_FABRIC_EN))
		topa_open(unit);
	if (unit_injects(unit, STATUS_PEND_PMI))
		pmi_raise(unit);
}

void
unit_trace_on(struct pt_unit *unit, const struct pt_context *at, uint64_t nlip,
    enum packet_cfe cfe)
{
	uint64_t count = unit->msrs.status >> STATUS_COUNT_SHIFT &
	    STATUS_COUNT_MASK;

	unit_open(unit);
	flow_enable(unit, at, nlip, count, cfe);
	state_refresh(unit);
	TZ_ASSERT(!unit->gate.packet_en || unit->gate.trigger_en);
}

void
pt_unit_reset(struct pt_unit *unit, bool warm)
{
	TZ_ASSERT(unit != NULL);
	/*
	 * SDM vol. 3, 33.3.4 "Warm Reset".  Model choice: TNT bits that the unit
	 * still holds are lost, and no packet marks the end.
	 */
	if (unit->msrs.ctl & CTL_TRACE_EN)
		unit_trace_off(unit);
	unit->vmx = (struct vmx){ 0 };
	if (!warm || !(unit->profile->pt_ebx & PROFILE_PT_EBX_IPFILT))
		unit_clear(unit);
	TZ_ASSERT(!unit->gate.packet_en);
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
	unit_open(unit);
	sync_flow(unit, resume);
	state_refresh(unit);
	return FAULT_NONE;
}

void
pt_unit_sync_output(struct pt_unit *unit)
{
	topa_report_output(unit);
}

/* Bytes of struct pt_unit itself in a saved state; the buffer follows. */
#define UNIT_SAVED_BYTES offsetof(struct pt_unit, cycles)

size_t
pt_unit_size(const struct pt_unit *unit)
{
	return UNIT_SAVED_BYTES +
	    (unit->buffer != NULL ? sizeof(*unit->buffer) : 0);
}

void
pt_unit_save(const struct pt_unit *unit, void *state)
{
	TZ_ASSERT(state != NULL);
	TZ_ASSERT(unit->fast.tnt != 0);
	memcpy(state, unit, UNIT_SAVED_BYTES);
	if (unit->buffer != NULL)
		memcpy((uint8_t *)state + UNIT_SAVED_BYTES, unit->buffer,
		    sizeof(*unit->buffer));
}

void
pt_unit_restore(struct pt_unit *unit, const void *state)
{
	TZ_ASSERT(state != NULL);
	memcpy(unit, state, UNIT_SAVED_BYTES);
	if (unit->buffer != NULL)
		memcpy(unit->buffer, (const uint8_t *)state + UNIT_SAVED_BYTES,
		    sizeof(*unit->buffer));
	TZ_ASSERT(unit->fast.tnt != 0);
	topa_rewindow(unit);
}

struct pt_output_position
pt_unit_position(const struct pt_unit *unit)
{
	struct pt_output_position position = {
		.table = { unit->output_base },
		.entry = unit->topa.index,
		.offset_bytes = (uint32_t)unit->topa.offset_bytes,
	};

	TZ_ASSERT(unit->topa.index < TOPA_ENTRY_ENTRIES_MAX);
	TZ_ASSERT(unit->topa.offset_bytes <= UINT32_MAX);
	return position;
}
