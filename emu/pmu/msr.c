/* Access to the MSRs of the unit: msr.def, and what each accepts. */
#include "emu/pmu/pmu.h"
#include "emu/pmu/state.h"

#define STATUS_UNCORE      TZ_BIT(61)
#define STATUS_CHANGED     TZ_BIT(63)
#define STATUS_V4          (TZ_BIT(58) | PMU_STATUS_CTR_FRZ | TZ_BIT(60))
#define CAPABILITY_FULL    TZ_BIT(13)
#define CAPABILITY_TRAP    TZ_BIT(6)  /* a PEBS record is after the event */
#define CAPABILITY_REGS    TZ_BIT(7)  /* PEBS records have registers */
#define CAPABILITY_BASE    TZ_BIT(14) /* PEBS baseline */
#define CAPABILITY_METRICS TZ_BIT(15)
#define CTRL_METRICS       TZ_BIT(48) /* of IA32_PERF_GLOBAL_CTRL */
#define LOAD_LATENCY       UINT64_C(0xf00000000)
#define CONFIG_XMM         TZ_BIT(2)
#define CONFIG_LBR         TZ_BIT(3)
#define CONFIG_LBRS        UINT64_C(0xff000000)
#define INUSE_PMI          TZ_BIT(63)

/* An access to the INDEX-th MSR of a row. */
typedef enum fault (*read_fn)(
    const struct pmu *pmu, unsigned index, uint64_t *value);
typedef enum fault (*write_fn)(struct pmu *pmu, unsigned index, uint64_t value);

/* Of Nehalem to Skylake: four counters. */
static bool
has_load_latency(const struct pmu *pmu)
{
	return profile_pebs_counters(pmu->profile) == 15;
}

static bool
has_baseline(const struct pmu *pmu)
{
	return profile_pebs_counters(pmu->profile) != 0 &&
	    profile_pebs_format(pmu->profile) >= 4;
}

/*
 * Metrics of issue slots.  They have no model and stand at 0.  A core of a hybrid part has
 * them because a kernel takes that for granted; on other processors they are not announced.
 */
static bool
has_metrics(const struct pmu *pmu)
{
	return pmu->profile->hybrid && pmu_fixed_count(pmu->profile) >= 4;
}

static enum fault
store(uint64_t *where, uint64_t value, uint64_t accepted)
{
	if ((value & ~accepted) != 0)
		return FAULT_GP;
	*where = value;
	return FAULT_NONE;
}

static enum fault
refuse(struct pmu *pmu, unsigned index, uint64_t value)
{
	(void)pmu;
	(void)index;
	(void)value;
	return FAULT_GP;
}

static enum fault
read_zero(const struct pmu *pmu, unsigned index, uint64_t *value)
{
	(void)pmu;
	(void)index;
	*value = 0;
	return FAULT_NONE;
}

static enum fault
pmu_counter_read(const struct pmu *pmu, unsigned index, uint64_t *value)
{
	if (index >= pmu_gp_count(pmu->profile))
		return FAULT_GP;
	*value = pmu->counter[index].value;
	return FAULT_NONE;
}

/* Bits 31:0 are the value, sign-extended to the counter's width. */
static enum fault
pmu_counter_write(struct pmu *pmu, unsigned index, uint64_t value)
{
	if (index >= pmu_gp_count(pmu->profile))
		return FAULT_GP;
	pmu->counter[index].value = (uint64_t)(int64_t)(int32_t)value &
	    pmu_value_mask(pmu->profile, false);
	return FAULT_NONE;
}

#define pmu_full_width_read pmu_counter_read

static enum fault
pmu_full_width_write(struct pmu *pmu, unsigned index, uint64_t value)
{
	if (index >= pmu_gp_count(pmu->profile))
		return FAULT_GP;
	return store(&pmu->counter[index].value, value,
	    pmu_value_mask(pmu->profile, false));
}

static enum fault
pmu_fixed_read(const struct pmu *pmu, unsigned index, uint64_t *value)
{
	if (index >= pmu_fixed_count(pmu->profile))
		return FAULT_GP;
	*value = pmu->counter[PMU_GP_MAX + index].value;
	return FAULT_NONE;
}

static enum fault
pmu_fixed_write(struct pmu *pmu, unsigned index, uint64_t value)
{
	if (index >= pmu_fixed_count(pmu->profile))
		return FAULT_GP;
	return store(&pmu->counter[PMU_GP_MAX + index].value, value,
	    pmu_value_mask(pmu->profile, true));
}

static enum fault
pmu_select_read(const struct pmu *pmu, unsigned index, uint64_t *value)
{
	if (index >= pmu_gp_count(pmu->profile))
		return FAULT_GP;
	*value = pmu->select[index];
	return FAULT_NONE;
}

/*
 * Model choice: pin control is reserved, as on Skylake, but not on Core 2; AnyThread
 * before version 3, and where CPUID says that it is deprecated.
 */
