/*
 * The performance-monitoring unit of one logical CPU: general-purpose and fixed
 * counters of architectural performance monitoring, versions 2 to 5, their control
 * and status, and bit 55, Trace_ToPA_PMI, which they share with Intel PT; which of
 * them precise event-based sampling (PEBS) uses.
 *
 * The CPU reports signals (signal.def) in the order in which they happen; the unit
 * counts those that an enabled counter selects, and says when one overflows.  It
 * never reads guest code and knows no engine.
 *
 * Not modelled: the events of caches, TLBs and mispredictions, which CPUID.0AH:EBX
 * announces as not available; last-branch records.
 *
 * Source: SDM vol. 3, 20.2 "Architectural Performance Monitoring".
 */
#ifndef TOPAZ_EMU_PMU_PMU_H
#define TOPAZ_EMU_PMU_PMU_H

#include "emu/base/base.h"
#include "emu/profile/profile.h"

#define PMU_GP_MAX                  8
#define PMU_FIXED_MAX               4

#define PMU_MSR_COUNTER             UINT32_C(0xc1)
#define PMU_MSR_SELECT              UINT32_C(0x186)
#define PMU_MSR_FIXED               UINT32_C(0x309)
#define PMU_MSR_METRICS             UINT32_C(0x329)
#define PMU_MSR_FIXED_CTRL          UINT32_C(0x38d)
#define PMU_MSR_GLOBAL_STATUS       UINT32_C(0x38e)
#define PMU_MSR_GLOBAL_CTRL         UINT32_C(0x38f)
#define PMU_MSR_GLOBAL_STATUS_RESET UINT32_C(0x390)
#define PMU_MSR_GLOBAL_STATUS_SET   UINT32_C(0x391)
#define PMU_MSR_FULL_WIDTH          UINT32_C(0x4c1)

#define PMU_MSR_PEBS_ENABLE         UINT32_C(0x3f1)
#define PMU_MSR_PEBS_DATA_CFG       UINT32_C(0x3f2)

#define PMU_STATUS_TOPA_PMI         TZ_BIT(55)
#define PMU_STATUS_CTR_FRZ          TZ_BIT(59)
#define PMU_STATUS_OVF_DS           TZ_BIT(62)

enum pmu_signal {
#define SIGNAL(name, text) PMU_##name,
#include "emu/pmu/signal.def"
#undef SIGNAL
	PMU_SIGNALS
};

/* What a CPU did in one privilege level since the last report: counts by signal. */
struct pmu_slice {
	uint64_t count[PMU_SIGNALS];
};

/* How the value of a counter follows from its signal, see pmu_counter_rule(). */
enum pmu_rule {
	PMU_RULE_NONE,    /* nothing is counted */
	PMU_RULE_EVENTS,  /* the signal */
	PMU_RULE_WITHOUT, /* cycles in which the signal is absent */
	PMU_RULE_CYCLES,  /* every cycle */
};

struct pmu_counter {
	uint64_t value;
	enum pmu_rule rule[2]; /* by privilege level: 0 ring 0, 1 rings 1 to 3 */
	enum pmu_signal signal;
	bool interrupts; /* an overflow requests a PMI */
};

/* General-purpose counter i is number i, fixed counter i number PMU_GP_MAX + i. */
struct pmu {
	const struct profile *profile;
	struct pmu_counter counter[PMU_GP_MAX + PMU_FIXED_MAX];
	uint64_t select[PMU_GP_MAX]; /* IA32_PERFEVTSELx */
	uint64_t fixed_ctrl, global_ctrl, global_status;
	uint64_t pebs_enable, pebs_config; /* IA32_PEBS_ENABLE, PEBS_DATA_CFG */
	uint64_t pebs_armed;   /* counters that have overflowed: the next event
				  of each makes a PEBS record */
	uint64_t stuck_resets; /* resets of bit 55 that will still fail */
	uint32_t wanted;       /* signals that a counter counts now: bits */
};

/* Counters and controls after power-up or RESET; PROFILE must outlive PMU. */
void pmu_reset(struct pmu *pmu, const struct profile *profile);

bool pmu_owns_msr(uint32_t index);

/*
 * RDMSR and WRMSR of an MSR that the unit owns.  FAULT_GP: the processor has no such
 * MSR, it is read-only, or VALUE sets a reserved bit; nothing changes then.  The CPU
 * has reported everything that happened before.
 */
