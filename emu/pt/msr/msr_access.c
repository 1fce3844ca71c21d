/*
 * RDMSR and WRMSR of the trace MSRs.
 */
#include "emu/pt/output/layout.h"
#include "emu/pt/state.h"
#include "emu/pt/trace.h"

bool
pt_unit_owns_msr(uint32_t index)
{
	return msr_find(index) != MSR_COUNT;
}

/* The MSR as RDMSR returns it. */
static uint64_t
msr_access_read(const struct pt_unit *unit, enum msr_id id)
{
	const struct gate_config *msrs = &unit->msrs;
	unsigned range = ((unsigned)id - MSR_ADDR0_A) / 2;
	uint64_t status = msrs->status;

	TZ_ASSERT(id < MSR_COUNT);
	if (id == MSR_CTL)
		return msrs->ctl;
	if (id == MSR_CR3_MATCH)
		return msrs->cr3_match;
	if (id == MSR_OUTPUT_BASE)
		return unit->output_base;
	if (id == MSR_OUTPUT_MASK_PTRS)
		return unit->topa.offset_bytes << 32 |
		    (uint64_t)unit->topa.index << 7 | MASK_PTRS_LOW;
	if (id == MSR_STATUS) {
		/* Model choice: exact at any time, also while TraceEn is 1. */
		if ((msrs->ctl & CTL_TRACE_EN) == 0)
			return status;
		status = state_pending(unit, status);
		if (!(unit->profile->pt_ebx & PROFILE_PT_EBX_PSB))
			return status;
		status &= ~(STATUS_COUNT_MASK << STATUS_COUNT_SHIFT);
		return status | layout_count(unit) << STATUS_COUNT_SHIFT;
	}
	TZ_ASSERT(range < GATE_RANGES_MAX);
	return ((unsigned)id - MSR_ADDR0_A) % 2 == 0 ? msrs->range_a[range]
						     : msrs->range_b[range];
}

/* Stores an accepted VALUE in any MSR except IA32_RTIT_CTL. */
static void
msr_access_store(struct pt_unit *unit, enum msr_id id, uint64_t value)
{
	struct gate_config *msrs = &unit->msrs;
	unsigned range = ((unsigned)id - MSR_ADDR0_A) / 2;

	TZ_ASSERT(id < MSR_COUNT && id != MSR_CTL);
	TZ_ASSERT(!(msrs->ctl & CTL_TRACE_EN));
	if (id == MSR_CR3_MATCH) {
		msrs->cr3_match = value;
	} else if (id == MSR_OUTPUT_BASE) {
		unit->output_base = value;
	} else if (id == MSR_OUTPUT_MASK_PTRS) {
		unit->topa.offset_bytes = value >> 32;
		unit->topa.index = (uint32_t)tz_bits(value, 31, 7);
	} else if (id == MSR_STATUS) {
		msrs->status = value;
	} else if (((unsigned)id - MSR_ADDR0_A) % 2 == 0) {
		msrs->range_a[range] = value;
	} else {
		msrs->range_b[range] = value;
	}
}

enum fault
pt_unit_rdmsr(const struct pt_unit *unit, uint32_t index, uint64_t *value)
{
	enum msr_id id = msr_find(index);

	TZ_ASSERT(id != MSR_COUNT);
	TZ_ASSERT(value != NULL);
	if (!msr_exists(unit->profile, id))
		return FAULT_GP;
	*value = msr_access_read(unit, id);
	return FAULT_NONE;
}

static void
msr_access_write_ctl(struct pt_unit *unit, uint64_t value,
    const struct pt_context *at, uint64_t nlip)
{
	bool was_on = (unit->msrs.ctl & CTL_TRACE_EN) != 0;
	bool is_on = (value & CTL_TRACE_EN) != 0;

	/* The only write that leaves TraceEn 1 is that of the same value. */
	TZ_ASSERT(!was_on || !is_on || unit->msrs.ctl == value);
	if (was_on && is_on)
		return;
	if (was_on) {
		trace_disable(unit, at->ip);
	}
	TZ_ASSERT(!(unit->msrs.ctl & CTL_TRACE_EN));
	unit->msrs.ctl = value;
	if (is_on)
		trace_on(unit, at, nlip, CFE_NONE);
	else
		state_refresh(unit);
}

enum fault
pt_unit_wrmsr(struct pt_unit *unit, uint32_t index, uint64_t value,
    const struct pt_context *at, uint64_t nlip)
{
	enum msr_id id = msr_find(index);

	TZ_ASSERT(id != MSR_COUNT);
	TZ_ASSERT(at != NULL);
	if (!msr_accepts(unit->profile, id, unit->msrs.ctl, value) ||
	    (id == MSR_CTL && !vmx_allows(unit)))
		return FAULT_GP;
	if (id == MSR_CTL)
		msr_access_write_ctl(unit, value, at, nlip);
	else
		msr_access_store(
		    unit, id, msr_merge(id, msr_access_read(unit, id), value));
	return FAULT_NONE;
}
