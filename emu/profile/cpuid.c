#include "emu/profile/profile.h"

#include <string.h>

/*
 * CPUID leaves that all profiles have besides those of PT: a 64-bit processor with
 * SSE2 state, FSGSBASE, x2APIC and XSAVES, and nothing that the machine does not
 * execute.  Not reported: MCA, VMX, SMX, AVX, 1-GiB pages.
 *
 * Source: SDM vol. 2A, "CPUID - CPU Identification", and the values of Skylake.
 */

#define CPUID_BASIC_MAX    PROFILE_LEAF_HYBRID
#define CPUID_EXTENDED     UINT32_C(0x80000000)
#define CPUID_EXTENDED_MAX UINT32_C(0x80000008)

#define XSAVE_LEGACY_BYTES 576 /* x87, SSE and the header */
#define XSAVE_PT_BYTES     128
#define XSAVE_PT           TZ_BIT(8)

enum { EAX = PROFILE_EAX, EBX, ECX, EDX };

typedef void cpuid_fn(const struct profile *profile,
    const struct profile_cpu *cpu, uint32_t leaf, uint32_t subleaf,
    uint32_t out[4]);

/* Bits of an APIC ID that number COUNT logical processors. */
static uint32_t
cpuid_id_bits(uint32_t count)
{
	uint32_t bits = 0;

	TZ_ASSERT(count >= 1);
	TZ_ASSERT(count <= 0x8000);
	while ((UINT32_C(1) << bits) < count)
		bits++;
	return bits;
}

static void
cpuid_vendor(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	(void)cpu;
	(void)leaf;
	(void)subleaf;
	TZ_ASSERT(profile->leaf_max <= CPUID_BASIC_MAX);
	out[EAX] = profile->leaf_max;
	out[EBX] = 0x756e6547; /* "Genu" */
	out[EDX] = 0x49656e69; /* "ineI" */
	out[ECX] = 0x6c65746e; /* "ntel" */
}

static void
cpuid_features(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	(void)leaf;
	(void)subleaf;
	TZ_ASSERT(cpu->cpu_count >= 1);
	out[EAX] = profile->signature;
	out[EBX] = (cpu->apic_id & 0xff) << 24 |
	    (UINT32_C(1) << cpuid_id_bits(cpu->cpu_count) & 0xff) << 16 |
	    8 << 8; /* CLFLUSH: 8 * 8 bytes */
	/* SSE3, CMPXCHG16B, x2APIC; PDCM; XSAVE; OSXSAVE mirrors CR4. */
	out[ECX] = TZ_BIT(0) | TZ_BIT(13);
	/* A kernel would use x2APIC mode, which the machine does not have. */
	if (!cpu->board)
		out[ECX] |= TZ_BIT(21);
	if (tz_bits(profile->perfmon_eax, 7, 0) >= 2)
		out[ECX] |= TZ_BIT(15);
	if (profile->ds && profile->ds_cpl)
		out[ECX] |= TZ_BIT(2) | TZ_BIT(4);
	if (profile->xsave)
		out[ECX] |= TZ_BIT(26);
	if (cpu->osxsave)
		out[ECX] |= TZ_BIT(27);
	if (cpu->board)
		out[ECX] |= TZ_BIT(24); /* TSC deadline */
	/* FPU, DE, PSE, TSC, MSR, PAE, CX8, APIC, SEP, MTRR, PGE, CMOV, PAT. */
	out[EDX] = TZ_BIT(0) | TZ_BIT(2) | TZ_BIT(3) | TZ_BIT(4) | TZ_BIT(5) |
	    TZ_BIT(6) | TZ_BIT(8) | TZ_BIT(9) | TZ_BIT(11) | TZ_BIT(12) |
	    TZ_BIT(13) | TZ_BIT(15) | TZ_BIT(16);
	/* CLFLUSH, MMX, FXSR, SSE, SSE2; HTT: the count above is valid. */
	out[EDX] |= TZ_BIT(19) | TZ_BIT(23) | TZ_BIT(24) | TZ_BIT(25) |
	    TZ_BIT(26);
	if (profile->ds)
		out[EDX] |= TZ_BIT(21);
	if (cpu->cpu_count > 1)
		out[EDX] |= TZ_BIT(28);
}

static void
cpuid_cache_descriptors(const struct profile *profile,
    const struct profile_cpu *cpu, uint32_t leaf, uint32_t subleaf,
    uint32_t out[4])
{
	(void)profile;
	(void)cpu;
	(void)leaf;
	(void)subleaf;
	out[EAX] = 0x76036301;
	out[EBX] = 0x00f0b5ff;
	out[EDX] = 0x00c30000;
}

