/*
 * Row left-behind: what the driver leaves in registers of CPUs that do not trace any
 * more; and what a register holds, for row config-applied.
 */
#include "emu/pmu/pmu.h"
#include "harness/check/internal.h"
#include "harness/check/msr.h"

#include <inttypes.h>

#define LVT_MASKED TZ_BIT(16)

uint64_t
registers_value(const struct machine_pt *pt, uint32_t msr, uint64_t ctl)
{
	unsigned range = (msr - MSR_RTIT_ADDR_A(0)) / 2;

	switch (msr) {
	case MSR_RTIT_OUTPUT_BASE:
		return pt->output_base;
	case MSR_RTIT_OUTPUT_MASK_PTRS:
		return pt->mask_ptrs;
	case MSR_RTIT_CTL:
		return ctl;
	case MSR_RTIT_STATUS:
		return pt->status;
	case MSR_RTIT_CR3_MATCH:
		return pt->cr3_match;
	case PMU_MSR_GLOBAL_STATUS:
		return pt->global_status;
	case MSR_LVT_PC:
		return pt->lvt_pc;
	case DS_MSR_AREA:
		return pt->ds_area;
	case MSR_XSS:
		return pt->xss;
	default:
		TZ_ASSERT(msr >= MSR_RTIT_ADDR_A(0) &&
		    range < TZ_ARRAY_LEN(pt->addr_a));
		return msr % 2 == 0 ? pt->addr_a[range] : pt->addr_b[range];
	}
}

/* Of a CPU that has not traced, another kernel may have left the trace unit's so. */
static bool
is_of_unit(uint32_t msr)
{
	return msr != MSR_LVT_PC && msr != DS_MSR_AREA && msr != MSR_XSS;
}

static void
registers_judge(struct check *check, unsigned cpu, const struct machine_pt *pt,
    const struct check_expect *expect, const char *when)
{
	uint64_t found = registers_value(pt, expect->msr, pt->ctl);
	struct check_place at = site_here(check);

	if ((found & expect->mask) == expect->value ||
	    (is_of_unit(expect->msr) && !check->core.cpu[cpu].trace.traced))
		return;
	at.cpu = (uint16_t)cpu;
	at.object = expect->field;
	violation_add(check, CHECK_LEFT_BEHIND, 0, &at,
	    "%s of CPU %u is %#" PRIx64 " (of bits %#" PRIx64
	    ") %s, not %#" PRIx64,
	    expect->field, cpu, found & expect->mask, expect->mask, when,
	    expect->value);
}

/* What EXPECT says holds on each CPU that does not trace. */
static void
registers_judge_all(struct check *check, const struct check_expect *expect,
    size_t count, const char *when)
{
	const struct check_reads *reads = &check->config.reads;
	struct machine_pt pt;

	for (unsigned i = 0; i < check->config.cpu_count; i++) {
		if (check->core.cpu[i].trace.state == TRACING_ON)
			continue;
		reads->pt(reads->arg, i, &pt);
		/* What is pending will be handled. */
		if (pt.in_nmi || pt.nmi_pending)
			continue;
		for (size_t j = 0; j < count; j++)
			registers_judge(check, i, &pt, &expect[j], when);
	}
}

void
registers_stopped(struct check *check)
{
	registers_judge_all(check, check->config.leaves,
	    check->config.leaves_count, "after tracing was stopped");
}

/*
 * Whatever the manifest says: without the driver nobody handles a PMI, and bit 55 that is
 * set already hides the next one.
 */
void
registers_unloaded(struct check *check)
{
	static const struct check_expect any[] = {
		{ PMU_MSR_GLOBAL_STATUS, PMU_STATUS_TOPA_PMI, 0,
		    "GLOBAL_STATUS[55]" },
		{ MSR_LVT_PC, LVT_MASKED, LVT_MASKED,
		    "the LVT performance entry's mask" },
	};
	static const char when[] = "when the driver is unloaded";

	registers_judge_all(check, any, TZ_ARRAY_LEN(any), when);
	registers_judge_all(
	    check, check->config.leaves, check->config.leaves_count, when);
}

/* Modules are unloaded before the guest shuts down. */
void
registers_exit(struct check *check, const struct event *event)
{
	(void)event;
	registers_unloaded(check);
}
