/*
 * CPU profiles: what distinguishes one processor model from another, as data.  A
 * profile holds the CPUID leaves that the guest sees and the choices of the PT unit
 * where the architecture leaves one.  It holds no state.
 */
#ifndef TOPAZ_EMU_PROFILE_PROFILE_H
#define TOPAZ_EMU_PROFILE_PROFILE_H

#include "emu/base/base.h"

/* Most parts of CPUID that a copy of a profile may be without. */
#define PROFILE_ABSENT_MAX 16

/* The highest basic leaf that any model answers: SDM vol. 2A, "CPUID". */
#define PROFILE_LEAF_HYBRID 0x1a
#define PROFILE_CORE_ATOM   0x20 /* an E-core */
#define PROFILE_CORE_CORE   0x40

/* Registers of CPUID, as profile_cpuid() orders them. */
enum profile_reg { PROFILE_EAX, PROFILE_EBX, PROFILE_ECX, PROFILE_EDX };

/*
 * Bits of CPUID that are hidden: the bits MASK of a register read as VALUE.  VALUE
 * lies within MASK; it is 0 except for a count, which it lowers.
 */
struct profile_feature_mask {
	uint32_t leaf, subleaf;
	unsigned reg; /* enum profile_reg */
	uint32_t mask, value;
	const char *name; /* as in a manifest: "ipfilt"; NULL: users cannot name
			     it */
	const char *text; /* what is missing; NULL if .name is NULL */
	const char *citation;
};

/* Whose performance-monitoring events a family has: emu/pmu/event.def. */
enum profile_events {
	PROFILE_EVENTS_CORE, /* Broadwell, Skylake */
	PROFILE_EVENTS_COVE, /* from Ice Lake on */
	PROFILE_EVENTS_ATOM,
	PROFILE_EVENTS_CORE2, /* architectural ones alone */
	PROFILE_EVENTS_P6,    /* of the P6 family: no architectural ones */
};

struct profile_cost;

/* The choices of a processor family where the architecture leaves one: uarch.def. */
struct profile_uarch {
	unsigned ip_full;         /* IPBytes of an uncompressed IP: 3 or 6 */
	unsigned tnt_bits;        /* TNT bits in a full TNT: 6 or 47 */
	bool deferred_tip;        /* TNT bits keep accumulating after a TIP */
	bool ret_pops;            /* an uncompressed RET pops the return stack;
				     else it clears it */
	unsigned psb_look_lines;  /* PacketByteCnt is checked every so many
				     64-byte lines */
	unsigned cyc_bits;        /* of the cycle counter; 0 without CYC */
	bool pgd_jcc_ip;          /* TIP.PGD at a Jcc carries the IP */
	unsigned pmi_early_bytes; /* single-entry ToPA: the PMI is so many bytes
				     before the end */
	bool vmx_pt;              /* IA32_VMX_MISC[14]: PT in VMX operation */
	uint32_t pmi_skid_insns;  /* from a filled INT region to the PMI's
				     delivery: instructions (REP iterations
				     count) */
	enum profile_events events;
	unsigned pebs_format; /* IA32_PERF_CAPABILITIES[11:8] before
				 architectural version 5 */
	unsigned pebs_gp;     /* general-purpose counters that PEBS can use */
	const struct profile_cost *cost; /* of instructions: cost.def */
};

/* The errata that can be switched on, one bit each: errata.def. */
enum profile_erratum {
#define ERRATUM(name, key, text) PROFILE_ERRATUM_##name,
#include "emu/profile/errata.def"
#undef ERRATUM
	PROFILE_ERRATUM_COUNT
};

struct profile {
	const char *name;      /* as on the command line: "skylake" */
	const char *title;     /* "Skylake client, 06_5EH" */
	uint32_t signature;    /* CPUID.1:EAX */
	uint32_t leaf_max;     /* CPUID.0:EAX */
	uint8_t core_type;     /* CPUID.1AH:EAX[31:24], PROFILE_CORE_* */
	uint32_t native_model; /* CPUID.1AH:EAX[23:0] */
	bool hybrid;           /* CPUID.(7,0):EDX[15], and leaf 1AH */
	uint8_t maxphyaddr;    /* bits, CPUID.80000008H:EAX[7:0] */

	/* CPUID leaf 14H: sub-leaf 0 EBX and ECX, sub-leaf 1 EAX and EBX. */
	uint32_t pt_ebx, pt_ecx, pt1_eax, pt1_ebx;
	/* CPUID leaf 15H; crystal_hz also where ECX reads 0. */
	uint32_t tsc_den, tsc_num, cpuid15_ecx, crystal_hz;
	uint32_t cbr; /* core:bus ratio at the fixed frequency, 100 MHz units */
	bool ds;      /* CPUID.1:EDX[21] */
	bool ds_cpl;  /* CPUID.1:ECX[4], DS-CPL, and [2], DTES64 */
	bool pt;      /* CPUID.(7,0):EBX[25] */
	bool xsave;   /* CPUID.1:ECX[26]; without it leaf 0DH reads as 0 */
	uint32_t xsave1_eax;               /* CPUID.(0DH,1):EAX */
	uint64_t xss_mask;                 /* CPUID.(0DH,1):EDX:ECX */
	uint32_t perfmon_eax, perfmon_edx; /* CPUID leaf 0AH */
	bool extended_pebs; /* all counters can use PEBS, also fixed ones */
	/* Counters that leaf 0AH announces in place of the CPU's own number; 0: that. */
	unsigned announced_gp, announced_fixed;

	const struct profile_uarch *uarch;
	uint32_t errata;    /* errata of the model: bits by profile_erratum */
	uint32_t errata_on; /* errata switched on; none by default */
	/* An instruction takes the time of the cost model, .uarch->cost; else a cycle. */
	bool cost;

