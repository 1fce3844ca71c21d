/* The MSRs that only a CPU of a board has: see board_msr.def. */
#include "emu/cpu/execute/msr.h"
#include "emu/cpu/state.h"

#define MTRR_TYPE_BITS     UINT64_C(0xff)
#define MTRR_FIXED_ENABLED TZ_BIT(10)
#define SPEC_CTRL_IBRS     TZ_BIT(0)
#define SPEC_CTRL_STIBP    TZ_BIT(1)
#define PRED_CMD_IBPB      TZ_BIT(0)
#define RATIO_SHIFT        8  /* maximum non-turbo ratio */
#define RATIO_MIN_SHIFT    40 /* maximum efficiency ratio */

/*
 * SDM vol. 3, 12.11.2.1 "IA32_MTRR_DEF_TYPE MSR".  There is no cache, so a type has
 * no effect.
 */
static bool
is_mtrr_type(const struct cpu *cpu, uint64_t value)
{
	uint64_t type = value & MTRR_TYPE_BITS;

	(void)cpu;
	return (value &
		   ~(MTRR_TYPE_BITS | MTRR_FIXED_ENABLED | MTRR_ENABLED)) ==
	    0 &&
	    type <= MTRR_WRITE_BACK && type != 2 && type != 3;
}

static bool
is_spec_ctrl(const struct cpu *cpu, uint64_t value)
{
	return profile_has_speculation_msrs(cpu->config.profile) &&
	    (value & ~(SPEC_CTRL_IBRS | SPEC_CTRL_STIBP)) == 0;
}

static enum fault
read_never(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	(void)cpu;
	(void)row;
	(void)value;
	return FAULT_GP;
}

/*
 * Platform 0; no SMI has ever come, because there is no SMM; the TSC is the machine's;
 * CPUID faulting, which MSR_PLATFORM_INFO[31] does not show, is off.
 */
static enum fault
read_zero(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	(void)cpu;
	(void)row;
	*value = 0;
	return FAULT_NONE;
}

static enum fault
write_zero(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	(void)cpu;
	(void)row;
	return value == 0 ? FAULT_NONE : FAULT_GP;
}

/* SDM vol. 3, 18.17.3 "Time-Stamp Counter Adjustment": a shifted TSC is not modelled. */
static enum fault
write_adjust(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	return value == 0 ? FAULT_NONE
			  : cpu_unknown_msr(cpu, true, row->index, value);
}

/* There is no prediction, so a barrier has nothing to do. */
static enum fault
write_pred_cmd(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	(void)row;
	return profile_has_speculation_msrs(cpu->config.profile) &&
		(value & ~PRED_CMD_IBPB) == 0
	    ? FAULT_NONE
	    : FAULT_GP;
}

/*
 * SDM vol. 4, table 2-2: this CPU does not speculate, so each bit that says "not
 * susceptible" is set, and IBRS, once set, stays in force (IBRS_ALL).  ITS_NO: Intel,
 * "Indirect Target Selection".
 */
#define ARCH_CAPABILITIES                                          \
 (TZ_BIT(0) /* RDCL_NO */ | TZ_BIT(1) /* IBRS_ALL */ |             \
     TZ_BIT(3) /* SKIP_L1DFL_VMENTRY */ | TZ_BIT(4) /* SSB_NO */ | \
     TZ_BIT(5) /* MDS_NO */ | TZ_BIT(6) /* IF_PSCHANGE_MC_NO */ |  \
     TZ_BIT(8) /* TAA_NO */ | TZ_BIT(13) /* SBDR_SSDP_NO */ |      \
     TZ_BIT(14) /* FBSDP_NO */ | TZ_BIT(15) /* PSDP_NO */ |        \
     TZ_BIT(20) /* BHI_NO */ | TZ_BIT(24) /* PBRSB_NO */ |         \
     TZ_BIT(26) /* GDS_NO */ | TZ_BIT(27) /* RFDS_NO */ |          \
     TZ_BIT(62) /* ITS_NO */)

