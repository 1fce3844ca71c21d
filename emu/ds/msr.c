/* Access to the MSRs of the unit. */
#include "emu/ds/ds.h"

/*
 * LBR, BTF, FREEZE_LBRS_ON_PMI, UNCORE_PMI_EN and FREEZE_WHILE_SMM: bits of most
 * processors that have PT.
 */
#define UNMODELLED \
 (TZ_BIT(0) | TZ_BIT(1) | TZ_BIT(11) | TZ_BIT(13) | TZ_BIT(14))

enum needs { NEEDS_DS, NEEDS_CPL, NEEDS_PERFMON };

static const struct {
	uint64_t bit;
	enum needs needs;
} bits[] = {
#define DEBUGCTL(name, bit, needs, text) { DS_DEBUGCTL_##name, NEEDS_##needs },
#include "emu/ds/debugctl.def"
#undef DEBUGCTL
};

static bool
has(const struct profile *profile, enum needs needs)
{
	switch (needs) {
	case NEEDS_DS:
		return profile->ds;
	case NEEDS_CPL:
		return profile->ds && profile->ds_cpl;
	case NEEDS_PERFMON:
	default:
		return tz_bits(profile->perfmon_eax, 7, 0) >= 2;
	}
}

static uint64_t
accepted(const struct profile *profile)
{
	uint64_t mask = UNMODELLED;

	for (size_t i = 0; i < TZ_ARRAY_LEN(bits); i++)
		if (has(profile, bits[i].needs))
			mask |= bits[i].bit;
	return mask;
}

uint64_t
ds_unmodelled(uint64_t value)
{
	return value & UNMODELLED;
}

bool
ds_owns_msr(uint32_t index)
{
	return index == DS_MSR_DEBUGCTL || index == DS_MSR_AREA;
}

enum fault
ds_rdmsr(const struct ds *ds, uint32_t index, uint64_t *value)
{
	TZ_ASSERT(ds_owns_msr(index));
	if (index == DS_MSR_AREA && !ds->profile->ds)
		return FAULT_GP;
	*value = index == DS_MSR_AREA ? ds->area : ds->debugctl;
	return FAULT_NONE;
}

enum fault
ds_wrmsr(struct ds *ds, uint32_t index, uint64_t value)
{
	TZ_ASSERT(ds_owns_msr(index));
	if (index == DS_MSR_DEBUGCTL) {
		if ((value & ~accepted(ds->profile)) != 0)
			return FAULT_GP;
		ds->debugctl = value;
		return FAULT_NONE;
	}
	if (!ds->profile->ds || !tz_is_canonical(value))
		return FAULT_GP;
	ds->area = value;
	return FAULT_NONE;
}
