#include "emu/cpu/execute/msr.h"
#include "emu/cpu/state.h"

#define EFER_WRITABLE     UINT64_C(0x901) /* SCE, LME, NXE */
#define EFER_LMA          TZ_BIT(10)
#define APIC_BASE_X2APIC  TZ_BIT(10)
#define APIC_BASE_BSP     TZ_BIT(8)
#define APIC_BASE_ENABLED TZ_BIT(11)
#define APIC_BASE_FIXED \
 (APIC_BASE_BSP | APIC_BASE_ENABLED | UINT64_C(0xfffffffff000))
#define PAT_RESET         UINT64_C(0x0007040600070406)
#define MTRRCAP_SMRR      TZ_BIT(11) /* no fixed or variable ranges */
#define SMRR_VALID        TZ_BIT(11) /* of IA32_SMRR_PHYSMASK */
#define SMRR_MASK_BITS    UINT64_C(0xfffff000)
#define MSR_MTRRCAP       0xfe
#define MSR_SMRR_PHYSBASE 0x1f2
#define MSR_FS_BASE       0xc0000100

static bool
is_any(const struct cpu *cpu, uint64_t value)
{
	(void)cpu;
	(void)value;
	return true;
}

/* SDM vol. 3, 12.12.2 "IA32_PAT MSR": types 0, 1, 4, 5, 6 and 7. */
static bool
is_pat(const struct cpu *cpu, uint64_t value)
{
	(void)cpu;
	for (unsigned i = 0; i < 8; i++) {
		uint64_t type = tz_bits(value, i * 8 + 7, i * 8);

		if (type > 7 || type == 2 || type == 3)
			return false;
	}
	return true;
}

/* SDM vol. 4: IA32_XSS exists where CPUID.(0DH,1):EAX[3] is 1. */
static bool
has_xss(const struct cpu *cpu)
{
	return cpu->config.profile->xsave &&
	    (cpu->config.profile->xsave1_eax & TZ_BIT(3)) != 0;
}

/* SDM vol. 1, 13.3: bits beyond CPUID.(0DH,1):EDX:ECX give #GP. */
static bool
is_xss(const struct cpu *cpu, uint64_t value)
{
	return has_xss(cpu) && (value & ~cpu->config.profile->xss_mask) == 0;
}

static enum fault
read_xss(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	return has_xss(cpu) ? read_field(cpu, row, value) : FAULT_GP;
}

static enum fault
read_tsc(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	(void)row;
	*value = cpu_tsc(cpu);
	return FAULT_NONE;
}

static enum fault
read_misc(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	(void)row;
	*value = cpu_misc_fixed(cpu);
	return FAULT_NONE;
}

/* SDM vol. 3, 12.11.1 "MTRR Feature Identification": all of memory is write-back. */
static enum fault
read_mtrr(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	if (row->index != MSR_MTRRCAP)
		*value = MTRR_ENABLED | MTRR_WRITE_BACK;
	else
		*value = cpu->config.restricted_bytes != 0 ? MTRRCAP_SMRR : 0;
	return FAULT_NONE;
}

/*
 * SDM vol. 3, 12.11.2.4 "System-Management Range Register Interface": the range of
 * SMRAM.  Its size is a power of two, and its address a multiple of the size.
 */
static enum fault
read_smrr(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	uint64_t bytes = cpu->config.restricted_bytes;

	if (bytes == 0)
		return FAULT_GP;
	if (row->index == MSR_SMRR_PHYSBASE)
		*value = cpu->config.restricted.u | MTRR_WRITE_BACK;
	else
		*value = (~(bytes - 1) & SMRR_MASK_BITS) | SMRR_VALID;
	return FAULT_NONE;
}

static enum fault
write_refused(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	return cpu_unknown_msr(cpu, true, row->index, value);
}

/* The page can be neither moved nor disabled, and there is no x2APIC mode. */
static enum fault
write_apic_base(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	if ((value ^ cpu->msrs.apic_base) &
	    (APIC_BASE_FIXED | APIC_BASE_X2APIC))
		return cpu_unknown_msr(cpu, true, row->index, value);
	return FAULT_NONE;
}

static enum fault
read_engine(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	*value = engine_get_msr(cpu->active, row->index);
	return FAULT_NONE;
}

