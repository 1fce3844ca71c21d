#include "driver/insntrace/core/config.h"

/* SDM vol. 3, 33.3.1 "Detection of Intel Processor Trace and Capability
 * Enumeration", tables "CPUID Leaf 14H" sub-leaves 0 and 1. */
#define LEAF7_EBX_PT        (UINT32_C(1) << 25)
#define PT0_EBX_CR3         (UINT32_C(1) << 0)
#define PT0_EBX_PSB_CYC     (UINT32_C(1) << 1)
#define PT0_EBX_IP_FILTER   (UINT32_C(1) << 2)
#define PT0_EBX_MTC         (UINT32_C(1) << 3)
#define PT0_EBX_PTWRITE     (UINT32_C(1) << 4)
#define PT0_EBX_POWER       (UINT32_C(1) << 5)
#define PT0_ECX_TOPA        (UINT32_C(1) << 0)
#define PT0_ECX_MENTRY      (UINT32_C(1) << 1)
#define PT1_EAX_RANGE_COUNT UINT32_C(7)

/* SDM vol. 1, 13.2 "Enumeration of CPU Support"; 13.5.6 "PT State": two ranges. */
#define XSAVE1_EAX_XSAVES (UINT32_C(1) << 3)
#define XSAVE1_ECX_PT     (UINT32_C(1) << 8)
#define THREAD_RANGES     2u

/* SDM vol. 3, 33.2.8.6 "IA32_RTIT_CR3_MATCH MSR": bits 4:0 are reserved. */
#define CR3_RESERVED UINT64_C(0x1f)

void
caps_decode(const struct cpuid_words *words, struct caps *caps)
{
	uint32_t ebx = words->pt0_ebx;
	uint32_t ranges = words->pt1_eax & PT1_EAX_RANGE_COUNT;

	*caps = (struct caps){ .trace = false };
	if ((words->leaf7_ebx & LEAF7_EBX_PT) == 0)
		return;
	caps->trace = (words->pt0_ecx & PT0_ECX_TOPA) != 0;
	caps->xsaves = (words->xsave1_eax & XSAVE1_EAX_XSAVES) != 0 &&
	    (words->xsave1_ecx & XSAVE1_ECX_PT) != 0;
	caps->one_ring = true;
	caps->topa_multi = (words->pt0_ecx & PT0_ECX_MENTRY) != 0;
	caps->cr3_filter = (ebx & PT0_EBX_CR3) != 0;
	caps->psb_cyc = (ebx & PT0_EBX_PSB_CYC) != 0;
	caps->ip_filter = (ebx & PT0_EBX_IP_FILTER) != 0;
	caps->mtc = (ebx & PT0_EBX_MTC) != 0;
	caps->ptwrite = (ebx & PT0_EBX_PTWRITE) != 0;
	caps->power = (ebx & PT0_EBX_POWER) != 0;
	if (caps->ip_filter)
		caps->range_count = ranges < INSNTRACE_RANGES_MAX
		    ? ranges
		    : INSNTRACE_RANGES_MAX;
	caps->mtc_map = words->pt1_eax >> 16;
	caps->cyc_map = words->pt1_ebx & 0xffff;
	caps->psb_map = words->pt1_ebx >> 16;
}

void
caps_meet(struct caps *caps, const struct caps *other)
{
	caps->trace &= other->trace;
	caps->xsaves &= other->xsaves;
	caps->one_ring &= other->one_ring;
	caps->topa_multi &= other->topa_multi;
	caps->cr3_filter &= other->cr3_filter;
	caps->psb_cyc &= other->psb_cyc;
	caps->ip_filter &= other->ip_filter;
	caps->mtc &= other->mtc;
	caps->ptwrite &= other->ptwrite;
	caps->power &= other->power;
	if (other->range_count < caps->range_count)
		caps->range_count = other->range_count;
	caps->mtc_map &= other->mtc_map;
	caps->cyc_map &= other->cyc_map;
	caps->psb_map &= other->psb_map;
}

void
caps_of_thread(struct caps *caps)
{
	caps->cr3_filter = false;
	caps->one_ring = false;
	if (caps->range_count > THREAD_RANGES)
		caps->range_count = THREAD_RANGES;
}

uint64_t
range_last(const struct insntrace_range *range)
{
	return range->start + range->bytes - 1;
}