	struct profile_feature_mask absent[PROFILE_ABSENT_MAX];
	size_t absent_count;
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

/* CPUID.(0DH,1):EAX bits (SDM vol. 1, 13.2 "Enumeration of CPU Support"). */
#define PROFILE_XSAVE1_OPT    TZ_BIT(0)
#define PROFILE_XSAVE1_XSAVEC TZ_BIT(1)
#define PROFILE_XSAVE1_XGETBV TZ_BIT(2)
#define PROFILE_XSAVE1_XSAVES TZ_BIT(3)

/* The profile named NAME, or NULL. */
const struct profile *profile_find(const char *name);

/* The INDEX-th profile, or NULL past the last: for listing. */
const struct profile *profile_at(size_t index);

/*
 * The profile with Intel PT that is most like the processor of SIGNATURE (CPUID.1:EAX), by
 * family and model: its own or that of model.def.  NULL: no such processor is known.
 */
const struct profile *profile_of_signature(uint32_t signature);

/*
 * The same for a core of a hybrid part, whose TYPE is that of CPUID.1AH:EAX[31:24]; where
 * no row has that type, that of the signature.
 */
const struct profile *profile_of_core(uint32_t signature, uint8_t type);

/*
 * Makes PROFILE that of a core of a hybrid part: CPUID reports a hybrid part, and
 * leaf 1AH exists.  Rows of hybrid parts already are.  GP and FIXED: the counters that all
 * cores of the part have, which leaf 0AH announces on each: a core may have more, and
 * software knows which by its model (Linux, arch/x86/events/intel/core.c, "Alder Lake").
 */
void profile_set_hybrid(struct profile *profile, unsigned gp, unsigned fixed);

/* Counters of PROFILE's own: CPUID.0AH:EAX[15:8] and EDX[4:0] if it is no hybrid part. */
unsigned profile_gp_counters(const struct profile *profile);
unsigned profile_fixed_counters(const struct profile *profile);

/*
 * The TSC's frequency in Hz: from leaf 15H or, on processors without it, the ratio
 * times 100 MHz.
 */
uint64_t profile_tsc_hz(const struct profile *profile);

/*
 * True if LBRs and BTS stand still while TraceEn is 1: SDM vol. 3, 33.3.1.2 "Model
 * Specific Capability Restrictions".
 */
bool profile_trace_excludes_branch_records(const struct profile *profile);

/*
 * IA32_PERF_CAPABILITIES.PEBS_REC_FMT, and the counters that PEBS can use, by their bits
 * of IA32_PEBS_ENABLE; 0: there is no PEBS.
 */
unsigned profile_pebs_format(const struct profile *profile);
uint64_t profile_pebs_counters(const struct profile *profile);

/* True if a record has the state after the event; false: before it, as on 06_0FH. */
bool profile_pebs_is_trap(const struct profile *profile);

/*
 * True if a CPU of a board has IA32_SPEC_CTRL, IA32_PRED_CMD and IA32_ARCH_CAPABILITIES,
 * which firmware has brought to all models that have leaf 0DH, and IA32_TSC_ADJUST.
 */
bool profile_has_speculation_msrs(const struct profile *profile);

/* What CPUID depends on besides the profile. */
struct profile_cpu {
	uint32_t apic_id;
	uint32_t cpu_count; /* logical processors of the machine */
	uint64_t xcr0, xss;
	bool osxsave;   /* CR4.OSXSAVE */
	bool x2apic_on; /* IA32_APIC_BASE[10] */
	bool board;     /* with what only a CPU of a board has */
};

/*
 * CPUID as the guest sees it: out = EAX, EBX, ECX, EDX.  A leaf above the highest
 * basic or extended leaf answers with the highest basic leaf's data, as Intel
 * processors do (SDM vol. 2, "CPUID").
 */
void profile_cpuid(const struct profile *profile, const struct profile_cpu *cpu,
    uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

/*
 * Makes COPY the processor FROM without the feature ABSENT (at most
 * PROFILE_ABSENT_MAX in all).  CPUID hides the feature and everything that depends
 * on it (without IP filtering no ranges, without XSAVES no component 8).  The PT
 * unit of COPY behaves accordingly; the CPU handles XSAVE instructions and
 * IA32_XSS, by .xsave and .xsave1_eax.
 */
void profile_without(struct profile *copy, const struct profile *from,
    const struct profile_feature_mask *absent, size_t count);

/* WORD with ABSENT hidden.  A count is only ever lowered. */
static inline uint32_t
profile_feature_mask_word(
    uint32_t word, const struct profile_feature_mask *absent)
{
	if ((word & absent->mask) <= absent->value)
		return word;
	return (word & ~absent->mask) | absent->value;
}

/* An erratum's key ("skl014") and its text.  INDEX < PROFILE_ERRATUM_COUNT. */
const char *profile_erratum_name(enum profile_erratum erratum);
const char *profile_erratum_text(enum profile_erratum erratum);

/* The erratum with that key, or PROFILE_ERRATUM_COUNT. */
enum profile_erratum profile_erratum_find(const char *name);

/* The INDEX-th optional feature, or NULL past the last. */
const struct profile_feature_mask *profile_feature_at(size_t index);

/* The feature of that name, or NULL. */
const struct profile_feature_mask *profile_feature_find(const char *name);

/* True if PROFILE has the feature; for a count, if any part of it is left. */
bool profile_has(
    const struct profile *profile, const struct profile_feature_mask *feature);

/*
 * True if a trace configuration may use the feature or not.  Other features decide
 * whether, or how, software can trace at all.
 */
bool profile_feature_is_optional(const struct profile_feature_mask *feature);

#endif