/* An MSR that the engine uses must be in its kept ring 0 state, too. */
static enum fault
write_efer(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	uint64_t old = engine_get_msr(cpu->active, row->index);

	if (value & ~(EFER_WRITABLE | EFER_LMA))
		return FAULT_GP;
	engine_set_msr(cpu->active, row->index,
	    (value & EFER_WRITABLE) | (old & EFER_LMA));
	engine_keep_ring0(cpu->active);
	return FAULT_NONE;
}

/* Used by SYSCALL here and by SYSRET in the engine. */
static enum fault
write_syscall(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	if (write_field(cpu, row, value) != FAULT_NONE)
		return FAULT_GP;
	engine_set_msr(cpu->active, row->index, value);
	engine_keep_ring0(cpu->active);
	return FAULT_NONE;
}

/* KERNEL_GS_BASE, which SWAPGS exchanges in the engine. */
static enum fault
write_swapped(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	if (!row->valid(cpu, value))
		return FAULT_GP;
	engine_set_msr(cpu->active, row->index, value);
	return FAULT_NONE;
}

static enum engine_reg
base_register(const struct msr_row *row)
{
	return row->index == MSR_FS_BASE ? ENGINE_FS_BASE : ENGINE_GS_BASE;
}

static enum fault
read_base(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	*value = engine_get(cpu->active, base_register(row));
	return FAULT_NONE;
}

static enum fault
write_base(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	if (!row->valid(cpu, value))
		return FAULT_GP;
	engine_set(cpu->active, base_register(row), value);
	return FAULT_NONE;
}

static const struct msr_row rows[] = {
#define MSR(index, name, read, write, field, valid) \
 { index, read, write, offsetof(struct cpu, msrs.field), valid },
#include "emu/cpu/execute/msr.def"
#undef MSR
};

static const struct msr_row *
find_row(const struct cpu *cpu, uint32_t index)
{
	const struct msr_row *board = cpu->config.board
	    ? cpu_find_board_msr(index)
	    : NULL;

	if (board != NULL)
		return board;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		if (rows[i].index == index)
			return &rows[i];
	}
	return NULL;
}

/* DEVIATION_OLDER, once: while TraceEn is 1, a read may return an older value. */
static void
give_older(struct cpu *cpu, uint32_t index, uint64_t *value)
{
	struct pending_faults *pending_faults = &cpu->faults;

	if (!pending_faults->older ||
	    (index != MSR_RTIT_OUTPUT_MASK_PTRS && index != MSR_RTIT_STATUS))
		return;
	*value = index == MSR_RTIT_STATUS ? pending_faults->older_status
					  : pending_faults->older_position;
	pending_faults->older = false;
}

void
cpu_reset_msrs(struct cpu *cpu)
{
	cpu->msrs.apic_base = APIC_PA | APIC_BASE_ENABLED |
	    (cpu->config.id == 0 ? APIC_BASE_BSP : 0);
	cpu->msrs.pat = PAT_RESET;
	cpu->msrs.xcr0 = 1;
	cpu_reset_board_msrs(cpu);
}

bool
cpu_is_unit_msr(uint32_t index)
{
	return pt_unit_owns_msr(index) || pmu_owns_msr(index) ||
	    ds_owns_msr(index);
}

enum fault
cpu_rdmsr(struct cpu *cpu, uint32_t index, uint64_t *value)
{
	const struct msr_row *row = find_row(cpu, index);
	enum fault fault = FAULT_NONE;

	if (pmu_owns_msr(index))
		cpu_counters_sync(cpu);
	if (cpu_is_unit_msr(index)) {
		if (pt_unit_owns_msr(index))
			fault = pt_unit_rdmsr(cpu->unit, index, value);
		else if (pmu_owns_msr(index))
			fault = pmu_rdmsr(&cpu->pmu, index, value);
		else
			fault = ds_rdmsr(&cpu->ds, index, value);
		if (fault == FAULT_NONE)
			give_older(cpu, index, value);
		if (fault == FAULT_NONE)
			cpu_emit(
			    cpu, EVENT_MSR_READ, index, *value, cpu->trap.rip);
		return fault;
	}
	if (row != NULL)
		return row->read(cpu, row, value);
	return cpu_unknown_msr(cpu, false, index, 0);
}

