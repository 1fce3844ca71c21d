#include "emu/pmu/pmu.h"

#include <xxhash.h>

bool
pmu_owns_msr(uint32_t index)
{
	return index == PMU_MSR_GLOBAL_STATUS ||
	    index == PMU_MSR_GLOBAL_STATUS_RESET ||
	    index == PMU_MSR_GLOBAL_STATUS_SET;
}

enum fault
pmu_rdmsr(const struct pmu *pmu, uint32_t index, uint64_t *value)
{
	TZ_ASSERT(pmu_owns_msr(index));
	*value = index == PMU_MSR_GLOBAL_STATUS ? pmu->global_status : 0;
	return FAULT_NONE;
}

enum fault
pmu_wrmsr(struct pmu *pmu, uint32_t index, uint64_t value)
{
	TZ_ASSERT(pmu_owns_msr(index));
	if (index == PMU_MSR_GLOBAL_STATUS ||
	    (value & ~PMU_STATUS_TOPA_PMI) != 0)
		return FAULT_GP;
	if (index == PMU_MSR_GLOBAL_STATUS_SET) {
		pmu->global_status |= value;
	} else if (value != 0 && pmu->stuck_resets != 0) {
		TZ_ASSERT(value == PMU_STATUS_TOPA_PMI);
		pmu->stuck_resets--;
	} else {
		pmu->global_status &= ~value;
	}
	return FAULT_NONE;
}

void
pmu_topa_pmi(struct pmu *pmu)
{
	pmu->global_status |= PMU_STATUS_TOPA_PMI;
}

void
pmu_stick(struct pmu *pmu, uint64_t resets)
{
	pmu->stuck_resets = resets;
}

uint64_t
pmu_hash(const struct pmu *pmu)
{
	uint64_t words[] = { pmu->global_status, pmu->stuck_resets };

	TZ_ASSERT((pmu->global_status & ~PMU_STATUS_TOPA_PMI) == 0);
	return XXH3_64bits(words, sizeof(words));
}
