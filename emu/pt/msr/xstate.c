#include "emu/pt/msr/msr.h"
#include "emu/pt/state.h"

#include <assert.h>
#include <string.h>

/*
 * SDM vol. 1, 13.5.6 "PT State": the order in the component.  IA32_RTIT_CTL is
 * first in memory and last to take effect.
 */
static const uint32_t xstate_msrs[] = { MSR_RTIT_CTL, MSR_RTIT_OUTPUT_BASE,
	MSR_RTIT_OUTPUT_MASK_PTRS, MSR_RTIT_STATUS, MSR_RTIT_CR3_MATCH,
	MSR_RTIT_ADDR_A(0), MSR_RTIT_ADDR_B(0), MSR_RTIT_ADDR_A(1),
	MSR_RTIT_ADDR_B(1) };

static_assert(TZ_ARRAY_LEN(xstate_msrs) == PT_XSTATE_MSRS,
    "one MSR a slot of the component");
static_assert(PT_XSTATE_MSRS * 8 <= PT_XSTATE_BYTES, "the MSRs fit");

static uint64_t
xstate_get(const uint8_t *image, unsigned slot)
{
	uint64_t value = 0;

	TZ_ASSERT(image != NULL);
	TZ_ASSERT(slot < PT_XSTATE_BYTES / 8);
	for (unsigned i = 0; i < 8; i++)
		value |= (uint64_t)image[slot * 8 + i] << (8 * i);
	return value;
}

/* Stores the MSR of SLOT in its place; an MSR that does not exist is 0. */
static void
xstate_put(const struct pt_unit *unit, uint8_t *image, unsigned slot)
{
	uint64_t value = 0;

	TZ_ASSERT(slot < PT_XSTATE_MSRS);
	TZ_ASSERT(image != NULL);
	if (pt_unit_rdmsr(unit, xstate_msrs[slot], &value) != FAULT_NONE)
		value = 0;
	for (unsigned i = 0; i < 8; i++)
		image[slot * 8 + i] = (uint8_t)(value >> (8 * i));
}

void
pt_unit_xsaves(struct pt_unit *unit, uint8_t image[PT_XSTATE_BYTES],
    const struct pt_context *at)
{
	uint64_t ctl = unit->msrs.ctl;

	TZ_ASSERT(image != NULL);
	memset(image, 0, PT_XSTATE_BYTES);
	/* SDM vol. 1, 13.5.6: CTL as it was; TraceEn falls; the rest. */
	xstate_put(unit, image, 0);
	if (ctl & CTL_TRACE_EN) {
		enum fault fault = pt_unit_wrmsr(
		    unit, xstate_msrs[0], ctl & ~CTL_TRACE_EN, at, 0);

		TZ_ASSERT(fault == FAULT_NONE);
	}
	for (unsigned slot = 1; slot < PT_XSTATE_MSRS; slot++)
		xstate_put(unit, image, slot);
	TZ_ASSERT(!(unit->msrs.ctl & CTL_TRACE_EN));
}

/* Loads the MSR of SLOT as WRMSR would. */
static enum fault
xstate_load(struct pt_unit *unit, unsigned slot, uint64_t value,
    const struct pt_context *at, uint64_t nlip)
{
	enum msr_id id = msr_find(xstate_msrs[slot]);

	TZ_ASSERT(slot < PT_XSTATE_MSRS);
	TZ_ASSERT(id != MSR_COUNT);
	/* Model choice: the slot of an MSR that does not exist must be 0. */
	if (!msr_exists(unit->profile, id))
		return value == 0 ? FAULT_NONE : FAULT_GP;
	return pt_unit_wrmsr(unit, xstate_msrs[slot], value, at, nlip);
}

/* The initial state of component 8: the nine MSRs are 0. */
static void
xstate_init(struct pt_unit *unit)
{
	TZ_ASSERT(!(unit->msrs.ctl & CTL_TRACE_EN));
	unit->msrs.ctl = 0;
	unit->msrs.status = 0;
	unit->msrs.cr3_match = 0;
	unit->output_base = 0;
	unit->topa.index = 0;
	unit->topa.offset_bytes = 0;
	for (unsigned range = 0; range < 2; range++) {
		unit->msrs.range_a[range] = 0;
		unit->msrs.range_b[range] = 0;
	}
	state_refresh(unit);
	/* A delayed PMI may still wait. */
	TZ_ASSERT(!unit->gate.trigger_en);
}

enum fault
pt_unit_xrstors(struct pt_unit *unit, const uint8_t *image,
    const struct pt_context *at, uint64_t nlip)
{
	TZ_ASSERT(at != NULL);
	/* SDM vol. 1, 13.12 "Operation of XRSTORS": before any change. */
	if (unit->msrs.ctl & CTL_TRACE_EN)
		return FAULT_GP;
	if (image == NULL) {
		/* Model choice: this writes IA32_RTIT_CTL as well. */
		if (!vmx_allows(unit))
			return FAULT_GP;
		xstate_init(unit);
		return FAULT_NONE;
	}
	for (unsigned slot = PT_XSTATE_MSRS; slot < PT_XSTATE_BYTES / 8;
	     slot++) {
		if (xstate_get(image, slot) != 0)
			return FAULT_GP;
	}
	for (unsigned slot = 1; slot < PT_XSTATE_MSRS; slot++) {
		enum fault fault = xstate_load(
		    unit, slot, xstate_get(image, slot), at, nlip);

		if (fault != FAULT_NONE)
			return fault;
	}
	return xstate_load(unit, 0, xstate_get(image, 0), at, nlip);
}