static void
cpuid_caches(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	/* Type and level, ways and line size, sets: L1D, L1I, L2, L3. */
	static const uint32_t caches[][3] = {
		{ 0x121, 0x01c0003f, 0x3f },
		{ 0x122, 0x01c0003f, 0x3f },
		{ 0x143, 0x00c0003f, 0x3ff },
		{ 0x163, 0x03c0003f, 0x1fff },
	};
	uint32_t cores = (UINT32_C(1) << cpuid_id_bits(cpu->cpu_count)) - 1;

	(void)profile;
	(void)leaf;
	TZ_ASSERT(cpu->cpu_count >= 1);
	if (subleaf >= TZ_ARRAY_LEN(caches))
		return;
	out[EAX] = caches[subleaf][0] | (cores & 0x3f) << 26;
	/* All CPUs share the last level. */
	if (subleaf == 3)
		out[EAX] |= (cores & 0xfff) << 14;
	out[EBX] = caches[subleaf][1];
	out[ECX] = caches[subleaf][2];
}

static void
cpuid_thermal(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	(void)profile;
	(void)cpu;
	(void)leaf;
	(void)subleaf;
	out[EAX] = TZ_BIT(2); /* ARAT: the APIC timer never stops */
}

static void
cpuid_extended_features(const struct profile *profile,
    const struct profile_cpu *cpu, uint32_t leaf, uint32_t subleaf,
    uint32_t out[4])
{
	(void)leaf;
	if (subleaf != 0 || profile->leaf_max < 0x0d)
		return;
	out[EBX] = TZ_BIT(0); /* FSGSBASE */
	if (cpu->board && profile_has_speculation_msrs(profile)) {
		out[EBX] |= TZ_BIT(1); /* TSC_ADJUST */
		/* IBRS and IBPB, STIBP, ARCH_CAPABILITIES */
		out[EDX] = TZ_BIT(26) | TZ_BIT(27) | TZ_BIT(29);
	}
	if (profile->pt)
		out[EBX] |= TZ_BIT(25); /* Intel PT */
	if (profile->hybrid)
		out[EDX] |= TZ_BIT(15);
}

/*
 * Architectural events that are not available: references to the last-level cache,
 * its misses, mispredicted branches, and, where the vector has an eighth bit, slots.
 */
#define PERFMON_ABSENT (TZ_BIT(3) | TZ_BIT(4) | TZ_BIT(6) | TZ_BIT(7))

static void
cpuid_perfmon(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	(void)cpu;
	(void)leaf;
	(void)subleaf;
	out[EAX] = profile->perfmon_eax;
	out[EDX] = profile->perfmon_edx;
	if (profile->announced_gp != 0)
		out[EAX] = (out[EAX] & ~UINT32_C(0xff00)) |
		    profile->announced_gp << 8;
	if (profile->announced_fixed != 0)
		out[EDX] = (out[EDX] & ~UINT32_C(0x1f)) |
		    profile->announced_fixed;
	if (tz_bits(profile->perfmon_eax, 7, 0) == 0)
		return;
	out[EBX] = PERFMON_ABSENT &
	    ((UINT32_C(1) << tz_bits(profile->perfmon_eax, 31, 24)) - 1);
	/* From version 5 on, a bit for each fixed counter. */
	if (tz_bits(profile->perfmon_eax, 7, 0) >= 5)
		out[ECX] = (UINT32_C(1) << tz_bits(out[EDX], 4, 0)) - 1;
}

static void
cpuid_topology(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	(void)profile;
	(void)leaf;
	TZ_ASSERT(cpu->cpu_count >= 1);
	out[ECX] = subleaf & 0xff;
	out[EDX] = cpu->apic_id;
	if (subleaf == 0) { /* one thread a core */
		out[EBX] = 1;
		out[ECX] |= 1 << 8;
	} else if (subleaf == 1) {
		out[EAX] = cpuid_id_bits(cpu->cpu_count);
		out[EBX] = cpu->cpu_count;
		out[ECX] |= 2 << 8;
	}
}

static void
cpuid_xsave(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	(void)leaf;
	if (!profile->xsave)
		return;
	if (subleaf == 0) {
		out[EAX] = 3; /* x87 and SSE */
		out[EBX] = XSAVE_LEGACY_BYTES;
		out[ECX] = XSAVE_LEGACY_BYTES;
	} else if (subleaf == 1) {
		out[EAX] = profile->xsave1_eax;
		/* SDM vol. 2, "CPUID": EBX is that of XSAVES' area. */
		if (!(profile->xsave1_eax & PROFILE_XSAVE1_XSAVES))
			return;
		out[EBX] = XSAVE_LEGACY_BYTES;
		if (cpu->xss & XSAVE_PT)
			out[EBX] += XSAVE_PT_BYTES;
		/* Of the supervisor components only PT is modelled. */
		out[ECX] = (uint32_t)(profile->xss_mask & XSAVE_PT);
	} else if (subleaf == 8 && (profile->xss_mask & XSAVE_PT) != 0) {
		out[EAX] = XSAVE_PT_BYTES;
		out[ECX] = 1; /* supervisor state, no alignment */
	}
}

