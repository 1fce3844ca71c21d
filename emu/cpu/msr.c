#include "emu/cpu/state.h"

#define EFER_WRITABLE       UINT64_C(0x901) /* SCE, LME, NXE */
#define EFER_LMA            TZ_BIT(10)
#define APIC_BASE_X2APIC    TZ_BIT(10)
#define APIC_BASE_FIXED     (TZ_BIT(8) | TZ_BIT(11) | UINT64_C(0xfffffffff000))
#define MISC_ENABLE_PERFMON TZ_BIT(7)
#define MISC_ENABLE_NO_BTS  TZ_BIT(11)
#define MISC_ENABLE_NO_PEBS TZ_BIT(12)

typedef enum fault (*msr_read_fn)(
    struct cpu *cpu, uint32_t index, uint64_t *value);
typedef enum fault (*msr_write_fn)(
    struct cpu *cpu, uint32_t index, uint64_t value);

static enum fault
read_tsc(struct cpu *cpu, uint32_t index, uint64_t *value)
{
	(void)index;
	*value = cpu_cycles(cpu);
	return FAULT_NONE;
}

static enum fault
read_apic_base(struct cpu *cpu, uint32_t index, uint64_t *value)
{
	(void)index;
	*value = cpu->apic_base;
	return FAULT_NONE;
}

static void
refuse_write(struct cpu *cpu, uint32_t index, uint64_t value)
{
	cpu_end_run(cpu, CPU_OVER_UNMODELLED, "WRMSR 0x%x = 0x%llx at 0x%llx",
	    index, (unsigned long long)value,
	    (unsigned long long)cpu->trap_rip);
}

static enum fault
write_unmodelled(struct cpu *cpu, uint32_t index, uint64_t value)
{
	refuse_write(cpu, index, value);
	return FAULT_NONE;
}

/* The page can be neither moved nor disabled, and there is no x2APIC mode. */
static enum fault
write_apic_base(struct cpu *cpu, uint32_t index, uint64_t value)
{
	if (((value ^ cpu->apic_base) & (APIC_BASE_FIXED | APIC_BASE_X2APIC)))
		refuse_write(cpu, index, value);
	return FAULT_NONE;
}

static enum fault
read_misc_enable(struct cpu *cpu, uint32_t index, uint64_t *value)
{
	(void)cpu;
	(void)index;
	*value = MISC_ENABLE_PERFMON | MISC_ENABLE_NO_BTS | MISC_ENABLE_NO_PEBS;
	return FAULT_NONE;
}

/* SDM vol. 3, 11.12.2 "IA32_PAT MSR": types 0, 1, 4, 5, 6 and 7. */
static enum fault
write_pat(struct cpu *cpu, uint32_t index, uint64_t value)
{
	(void)index;
	for (unsigned i = 0; i < 8; i++) {
		uint64_t type = tz_bits(value, i * 8 + 7, i * 8);

		if (type > 7 || type == 2 || type == 3)
			return FAULT_GP;
	}
	cpu->pat = value;
	return FAULT_NONE;
}

static enum fault
read_pat(struct cpu *cpu, uint32_t index, uint64_t *value)
{
	(void)index;
	*value = cpu->pat;
	return FAULT_NONE;
}

static enum fault
read_xss(struct cpu *cpu, uint32_t index, uint64_t *value)
{
	(void)index;
	*value = cpu->xss;
	return FAULT_NONE;
}

/* SDM vol. 1, 13.3: bits beyond CPUID.(0DH,1):EDX:ECX give #GP. */
static enum fault
write_xss(struct cpu *cpu, uint32_t index, uint64_t value)
{
	(void)index;
	if (value & ~cpu->config.profile->xss_mask)
		return FAULT_GP;
	cpu->xss = value;
	return FAULT_NONE;
}

static enum fault
read_engine(struct cpu *cpu, uint32_t index, uint64_t *value)
{
	*value = engine_get_msr(cpu->active, index);
	return FAULT_NONE;
}

/* What the engine uses has to be in its kept ring 0 state, too. */
static void
give_engine(struct cpu *cpu, uint32_t index, uint64_t value)
{
	engine_set_msr(cpu->active, index, value);
	engine_keep_ring0(cpu->active);
}

static enum fault
write_efer(struct cpu *cpu, uint32_t index, uint64_t value)
{
	uint64_t old = engine_get_msr(cpu->active, index);

	if (value & ~(EFER_WRITABLE | EFER_LMA))
		return FAULT_GP;
	give_engine(cpu, index, (value & EFER_WRITABLE) | (old & EFER_LMA));
	return FAULT_NONE;
}