static enum fault
pmu_select_write(struct pmu *pmu, unsigned index, uint64_t value)
{
	uint64_t accepted = UINT32_MAX & ~SELECT_PIN;

	if (index >= pmu_gp_count(pmu->profile))
		return FAULT_GP;
	if (pmu_is_p6(pmu->profile)) {
		pmu->select[index] = value & UINT32_MAX;
		return FAULT_NONE;
	}
	if (pmu_version(pmu->profile) < 3)
		accepted |= SELECT_PIN;
	if (!pmu_has_any_thread(pmu->profile))
		accepted &= ~SELECT_ANY;
	if (has_baseline(pmu))
		accepted |= SELECT_ADAPTIVE;
	return store(&pmu->select[index], value, accepted);
}

static enum fault
pmu_fixed_ctrl_read(const struct pmu *pmu, unsigned index, uint64_t *value)
{
	(void)index;
	*value = pmu->fixed_ctrl;
	return FAULT_NONE;
}

static enum fault
pmu_fixed_ctrl_write(struct pmu *pmu, unsigned index, uint64_t value)
{
	uint64_t field = FIXED_OS | FIXED_USR | FIXED_PMI, accepted = 0;

	(void)index;
	if (pmu_has_any_thread(pmu->profile))
		field |= FIXED_ANY;
	for (unsigned i = 0; i < pmu_fixed_count(pmu->profile); i++) {
		accepted |= field << (4 * i);
		if (has_baseline(pmu))
			accepted |= FIXED_ADAPTIVE(i);
	}
	return store(&pmu->fixed_ctrl, value, accepted);
}

static enum fault
pmu_global_ctrl_read(const struct pmu *pmu, unsigned index, uint64_t *value)
{
	(void)index;
	*value = pmu->global_ctrl;
	return FAULT_NONE;
}

static enum fault
pmu_global_ctrl_write(struct pmu *pmu, unsigned index, uint64_t value)
{
	(void)index;
	return store(&pmu->global_ctrl, value,
	    pmu_counter_bits(pmu->profile) |
		(has_metrics(pmu) ? CTRL_METRICS : 0));
}

static enum fault
pmu_metrics_read(const struct pmu *pmu, unsigned index, uint64_t *value)
{
	(void)index;
	*value = 0;
	return has_metrics(pmu) ? FAULT_NONE : FAULT_GP;
}

/* A value of its own has no model: pmu_unmodelled(). */
static enum fault
pmu_metrics_write(struct pmu *pmu, unsigned index, uint64_t value)
{
	(void)index;
	(void)value;
	return has_metrics(pmu) ? FAULT_NONE : FAULT_GP;
}

static enum fault
pmu_capabilities_read(const struct pmu *pmu, unsigned index, uint64_t *value)
{
	(void)index;
	*value = pmu_version(pmu->profile) >= 3 ? CAPABILITY_FULL : 0;
	if (profile_pebs_is_trap(pmu->profile))
		*value |= CAPABILITY_TRAP;
	if (profile_pebs_counters(pmu->profile) != 0)
		*value |= CAPABILITY_REGS |
		    (uint64_t)profile_pebs_format(pmu->profile) << 8;
	if (has_baseline(pmu))
		*value |= CAPABILITY_BASE;
	if (has_metrics(pmu))
		*value |= CAPABILITY_METRICS;
	return FAULT_NONE;
}

#define pmu_capabilities_write refuse

static enum fault
pmu_status_read(const struct pmu *pmu, unsigned index, uint64_t *value)
{
	(void)index;
	*value = pmu->global_status;
	return FAULT_NONE;
}

#define pmu_status_write refuse

static uint64_t
status_bits(const struct profile *profile)
{
	return pmu_counter_bits(profile) | PMU_STATUS_OVF_DS |
	    (pmu_version(profile) >= 3 ? STATUS_UNCORE : 0) | STATUS_CHANGED |
	    (profile->pt ? PMU_STATUS_TOPA_PMI : 0) |
	    (pmu_version(profile) >= 4 ? STATUS_V4 : 0);
}

#define pmu_status_reset_read read_zero

static enum fault
pmu_status_reset_write(struct pmu *pmu, unsigned index, uint64_t value)
{
	(void)index;
	if ((value & ~status_bits(pmu->profile)) != 0)
		return FAULT_GP;
	if ((value & PMU_STATUS_TOPA_PMI) != 0 && pmu->stuck_resets != 0) {
		pmu->stuck_resets--;
		value &= ~PMU_STATUS_TOPA_PMI;
	}
	pmu->global_status &= ~value;
	return FAULT_NONE;
}

#define pmu_status_set_read read_zero

static enum fault
pmu_status_set_write(struct pmu *pmu, unsigned index, uint64_t value)
{
	(void)index;
	if ((value & ~status_bits(pmu->profile)) != 0)
		return FAULT_GP;
	pmu->global_status |= value;
	return FAULT_NONE;
}