static enum fault
read_arch(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	(void)row;
	*value = ARCH_CAPABILITIES;
	return profile_has_speculation_msrs(cpu->config.profile) ? FAULT_NONE
								 : FAULT_GP;
}

/*
 * SDM vol. 3, 10.11.7.1 "Determining the Signature": software writes 0, and CPUID
 * loads the revision, which is 0 while no update is loaded.
 */
static enum fault
write_signature(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	(void)row;
	if (value != 0)
		return FAULT_GP;
	cpu->board_msrs.bios_sign_id = 0;
	return FAULT_NONE;
}

/* In units of 100 MHz, as CPUID 16H: a part that has one frequency. */
static enum fault
read_platform(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	uint64_t ratio = cpu->config.profile->cbr;

	(void)row;
	*value = ratio << RATIO_SHIFT | ratio << RATIO_MIN_SHIFT;
	return FAULT_NONE;
}

uint64_t
cpu_misc_fixed(const struct cpu *cpu)
{
	uint64_t value = MISC_PERFMON;

	if (!cpu->config.profile->ds)
		value |= MISC_NO_BTS;
	if (profile_pebs_counters(cpu->config.profile) == 0)
		value |= MISC_NO_PEBS;
	return value;
}

static enum fault
read_misc(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	(void)row;
	*value = cpu_misc_fixed(cpu) | cpu->board_msrs.misc_enable;
	return FAULT_NONE;
}

/*
 * SDM vol. 4, table 2-2 "IA-32 Architectural MSRs": bits 7, 11 and 12 are read-only.
 * Fast strings have no effect here; the other bits need what CPUID does not show.
 */
static enum fault
write_misc(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	uint64_t fixed = MISC_PERFMON | MISC_NO_BTS | MISC_NO_PEBS;

	if ((value & ~(fixed | MISC_FAST_STRINGS)) != 0)
		return cpu_unknown_msr(cpu, true, row->index, value);
	cpu->board_msrs.misc_enable = value & MISC_FAST_STRINGS;
	return FAULT_NONE;
}

/* SDM vol. 3, 11.5.4.1 "TSC-Deadline Mode". */
static enum fault
read_deadline(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	(void)row;
	*value = apic_deadline(&cpu->apic);
	return FAULT_NONE;
}

static enum fault
write_deadline(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	(void)row;
	apic_set_deadline(&cpu->apic, value, cpu_cycle_of_tsc(cpu, value));
	return FAULT_NONE;
}

/* Broadwell has 16 entries, later families 32; older ones have other MSRs. */
static unsigned
lbr_depth(const struct cpu *cpu)
{
	const struct profile *profile = cpu->config.profile;

	if (!profile->pt)
		return 0;
	return profile->pt_ebx & PROFILE_PT_EBX_PSB ? LBR_DEPTH : LBR_DEPTH / 2;
}

static bool
has_lbr(const struct cpu *cpu, const struct msr_row *row)
{
	return row->index % LBR_DEPTH < lbr_depth(cpu);
}

static enum fault
read_lbr(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	return has_lbr(cpu, row) ? read_field(cpu, row, value)
				 : cpu_unknown_msr(cpu, false, row->index, 0);
}

static enum fault
write_lbr(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	return has_lbr(cpu, row)
	    ? write_field(cpu, row, value)
	    : cpu_unknown_msr(cpu, true, row->index, value);
}

void
cpu_reset_board_msrs(struct cpu *cpu)
{
	cpu->board_msrs = (struct cpu_board_msrs){
		.misc_enable = MISC_FAST_STRINGS,
		.mtrr_def_type = MTRR_ENABLED | MTRR_WRITE_BACK,
	};
}

static const struct msr_row rows[] = {
#define MSR(index, name, read, write, field, valid) \
 { index, read, write, offsetof(struct cpu, board_msrs.field), valid },
#include "emu/cpu/execute/board_msr.def"
#undef MSR
};

const struct msr_row *
cpu_find_board_msr(uint32_t index)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		if (rows[i].index == index)
			return &rows[i];
	}
	return NULL;
}