static enum fault
write_kernel_gs(struct cpu *cpu, uint32_t index, uint64_t value)
{
	if (!tz_is_canonical(value))
		return FAULT_GP;
	engine_set_msr(cpu->active, index, value);
	return FAULT_NONE;
}

/* A register that SYSCALL and SYSRET use: ours and the engine's copy. */
#define SYSCALL_MSR(name, check)                       \
 static enum fault read_##name(                        \
     struct cpu *cpu, uint32_t index, uint64_t *value) \
 {                                                     \
  (void)index;                                         \
  *value = cpu->name;                                  \
  return FAULT_NONE;                                   \
 }                                                     \
 static enum fault write_##name(                       \
     struct cpu *cpu, uint32_t index, uint64_t value)  \
 {                                                     \
  if (!(check))                                        \
   return FAULT_GP;                                    \
  cpu->name = value;                                   \
  give_engine(cpu, index, value);                      \
  return FAULT_NONE;                                   \
 }

SYSCALL_MSR(star, true)
SYSCALL_MSR(lstar, tz_is_canonical(value))
SYSCALL_MSR(cstar, tz_is_canonical(value))
SYSCALL_MSR(fmask, value <= UINT32_MAX)

static enum fault
read_fs_base(struct cpu *cpu, uint32_t index, uint64_t *value)
{
	(void)index;
	*value = engine_get(cpu->active, ENGINE_FS_BASE);
	return FAULT_NONE;
}

static enum fault
read_gs_base(struct cpu *cpu, uint32_t index, uint64_t *value)
{
	(void)index;
	*value = engine_get(cpu->active, ENGINE_GS_BASE);
	return FAULT_NONE;
}

static enum fault
write_base(struct cpu *cpu, enum engine_reg reg, uint64_t value)
{
	if (!tz_is_canonical(value))
		return FAULT_GP;
	engine_set(cpu->active, reg, value);
	return FAULT_NONE;
}

static enum fault
write_fs_base(struct cpu *cpu, uint32_t index, uint64_t value)
{
	(void)index;
	return write_base(cpu, ENGINE_FS_BASE, value);
}

static enum fault
write_gs_base(struct cpu *cpu, uint32_t index, uint64_t value)
{
	(void)index;
	return write_base(cpu, ENGINE_GS_BASE, value);
}

static enum fault
read_tsc_aux(struct cpu *cpu, uint32_t index, uint64_t *value)
{
	(void)index;
	*value = cpu->tsc_aux;
	return FAULT_NONE;
}

static enum fault
write_tsc_aux(struct cpu *cpu, uint32_t index, uint64_t value)
{
	(void)index;
	if (value > UINT32_MAX)
		return FAULT_GP;
	cpu->tsc_aux = value;
	return FAULT_NONE;
}

struct msr_row {
	uint32_t index;
	msr_read_fn read;
	msr_write_fn write;
};

static const struct msr_row rows[] = {
#define MSR(index, name, read, write) { index, read, write },
#include "emu/cpu/msr.def"
#undef MSR
};

static const struct msr_row *
find_row(uint32_t index)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		if (rows[i].index == index)
			return &rows[i];
	}
	return NULL;
}

enum fault
cpu_rdmsr(struct cpu *cpu, uint32_t index, uint64_t *value)
{
	const struct msr_row *row = find_row(index);

	if (pt_unit_owns_msr(index))
		return pt_unit_rdmsr(cpu->unit, index, value);
	if (pmu_owns_msr(index))
		return pmu_rdmsr(&cpu->pmu, index, value);
	if (row != NULL)
		return row->read(cpu, index, value);
	cpu_end_run(cpu, CPU_OVER_UNMODELLED, "RDMSR 0x%x at 0x%llx", index,
	    (unsigned long long)cpu->trap_rip);
	return FAULT_NONE;
}

enum fault
cpu_wrmsr(struct cpu *cpu, uint32_t index, uint64_t value, uint64_t nlip)
{
	const struct msr_row *row = find_row(index);
	struct pt_context at = cpu_context(cpu, cpu->trap_rip);
	enum fault fault;

	if (pt_unit_owns_msr(index)) {
		fault = pt_unit_wrmsr(cpu->unit, index, value, &at, nlip);
		if (fault != FAULT_NONE)
			return fault;
		if (cpu->truth != NULL)
			truth_msr(cpu->truth, index, value);
		cpu_emit(cpu, EVENT_MSR_WRITE, index, value, 0);
		return FAULT_NONE;
	}
	if (pmu_owns_msr(index))
		return pmu_wrmsr(&cpu->pmu, index, value);
	if (row != NULL)
		return row->write(cpu, index, value);
	refuse_write(cpu, index, value);
	return FAULT_NONE;
}
