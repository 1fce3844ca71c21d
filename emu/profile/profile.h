/*
 * CPU profiles: what distinguishes one processor model from another, as data.
 * A profile says which CPUID leaves the guest sees and which choices the PT unit
 * makes where the architecture leaves one.  It holds no state.
 */
#ifndef TOPAZ_EMU_PROFILE_PROFILE_H
#define TOPAZ_EMU_PROFILE_PROFILE_H

#include "emu/base.h"

struct profile {
	const char *name;   /* as on the command line: "skylake" */
	const char *title;  /* "Skylake client, 06_5EH" */
	uint32_t signature; /* CPUID.1:EAX */
	uint8_t maxphyaddr; /* bits, CPUID.80000008H:EAX[7:0] */

	/* CPUID leaf 14H: sub-leaf 0 EBX and ECX, sub-leaf 1 EAX and EBX. */
	uint32_t pt_ebx, pt_ecx, pt1_eax, pt1_ebx;
	/* CPUID leaf 15H; crystal_hz also where ECX reads 0. */
	uint32_t tsc_den, tsc_num, cpuid15_ecx, crystal_hz;
	uint32_t cbr; /* core:bus ratio at the fixed frequency, 100 MHz units */
	uint64_t xss_mask; /* CPUID.(0DH,1):EDX:ECX */

	bool pgd_jcc_ip; /* TIP.PGD at a Jcc carries the IP */
	uint32_t
	    pmi_skid_insns; /* from a filled INT region to the PMI's delivery:
				    instructions (REP iterations count) */
};

/* CPUID.14H:EBX and :ECX bits (SDM vol. 3, 33.3.1 "Detection of Intel PT"). */
#define PROFILE_PT_EBX_CR3      TZ_BIT(0)
#define PROFILE_PT_EBX_PSB      TZ_BIT(1)
#define PROFILE_PT_EBX_IPFILT   TZ_BIT(2)
#define PROFILE_PT_EBX_MTC      TZ_BIT(3)
#define PROFILE_PT_EBX_PTWRITE  TZ_BIT(4)
#define PROFILE_PT_EBX_PWR      TZ_BIT(5)
#define PROFILE_PT_EBX_PRESERVE TZ_BIT(6)
#define PROFILE_PT_EBX_EVENT    TZ_BIT(7)
#define PROFILE_PT_EBX_DISTNT   TZ_BIT(8)
#define PROFILE_PT_ECX_TOPA     TZ_BIT(0)
#define PROFILE_PT_ECX_MENTRY   TZ_BIT(1)
#define PROFILE_PT_ECX_SINGLE   TZ_BIT(2)
#define PROFILE_PT_ECX_FABRIC   TZ_BIT(3)
#define PROFILE_PT_ECX_LIP      TZ_BIT(31)

/* The profile of that name, or NULL. */
const struct profile *profile_find(const char *name);

/* The INDEX-th profile, or NULL past the last: for listing. */
const struct profile *profile_at(size_t index);

/* What CPUID depends on beside the profile. */
struct profile_cpu {
	uint32_t apic_id;
	uint32_t cpu_count; /* logical processors of the machine */
	uint64_t xcr0, xss;
	bool osxsave;   /* CR4.OSXSAVE */
	bool x2apic_on; /* IA32_APIC_BASE[10] */
};

/*
 * CPUID as the guest sees it: out = EAX, EBX, ECX, EDX.  A leaf above the highest
 * basic or extended leaf answers with the highest basic leaf's data, as Intel
 * processors do (SDM vol. 2, "CPUID").
 */
void profile_cpuid(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

#endif
