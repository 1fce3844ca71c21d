/*
 * The trace MSRs as values and rules: which exist on a profile, what WRMSR
 * accepts. What a write sets off (packets, output) is the business
 * of msr_access.c and enable.c.
 */
#ifndef TOPAZ_EMU_PT_MSR_H
#define TOPAZ_EMU_PT_MSR_H

#include "emu/base/base.h"
#include "emu/profile/profile.h"

enum msr_id {
#define MSR(index, name, exists, arg, cite) MSR_##name,
#include "emu/pt/msr.def"
#undef MSR
	MSR_COUNT
};

/* SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define CTL_TRACE_EN      TZ_BIT(0)
#define CTL_CYC_EN        TZ_BIT(1)
#define CTL_OS            TZ_BIT(2)
#define CTL_USER          TZ_BIT(3)
#define CTL_PWR_EVT_EN    TZ_BIT(4)
#define CTL_FUP_ON_PTW    TZ_BIT(5)
#define CTL_FABRIC_EN     TZ_BIT(6)
#define CTL_CR3_FILTER    TZ_BIT(7)
#define CTL_TOPA          TZ_BIT(8)
#define CTL_MTC_EN        TZ_BIT(9)
#define CTL_TSC_EN        TZ_BIT(10)
#define CTL_DIS_RETC      TZ_BIT(11)
#define CTL_PTW_EN        TZ_BIT(12)
#define CTL_BRANCH_EN     TZ_BIT(13)
#define CTL_EVENT_EN      TZ_BIT(31)
#define CTL_ADDR_CFGS     (UINT64_C(0xffff) << 32)
#define CTL_DIS_TNT       TZ_BIT(55)
#define CTL_INJECT        TZ_BIT(56)
#define CTL_PSB_FREQ(ctl) ((unsigned)tz_bits(ctl, 27, 24))
#define CTL_ADDR_CFG(ctl, n) \
 ((unsigned)tz_bits(ctl, 35 + 4 * (n), 32 + 4 * (n)))

/* What TSC, MTC and CYC packets depend on. */
#define CTL_TIMING          (CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN)
#define CTL_MTC_FREQ(ctl)   ((unsigned)tz_bits(ctl, 17, 14))
#define CTL_CYC_THRESH(ctl) ((unsigned)tz_bits(ctl, 22, 19))

/* SDM vol. 3, 33.2.8.4 "IA32_RTIT_STATUS MSR". */
#define STATUS_FILTER_EN  TZ_BIT(0)
#define STATUS_CONTEXT_EN TZ_BIT(1)
#define STATUS_TRIGGER_EN TZ_BIT(2)
#define STATUS_ENABLES \
 (STATUS_FILTER_EN | STATUS_CONTEXT_EN | STATUS_TRIGGER_EN)
#define STATUS_ERROR       TZ_BIT(4)
#define STATUS_STOPPED     TZ_BIT(5)
#define STATUS_PEND_PSB    TZ_BIT(6)
#define STATUS_PEND_PMI    TZ_BIT(7) /* PendTopaPMI */
#define STATUS_COUNT_SHIFT 32
#define STATUS_COUNT_MASK  UINT64_C(0x1ffff)

/* Bits 6:0 of OUTPUT_MASK_PTRS read as 1. */
#define MASK_PTRS_LOW UINT64_C(0x7f)

/* MSR_COUNT where INDEX is no trace MSR. */
enum msr_id msr_find(uint32_t index);

/* Can the MSR be read and written at all on this profile? */
bool msr_exists(const struct profile *profile, enum msr_id id);

/*
 * May VALUE be written where CTL is the present IA32_RTIT_CTL?  Covers every
 * #GP condition but CPL, and is true for the write of CTL's own value.
 */
bool msr_accepts(const struct profile *profile, enum msr_id id, uint64_t ctl,
    uint64_t value);

/* What the MSR holds after an accepted write of VALUE over OLD. */
uint64_t msr_merge(enum msr_id id, uint64_t old, uint64_t value);

/* Address ranges that the profile has (CPUID.(14H,1):EAX[2:0]). */
unsigned msr_range_count(const struct profile *profile);

#endif
