/* What the files of emu/pmu share. */
#ifndef TOPAZ_EMU_PMU_STATE_H
#define TOPAZ_EMU_PMU_STATE_H

#include "emu/pmu/pmu.h"

/*
 * IA32_PERFEVTSELx: SDM vol. 3, 20.2.1.1 "Architectural Performance
 * Monitoring Version 1 Facilities".
 */
#define SELECT_EVENT(value) ((uint32_t)tz_bits(value, 7, 0))
#define SELECT_UMASK(value) ((uint32_t)tz_bits(value, 15, 8))
#define SELECT_USR          TZ_BIT(16)
#define SELECT_OS           TZ_BIT(17)
#define SELECT_EDGE         TZ_BIT(18)
#define SELECT_PIN          TZ_BIT(19)
#define SELECT_INT          TZ_BIT(20)
#define SELECT_ANY          TZ_BIT(21)
#define SELECT_EN           TZ_BIT(22)
#define SELECT_INV          TZ_BIT(23)
#define SELECT_ADAPTIVE     TZ_BIT(34)
#define SELECT_CMASK(value) ((uint32_t)tz_bits(value, 31, 24))

/* A counter's field of IA32_FIXED_CTR_CTRL. */
#define FIXED_OS  1u
#define FIXED_USR 2u
#define FIXED_ANY 4u
#define FIXED_PMI 8u
/* A PEBS record of fixed counter I has the groups of MSR_PEBS_DATA_CFG. */
#define FIXED_ADAPTIVE(i) TZ_BIT(32 + 4 * (i))

/* CPUID leaf 0AH. */
static inline unsigned
pmu_version(const struct profile *profile)
{
	return (unsigned)tz_bits(profile->perfmon_eax, 7, 0);
}

/* Two counters of the P6 family: SDM vol. 3, 20.6.8. */
static inline bool
pmu_is_p6(const struct profile *profile)
{
	return profile->uarch->events == PROFILE_EVENTS_P6;
}

/* The version from which on an MSR of msr.def exists: those of P6 have version 1's. */
static inline unsigned
pmu_level(const struct profile *profile)
{
	return pmu_is_p6(profile) ? 1 : pmu_version(profile);
}

static inline unsigned
pmu_gp_count(const struct profile *profile)
{
	unsigned count = pmu_is_p6(profile)
	    ? 2
	    : (unsigned)tz_bits(profile->perfmon_eax, 15, 8);

	return count < PMU_GP_MAX ? count : PMU_GP_MAX;
}

static inline unsigned
pmu_fixed_count(const struct profile *profile)
{
	unsigned count = (unsigned)tz_bits(profile->perfmon_edx, 4, 0);

	return count < PMU_FIXED_MAX ? count : PMU_FIXED_MAX;
}

/* The values of a counter: those of its width. */
static inline uint64_t
pmu_value_mask(const struct profile *profile, bool fixed)
{
	uint64_t width = pmu_is_p6(profile) ? 40
	    : fixed ? tz_bits(profile->perfmon_edx, 12, 5)
		    : tz_bits(profile->perfmon_eax, 23, 16);

	return (UINT64_C(1) << width) - 1;
}

static inline bool
pmu_has_any_thread(const struct profile *profile)
{
	return pmu_version(profile) >= 3 &&
	    (profile->perfmon_edx & TZ_BIT(15)) == 0;
}

/* Bits of GLOBAL_CTRL, and of the same place in GLOBAL_STATUS. */
static inline uint64_t
pmu_counter_bits(const struct profile *profile)
{
	return ((UINT64_C(1) << pmu_gp_count(profile)) - 1) |
	    ((UINT64_C(1) << pmu_fixed_count(profile)) - 1) << 32;
}

static inline uint64_t
pmu_counter_bit(unsigned number)
{
	return number < PMU_GP_MAX ? TZ_BIT(number)
				   : TZ_BIT(32 + number - PMU_GP_MAX);
}

/* After a control, the status or a freeze changed: what each counter counts now. */
void pmu_decide(struct pmu *pmu);

#endif
