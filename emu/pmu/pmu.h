/*
 * The global performance-monitoring MSRs as far as Intel PT needs them: bit 55,
 * Trace_ToPA_PMI, of IA32_PERF_GLOBAL_STATUS (38EH), its reset (390H) and set
 * (391H).  Not modelled: counters, any other MSR of the PMU, and any other bit of
 * these MSRs.
 *
 * Source: SDM vol. 3, 20.2.4 "Architectural Performance Monitoring Version 4".
 */
#ifndef TOPAZ_EMU_PMU_PMU_H
#define TOPAZ_EMU_PMU_PMU_H

#include "emu/base/base.h"

#define PMU_MSR_GLOBAL_STATUS       UINT32_C(0x38e)
#define PMU_MSR_GLOBAL_STATUS_RESET UINT32_C(0x390)
#define PMU_MSR_GLOBAL_STATUS_SET   UINT32_C(0x391)
#define PMU_STATUS_TOPA_PMI         TZ_BIT(55)

struct pmu {
	uint64_t global_status;
	uint64_t stuck_resets; /* resets of bit 55 that will still fail */
};

bool pmu_owns_msr(uint32_t index);

/*
 * 38EH is read-only: WRMSR gives FAULT_GP.  390H and 391H read as 0; writing a bit
 * other than 55 gives FAULT_GP.
 */
enum fault pmu_rdmsr(const struct pmu *pmu, uint32_t index, uint64_t *value);
enum fault pmu_wrmsr(struct pmu *pmu, uint32_t index, uint64_t value);

/*
 * A ToPA region with INT was filled, or a faulty part reports so.  The bit is
 * sticky, whether the LVT entry is masked or not.
 */
void pmu_topa_pmi(struct pmu *pmu);

/* A fault: the next RESETS writes of bit 55 to 390H do not clear it. */
void pmu_stick(struct pmu *pmu, uint64_t resets);

/* A hash of everything that decides what these MSRs do next. */
uint64_t pmu_hash(const struct pmu *pmu);

#endif