static enum fault
pmu_inuse_read(const struct pmu *pmu, unsigned index, uint64_t *value)
{
	(void)index;
	*value = 0;
	for (unsigned i = 0; i < pmu_gp_count(pmu->profile); i++) {
		if (SELECT_EVENT(pmu->select[i]) != 0)
			*value |= pmu_counter_bit(i);
		if ((pmu->select[i] & SELECT_INT) != 0)
			*value |= INUSE_PMI;
	}
	for (unsigned i = 0; i < pmu_fixed_count(pmu->profile); i++) {
		unsigned field = (unsigned)(pmu->fixed_ctrl >> (4 * i));

		if ((field & (FIXED_OS | FIXED_USR)) != 0)
			*value |= pmu_counter_bit(PMU_GP_MAX + i);
		if ((field & FIXED_PMI) != 0)
			*value |= INUSE_PMI;
	}
	if (pmu->pebs_enable != 0)
		*value |= INUSE_PMI;
	return FAULT_NONE;
}

#define pmu_inuse_write refuse

static enum fault
pmu_pebs_enable_read(const struct pmu *pmu, unsigned index, uint64_t *value)
{
	(void)index;
	if (profile_pebs_counters(pmu->profile) == 0)
		return FAULT_GP;
	*value = pmu->pebs_enable;
	return FAULT_NONE;
}

static enum fault
pmu_pebs_enable_write(struct pmu *pmu, unsigned index, uint64_t value)
{
	uint64_t accepted = profile_pebs_counters(pmu->profile);
	enum fault fault;

	(void)index;
	if (accepted == 0)
		return FAULT_GP;
	if (has_load_latency(pmu))
		accepted |= LOAD_LATENCY;
	fault = store(&pmu->pebs_enable, value, accepted);
	pmu->pebs_armed &= pmu->pebs_enable;
	return fault;
}

static enum fault
pmu_pebs_config_read(const struct pmu *pmu, unsigned index, uint64_t *value)
{
	(void)index;
	if (!has_baseline(pmu))
		return FAULT_GP;
	*value = pmu->pebs_config;
	return FAULT_NONE;
}

static enum fault
pmu_pebs_config_write(struct pmu *pmu, unsigned index, uint64_t value)
{
	(void)index;
	if (!has_baseline(pmu))
		return FAULT_GP;
	return store(&pmu->pebs_config, value,
	    PMU_PEBS_MEMORY | PMU_PEBS_GPR | CONFIG_XMM | CONFIG_LBR |
		CONFIG_LBRS);
}

uint64_t
pmu_unmodelled(const struct pmu *pmu, uint32_t index, uint64_t value)
{
	if (index == PMU_MSR_METRICS)
		return value;
	if (index == PMU_MSR_PEBS_ENABLE && has_load_latency(pmu))
		return value & LOAD_LATENCY;
	return index == PMU_MSR_PEBS_DATA_CFG
	    ? value & (CONFIG_XMM | CONFIG_LBR | CONFIG_LBRS)
	    : 0;
}

static const struct pmu_msr {
	uint32_t first, count;
	read_fn read;
	write_fn write;
	unsigned version;
} msrs[] = {
#define MSR(first, count, kind, version, name, citation) \
 { first, count, pmu_##kind##_read, pmu_##kind##_write, version },
#include "emu/pmu/msr.def"
#undef MSR
};

static const struct pmu_msr *
find(uint32_t index)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(msrs); i++)
		if (index - msrs[i].first < msrs[i].count)
			return &msrs[i];
	return NULL;
}

bool
pmu_owns_msr(uint32_t index)
{
	return find(index) != NULL;
}

enum fault
pmu_rdmsr(const struct pmu *pmu, uint32_t index, uint64_t *value)
{
	const struct pmu_msr *msr = find(index);

	TZ_ASSERT(msr != NULL);
	if (pmu_level(pmu->profile) < msr->version)
		return FAULT_GP;
	return msr->read(pmu, index - msr->first, value);
}

enum fault
pmu_wrmsr(struct pmu *pmu, uint32_t index, uint64_t value)
{
	const struct pmu_msr *msr = find(index);
	enum fault fault;

	TZ_ASSERT(msr != NULL);
	if (pmu_level(pmu->profile) < msr->version)
		return FAULT_GP;
	fault = msr->write(pmu, index - msr->first, value);
	if (fault == FAULT_NONE)
		pmu_decide(pmu);
	return fault;
}

/* SDM vol. 2, "RDPMC": ECX[30] selects the fixed counters. */
enum fault
pmu_rdpmc(const struct pmu *pmu, uint32_t ecx, uint64_t *value)
{
	if ((ecx & TZ_BIT(30)) != 0)
		return pmu_version(pmu->profile) < 2
		    ? FAULT_GP
		    : pmu_fixed_read(pmu, ecx & ~(uint32_t)TZ_BIT(30), value);
	return pmu_counter_read(pmu, ecx, value);
}
