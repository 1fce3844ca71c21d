/*
 * The numbers of Intel PT: addresses and bits of its MSRs, bits of a ToPA entry.
 * Only numbers, so that the verifier of a trace shares no rule with the packet
 * generator.
 *
 * Source: SDM vol. 3, 33.2.8 "Enabling and Configuration MSRs"; 33.2.7.2 "Table of
 * Physical Addresses (ToPA)"; vol. 4, table 2-2.
 */
#ifndef TOPAZ_EMU_BASE_RTIT_H
#define TOPAZ_EMU_BASE_RTIT_H

#include "emu/base/base.h"

#define MSR_RTIT_OUTPUT_BASE      UINT32_C(0x560)
#define MSR_RTIT_OUTPUT_MASK_PTRS UINT32_C(0x561)
#define MSR_RTIT_CTL              UINT32_C(0x570)
#define MSR_RTIT_STATUS           UINT32_C(0x571)
#define MSR_RTIT_CR3_MATCH        UINT32_C(0x572)
/* N: 0 to 3 */
#define MSR_RTIT_ADDR_A(n) (UINT32_C(0x580) + 2 * (n))
#define MSR_RTIT_ADDR_B(n) (UINT32_C(0x581) + 2 * (n))

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

/* The bits that enable TSC, MTC and CYC packets. */
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

/* SDM vol. 3, table "ToPA Table Entry Fields". */
#define TOPA_ENTRY_END            TZ_BIT(0)
#define TOPA_ENTRY_INTR           TZ_BIT(2)
#define TOPA_ENTRY_STOP           TZ_BIT(4)
#define TOPA_ENTRY_ADDRESS(entry) ((entry) & ~UINT64_C(0xfff))

#endif