static void
cpuid_pt(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	(void)cpu;
	(void)leaf;
	if (subleaf == 0) {
		out[EAX] = profile->pt1_eax != 0 || profile->pt1_ebx != 0;
		out[EBX] = profile->pt_ebx;
		out[ECX] = profile->pt_ecx;
	} else if (subleaf == 1) {
		out[EAX] = profile->pt1_eax;
		out[EBX] = profile->pt1_ebx;
	}
}

static void
cpuid_tsc(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	(void)cpu;
	(void)leaf;
	(void)subleaf;
	out[EAX] = profile->tsc_den;
	out[EBX] = profile->tsc_num;
	out[ECX] = profile->cpuid15_ecx;
}

static void
cpuid_frequency(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	(void)cpu;
	(void)leaf;
	(void)subleaf;
	/* Model choice: a part without turbo, at its ratio of 100 MHz. */
	out[EAX] = profile->cbr * 100;
	out[EBX] = profile->cbr * 100;
	out[ECX] = 100;
}

static void
cpuid_hybrid(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	(void)cpu;
	(void)leaf;
	if (subleaf == 0 && profile->hybrid)
		out[EAX] = (uint32_t)profile->core_type << 24 |
		    profile->native_model;
}

static void
cpuid_extended(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	char brand[48] = { 0 };

	(void)cpu;
	(void)subleaf;
	TZ_ASSERT(leaf >= CPUID_EXTENDED && leaf <= CPUID_EXTENDED_MAX);
	TZ_ASSERT(strlen(profile->title) < sizeof(brand));
	memcpy(brand, profile->title, strlen(profile->title));
	switch (leaf - CPUID_EXTENDED) {
	case 0:
		out[EAX] = CPUID_EXTENDED_MAX;
		break;
	case 1:
		out[ECX] = TZ_BIT(0);                            /* LAHF */
		out[EDX] = TZ_BIT(11) | TZ_BIT(20) | TZ_BIT(29); /* SYSCALL, */
		break;                                           /* NX, LM */
	case 2:
	case 3:
	case 4:
		memcpy(out, brand + 16 * (leaf - CPUID_EXTENDED - 2), 16);
		break;
	case 6:
		out[ECX] = 0x01006040; /* L2: 256 KiB, 64-byte lines */
		break;
	case 7:
		out[EDX] = TZ_BIT(8); /* invariant TSC */
		break;
	case 8:
		out[EAX] = 48 << 8 | profile->maxphyaddr;
		break;
	default:
		break;
	}
}

/* By basic leaf; a leaf without a function reads as 0. */
static cpuid_fn *const cpuid_leaves[CPUID_BASIC_MAX + 1] = {
	[0x00] = cpuid_vendor,
	[0x01] = cpuid_features,
	[0x02] = cpuid_cache_descriptors,
	[0x04] = cpuid_caches,
	[0x06] = cpuid_thermal,
	[0x07] = cpuid_extended_features,
	[0x0a] = cpuid_perfmon,
	[0x0b] = cpuid_topology,
	[0x0d] = cpuid_xsave,
	[0x14] = cpuid_pt,
	[0x15] = cpuid_tsc,
	[0x16] = cpuid_frequency,
	[PROFILE_LEAF_HYBRID] = cpuid_hybrid,
};

/* True if LEAF has sub-leaves. */
static bool
cpuid_has_subleaves(uint32_t leaf)
{
	return leaf == 0x04 || leaf == 0x07 || leaf == 0x0b || leaf == 0x0d ||
	    leaf == 0x14 || leaf == 0x1a;
}

/* Hides the features that the profile was made without. */
static void
cpuid_hide(const struct profile *profile, uint32_t leaf, uint32_t subleaf,
    uint32_t out[4])
{
	TZ_ASSERT(profile->absent_count <= PROFILE_ABSENT_MAX);
	for (size_t i = 0; i < profile->absent_count; i++) {
		const struct profile_feature_mask *absent = &profile->absent[i];

		if (absent->leaf != leaf ||
		    (cpuid_has_subleaves(leaf) && absent->subleaf != subleaf))
			continue;
		TZ_ASSERT(absent->reg <= PROFILE_EDX);
		out[absent->reg] = profile_feature_mask_word(
		    out[absent->reg], absent);
	}
}

bool
profile_has_speculation_msrs(const struct profile *profile)
{
	return profile->leaf_max >= 0x0d;
}

void
profile_cpuid(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	cpuid_fn *fn = cpuid_extended;

	TZ_ASSERT(profile != NULL);
	TZ_ASSERT(cpu != NULL);
	out[EAX] = out[EBX] = out[ECX] = out[EDX] = 0;
	if (leaf < CPUID_EXTENDED || leaf > CPUID_EXTENDED_MAX) {
		if (leaf > profile->leaf_max)
			leaf = profile->leaf_max;
		fn = cpuid_leaves[leaf];
	}
	if (fn != NULL)
		fn(profile, cpu, leaf, subleaf, out);
	cpuid_hide(profile, leaf, subleaf, out);
}
