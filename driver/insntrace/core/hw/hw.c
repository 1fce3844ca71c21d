#include "driver/insntrace/core/hw/hw.h"

#include "driver/insntrace/core/cpu.h"
#include "driver/insntrace/core/services.h"

/* SDM vol. 4, table 2-2 "IA-32 Architectural MSRs". */
#define MSR_GLOBAL_STATUS       0x38eu
#define MSR_GLOBAL_STATUS_RESET 0x390u
#define MSR_RTIT_OUTPUT_BASE    0x560u
#define MSR_RTIT_MASK_PTRS      0x561u
#define MSR_RTIT_CTL            0x570u
#define MSR_RTIT_STATUS         0x571u
#define MSR_RTIT_CR3_MATCH      0x572u
#define MSR_RTIT_ADDR_A(n)      (0x580u + 2 * (n))
#define MSR_RTIT_ADDR_B(n)      (0x581u + 2 * (n))

/* SDM vol. 3, 33.2.8.4 "IA32_RTIT_STATUS MSR". */
#define STATUS_STOPPED (UINT64_C(1) << 5)

/* SDM vol. 3, 33.2.7.2, "ToPA PMI": Trace_ToPA_PMI. */
#define GLOBAL_STATUS_TOPA_PMI (UINT64_C(1) << 55)

#define CPUID_LEAF_EXTENDED    7u
#define CPUID_LEAF_XSAVE       0xdu
#define CPUID_LEAF_PT          0x14u

static struct caps cpu_caps[OS_CPUS_MAX];

static void
read_caps_here(void)
{
	struct cpuid_words words = { .leaf7_ebx = 0 };
	uint32_t leaf_max = cpu_cpuid(0, 0).eax;
	struct cpu_leaf pt, xsave;

	if (leaf_max >= CPUID_LEAF_EXTENDED)
		words.leaf7_ebx = cpu_cpuid(CPUID_LEAF_EXTENDED, 0).ebx;
	if (leaf_max >= CPUID_LEAF_XSAVE) {
		xsave = cpu_cpuid(CPUID_LEAF_XSAVE, 1);
		words.xsave1_eax = xsave.eax;
		words.xsave1_ecx = xsave.ecx;
	}
	if (leaf_max >= CPUID_LEAF_PT) {
		pt = cpu_cpuid(CPUID_LEAF_PT, 0);
		words.pt0_ebx = pt.ebx;
		words.pt0_ecx = pt.ecx;
		if (pt.eax >= 1) {
			pt = cpu_cpuid(CPUID_LEAF_PT, 1);
			words.pt1_eax = pt.eax;
			words.pt1_ebx = pt.ebx;
		}
	}
	caps_decode(&words, &cpu_caps[os_cpu()]);
}

void
hw_read_caps(struct caps *caps)
{
	os_call_all(read_caps_here);
	*caps = cpu_caps[0];
	for (uint32_t i = 1; i < os_cpu_count(); i++)
		caps_meet(caps, &cpu_caps[i]);
}

static void
write_filters(const struct caps *caps, const struct hw_setup *setup)
{
	/* SDM vol. 3, 33.3.1: these are #GP on a CPU without the filter. */
	if (caps->cr3_filter)
		cpu_wrmsr(MSR_RTIT_CR3_MATCH, setup->cr3_match);
	for (uint32_t i = 0; i < caps->range_count; i++) {
		cpu_wrmsr(MSR_RTIT_ADDR_A(i), setup->addr_a[i]);
		cpu_wrmsr(MSR_RTIT_ADDR_B(i), setup->addr_b[i]);
	}
}

void
hw_start(const struct caps *caps, const struct hw_setup *setup)
{
	cpu_wrmsr(MSR_RTIT_OUTPUT_BASE, setup->output_base);
	cpu_wrmsr(MSR_RTIT_MASK_PTRS, 0);
	/* Stopped and Error would keep tracing off, and an old PacketByteCnt
	 * would delay the first PSB: SDM vol. 3, 33.2.8.4. */
	cpu_wrmsr(MSR_RTIT_STATUS, 0);
	write_filters(caps, setup);
	hw_pmi_acknowledge();
	os_pmi_unmask();
	cpu_wrmsr(MSR_RTIT_CTL, setup->ctl);
}

void
hw_stop(const struct hw_setup *setup)
{
	/* SDM vol. 3, 33.2.8.2: TraceEn 1 to 0 flushes what the CPU holds. */
	cpu_wrmsr(MSR_RTIT_CTL, setup->ctl & ~PT_CTL_TRACEEN);
}

void
hw_capture(struct hw_capture *capture)
{
	capture->status = cpu_rdmsr(MSR_RTIT_STATUS);
	capture->output_base = cpu_rdmsr(MSR_RTIT_OUTPUT_BASE);
	capture->mask_ptrs = cpu_rdmsr(MSR_RTIT_MASK_PTRS);
}

void
hw_clear(const struct caps *caps)
{
	static const struct hw_setup nothing;

	cpu_wrmsr(MSR_RTIT_CTL, 0);
	cpu_wrmsr(MSR_RTIT_OUTPUT_BASE, 0);
	cpu_wrmsr(MSR_RTIT_MASK_PTRS, 0);
	cpu_wrmsr(MSR_RTIT_STATUS, 0);
	write_filters(caps, &nothing);
}

uint64_t
hw_pause(void)
{
	uint64_t ctl = cpu_rdmsr(MSR_RTIT_CTL);

	if ((ctl & PT_CTL_TRACEEN) != 0)
		cpu_wrmsr(MSR_RTIT_CTL, ctl & ~PT_CTL_TRACEEN);
	return ctl;
}

void
hw_resume(uint64_t ctl)
{
	/* SDM vol. 3, 33.2.7.2, "ToPA STOP": the offset equals the region's
	 * size, and output cannot continue there. */
	if ((ctl & PT_CTL_TRACEEN) != 0 &&
	    (cpu_rdmsr(MSR_RTIT_STATUS) & STATUS_STOPPED) == 0)
		cpu_wrmsr(MSR_RTIT_CTL, ctl);
}

bool
hw_pmi_pending(void)
{
	return (cpu_rdmsr(MSR_GLOBAL_STATUS) & GLOBAL_STATUS_TOPA_PMI) != 0;
}

void
hw_pmi_acknowledge(void)
{
	cpu_wrmsr(MSR_GLOBAL_STATUS_RESET, GLOBAL_STATUS_TOPA_PMI);
}