/* The bits of IA32_RTIT_CTL that a configuration may set. */
static uint64_t
ctl_allowed(const struct caps *caps)
{
	uint64_t allowed = PT_CTL_OS | PT_CTL_USER | PT_CTL_TSCEN |
	    PT_CTL_DISRETC | PT_CTL_BRANCHEN;

	if (caps->cr3_filter)
		allowed |= PT_CTL_CR3FILTER;
	if (caps->psb_cyc)
		allowed |= PT_CTL_CYCEN | PT_CTL_CYCTHRESH | PT_CTL_PSBFREQ;
	if (caps->mtc)
		allowed |= PT_CTL_MTCEN | PT_CTL_MTCFREQ;
	if (caps->ptwrite)
		allowed |= PT_CTL_PTWEN | PT_CTL_FUPONPTW;
	if (caps->power)
		allowed |= PT_CTL_PWREVTEN;
	for (uint32_t i = 0; i < caps->range_count; i++)
		allowed |= PT_CTL_ADDR_CFG(i);
	return allowed;
}

static uint32_t
ctl_field(uint64_t ctl, uint64_t mask)
{
	return (uint32_t)((ctl & mask) / (mask & -mask));
}

/* SDM vol. 3, 33.2.8.2: a value that is not in its bitmap is #GP, even if the
 * packet is disabled. A CPU without the field permits only 0. */
static bool
frequency_allowed(uint64_t ctl, uint64_t mask, uint32_t map)
{
	uint32_t value = ctl_field(ctl, mask);

	return value == 0 || (map >> value & 1) != 0;
}

static bool
ctl_good(const struct caps *caps, uint64_t ctl)
{
	const uint64_t rings = PT_CTL_OS | PT_CTL_USER;

	if ((ctl & ~ctl_allowed(caps)) != 0)
		return false;
	if (caps->one_ring ? (ctl & rings) == 0 : (ctl & rings) != rings)
		return false;
	/* SDM vol. 3, 33.3.1: without MTC, BranchEn = 0 is #GP. */
	if (!caps->mtc && (ctl & PT_CTL_BRANCHEN) == 0)
		return false;
	if ((ctl & PT_CTL_FUPONPTW) != 0 && (ctl & PT_CTL_PTWEN) == 0)
		return false;
	return frequency_allowed(ctl, PT_CTL_MTCFREQ, caps->mtc_map) &&
	    frequency_allowed(ctl, PT_CTL_CYCTHRESH, caps->cyc_map) &&
	    frequency_allowed(ctl, PT_CTL_PSBFREQ, caps->psb_map);
}

/* 48 bits: no 5-level paging. */
static bool
canonical(uint64_t address)
{
	uint64_t top = address >> 47;

	return top == 0 || top == 0x1ffff;
}

/* If used: not empty and within one canonical half; if unused: all 0. */
static bool
range_good(const struct insntrace_range *range, uint32_t cfg)
{
	uint64_t last = range_last(range);

	if (cfg == PT_ADDR_CFG_NONE)
		return range->start == 0 && range->bytes == 0;
	return cfg <= PT_ADDR_CFG_STOP && range->bytes != 0 &&
	    last >= range->start && canonical(range->start) &&
	    canonical(last) && range->start >> 63 == last >> 63;
}

static bool
filters_good(const struct insntrace_config *config)
{
	bool cr3 = (config->ctl & PT_CTL_CR3FILTER) != 0;

	/* CR3 is never 0: such a filter would match nothing. */
	if (cr3 == (config->cr3_match == 0) ||
	    (config->cr3_match & CR3_RESERVED) != 0)
		return false;
	for (uint32_t i = 0; i < INSNTRACE_RANGES_MAX; i++) {
		if (!range_good(&config->range[i],
			ctl_field(config->ctl, PT_CTL_ADDR_CFG(i))))
			return false;
	}
	return true;
}

static bool
size_good(const struct insntrace_config *config)
{
	return config->chunk_count != 0 &&
	    config->chunk_count <= INSNTRACE_CHUNKS_MAX &&
	    config->chunk_order <= INSNTRACE_ORDER_MAX;
}

bool
config_registers_good(
    const struct caps *caps, const struct insntrace_config *config)
{
	return ctl_good(caps, config->ctl) && filters_good(config);
}

enum insntrace_status
config_check(const struct caps *caps, const struct insntrace_config *config)
{
	if (!size_good(config) || config->stop_on_full > 1 ||
	    config->reserved != 0)
		return INSNTRACE_INVALID_ARGS;
	/* With fewer chunks the number of wraps is ambiguous. */
	if (config->stop_on_full == 0 &&
	    config->chunk_count < INSNTRACE_CIRCULAR_CHUNKS_MIN)
		return INSNTRACE_INVALID_ARGS;
	/* Such a CPU permits only one output entry and the END entry. */
	if (!caps->topa_multi && config->chunk_count > 1)
		return INSNTRACE_NOT_SUPPORTED;
	if (!config_registers_good(caps, config))
		return INSNTRACE_INVALID_ARGS;
	return INSNTRACE_OK;
}
