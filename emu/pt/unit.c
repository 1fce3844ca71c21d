#include "emu/pt/unit.h"

#include "emu/profile/profile.h"
#include "emu/pt/output/topa.h"
#include "emu/pt/output/topa_entry.h"
#include "emu/pt/state.h"
#include "emu/pt/trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(
    offsetof(struct pt_unit, fast) == 0, "pt_unit_fast() converts the pointer");

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
pt_unit_reset(struct pt_unit *unit, bool warm)
{
	TZ_ASSERT(unit != NULL);
	/*
	 * SDM vol. 3, 33.3.4 "Warm Reset".  Model choice: TNT bits that the unit
	 * still holds are lost, and no packet marks the end.
	 */
	if (unit->msrs.ctl & CTL_TRACE_EN)
		trace_off(unit);
	unit->vmx = (struct vmx){ 0 };
	if (!warm || !(unit->profile->pt_ebx & PROFILE_PT_EBX_IPFILT))
		unit_clear(unit);
	TZ_ASSERT(!unit->gate.packet_en);
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