enum fault pmu_rdmsr(const struct pmu *pmu, uint32_t index, uint64_t *value);
enum fault pmu_wrmsr(struct pmu *pmu, uint32_t index, uint64_t value);

/*
 * RDPMC of the counter that ECX names; FAULT_GP: no such counter.  Whether the
 * privilege level allows RDPMC is the CPU's to check.
 */
enum fault pmu_rdpmc(const struct pmu *pmu, uint32_t ecx, uint64_t *value);

/* Groups of an adaptive PEBS record: MSR_PEBS_DATA_CFG. */
#define PMU_PEBS_MEMORY TZ_BIT(0)
#define PMU_PEBS_GPR    TZ_BIT(1)

/* What a slice has caused: counters by their bits of IA32_PERF_GLOBAL_STATUS. */
struct pmu_outcome {
	uint64_t overflows;
	uint64_t pebs; /* a PEBS record is due for these: pmu_pebs_done() */
	bool pmi;      /* one of .overflows interrupts: raise one PMI */
};

/*
 * Counts SLICE, which the CPU executed in ring 0 or, if USER, outside it.  FREEZE:
 * IA32_DEBUGCTL.Freeze_PerfMon_On_PMI is set.
 */
struct pmu_outcome pmu_count(
    struct pmu *pmu, bool user, const struct pmu_slice *slice, bool freeze);

/*
 * The record for COUNTERS was written, and the counters start again from RESET, by
 * number of the counter.  True: one of them interrupts, too.
 */
bool pmu_pebs_done(struct pmu *pmu, uint64_t counters, const uint64_t *reset);

/* The record for COUNTERS could not be written: they go on without one. */
void pmu_pebs_lost(struct pmu *pmu, uint64_t counters);

/* The groups of an adaptive record (MSR_PEBS_DATA_CFG) for COUNTERS. */
uint64_t pmu_pebs_groups(const struct pmu *pmu, uint64_t counters);

/*
 * The bits of VALUE, written to an MSR of the unit, that processors have but that have
 * no model: load latency, XMM and LBR groups of a PEBS record, metrics of issue slots.
 */
uint64_t pmu_unmodelled(const struct pmu *pmu, uint32_t index, uint64_t value);

/* A PMI of another cause arrives: freezes the counters as an overflow would. */
void pmu_freeze(struct pmu *pmu);

/*
 * What can pass in ring 0 or, if USER, outside it before a counter may overflow:
 * instructions that retire, for a counter of them, and cycles, for one of a clock;
 * UINT64_MAX: any number.  TICKS: the most that REFERENCE or BUS advances in a cycle, at
 * least 1.
 */
struct pmu_room {
	uint64_t insns, cycles;
};
struct pmu_room pmu_room(const struct pmu *pmu, bool user, uint64_t ticks);

/* The counters that count now, by their bits of IA32_PERF_GLOBAL_STATUS. */
uint64_t pmu_counting(const struct pmu *pmu);

/*
 * The enabled counters whose overflow requests a PMI (that of a counter with PEBS does
 * not), by their bits of IA32_PERF_GLOBAL_STATUS.
 */
uint64_t pmu_interrupting(const struct pmu *pmu);

/*
 * Of pmu_interrupting(), the counter that is nearest to its overflow overflows at its
 * next event.  False: there is none, or it does so already; nothing changes.
 */
bool pmu_hasten(struct pmu *pmu);

/*
 * The event that general-purpose counter GP selects is none that the unit has: the
 * counter stands still, although it is enabled.
 */
bool pmu_is_unknown_event(const struct pmu *pmu, unsigned gp);

/* The PEBS index is at or beyond its threshold: OvfDSBuffer. */
void pmu_ds_overflow(struct pmu *pmu);

/*
 * A ToPA region with INT was filled, or a faulty part reports so.  The bit is
 * sticky, whether the LVT entry is masked or not.
 */
void pmu_topa_pmi(struct pmu *pmu);

/* A fault: the next RESETS writes of bit 55 to 390H do not clear it. */
void pmu_stick(struct pmu *pmu, uint64_t resets);

/* A hash of everything that decides what the unit does next. */
uint64_t pmu_hash(const struct pmu *pmu);

#endif