/* Reports a counter that its new control lets stand still. */
static void
tell_unknown_event(struct cpu *cpu, uint32_t index, uint64_t value)
{
	unsigned gp = index - PMU_MSR_SELECT;

	if (gp < PMU_GP_MAX && pmu_is_unknown_event(&cpu->pmu, gp))
		cpu_emit(cpu, EVENT_COUNTER_UNKNOWN, gp, value, cpu->trap.rip);
}

static enum fault
write_pmu(struct cpu *cpu, uint32_t index, uint64_t value)
{
	enum fault fault;

	cpu_counters_sync(cpu);
	fault = pmu_wrmsr(&cpu->pmu, index, value);
	cpu_counters_changed(cpu);
	if (fault == FAULT_NONE)
		tell_unknown_event(cpu, index, value);
	if (fault == FAULT_NONE && pmu_unmodelled(&cpu->pmu, index, value) != 0)
		return cpu_unknown_msr(cpu, true, index, value);
	return fault;
}

static enum fault
write_ds(struct cpu *cpu, uint32_t index, uint64_t value)
{
	enum fault fault;

	if (index == DS_MSR_DEBUGCTL && ds_unmodelled(value) != 0)
		return cpu_unknown_msr(cpu, true, index, value);
	fault = ds_wrmsr(&cpu->ds, index, value);
	cpu_debug_store_changed(cpu);
	if (fault == FAULT_NONE && cpu->exec_log != NULL)
		exec_log_msr(cpu->exec_log, index, value);
	return fault;
}

enum fault
cpu_wrmsr(struct cpu *cpu, uint32_t index, uint64_t value, uint64_t nlip)
{
	const struct msr_row *row = find_row(cpu, index);
	struct pt_context at = cpu_context(cpu, cpu->trap.rip);
	enum fault fault;

	if (pt_unit_owns_msr(index) && cpu->faults.wrmsr_gp) {
		cpu->faults.wrmsr_gp = false;
		return FAULT_GP;
	}
	if (pt_unit_owns_msr(index)) {
		fault = pt_unit_wrmsr(cpu->unit, index, value, &at, nlip);
		if (fault != FAULT_NONE)
			return fault;
		if (cpu->exec_log != NULL)
			exec_log_msr(cpu->exec_log, index, value);
		cpu_emit(cpu, EVENT_MSR_WRITE, index, value, 0);
		return FAULT_NONE;
	}
	if (cpu_is_unit_msr(index)) {
		fault = pmu_owns_msr(index) ? write_pmu(cpu, index, value)
					    : write_ds(cpu, index, value);
		if (fault == FAULT_NONE)
			cpu_emit(cpu, EVENT_MSR_WRITE, index, value, 0);
		return fault;
	}
	if (row != NULL)
		return row->write(cpu, row, value);
	return cpu_unknown_msr(cpu, true, index, value);
}

void
cpu_tell_monitors(struct cpu *cpu)
{
	static const struct {
		uint32_t first, count;
	} told[] = {
		{ PMU_MSR_SELECT, PMU_GP_MAX },
		{ PMU_MSR_FULL_WIDTH, PMU_GP_MAX },
		{ PMU_MSR_FIXED, PMU_FIXED_MAX },
		{ PMU_MSR_FIXED_CTRL, 1 },
		{ PMU_MSR_PEBS_ENABLE, 1 },
		{ DS_MSR_DEBUGCTL, 1 },
		{ DS_MSR_AREA, 1 },
		{ PMU_MSR_GLOBAL_CTRL, 1 },
	};

	cpu_counters_sync(cpu);
	for (size_t i = 0; i < TZ_ARRAY_LEN(told); i++)
		for (uint32_t n = 0; n < told[i].count; n++) {
			uint32_t index = told[i].first + n;
			uint64_t value;
			enum fault fault = pmu_owns_msr(index)
			    ? pmu_rdmsr(&cpu->pmu, index, &value)
			    : ds_rdmsr(&cpu->ds, index, &value);

			if (fault == FAULT_NONE)
				cpu_emit(cpu, EVENT_MSR_WRITE, index, value, 0);
		}
}
