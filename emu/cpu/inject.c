/*
 * The deviations of emu/base/deviation.def that affect one CPU.  Those that wait
 * for a later event are in struct pending_faults.
 */
#include <string.h>

#include "emu/cpu/state.h"

#define FLIP_TOPA_BITS 64
#define FLIP_AREA_BITS (PT_XSTATE_MSRS * 64)

bool
cpu_take_fail(struct cpu *cpu)
{
	bool fail = cpu->faults.fail;

	cpu->faults.fail = false;
	return fail;
}

/*
 * Each of these functions applies the deviation whose word it has in its name.
 * False: the deviation is impossible here, and nothing has changed.
 */
typedef bool (*inject_fn)(struct cpu *cpu, uint64_t param);

static uint32_t
low32(uint64_t param)
{
	return param > UINT32_MAX ? UINT32_MAX : (uint32_t)param;
}

static bool
arm(bool *what)
{
	bool was = *what;

	*what = true;
	return !was;
}

static bool
inject_pmi(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return pt_unit_fill_to_pmi(cpu->unit);
}

/* The CPU takes the interrupt here, not at the next control transfer. */
static bool
inject_preempt(struct cpu *cpu, uint64_t param)
{
	struct apic *apic = &cpu->apic;

	(void)param;
	if (cpu->interrupts.nmi_blocked || cpu->mode.place == PLACE_AFTER_STI ||
	    cpu_cycles(cpu) < cpu->interrupts.hold_until ||
	    !(engine_get(cpu->active, ENGINE_RFLAGS) & RFLAGS_IF) ||
	    !apic_timer_can_interrupt(apic))
		return false;
	if (!apic_timer_fire_early(apic, cpu_cycles(cpu)))
		apic_accept(apic, (uint8_t)apic->lvt[APIC_LVT_TIMER]);
	cpu->mode.place = PLACE_BOUNDARY;
	return true;
}

static bool
inject_hold(struct cpu *cpu, uint64_t param)
{
	if (param == 0 || param > UINT64_MAX / 2)
		return false;
	cpu->interrupts.hold_until = cpu_cycles(cpu) + param;
	return true;
}

static bool
inject_nmi(struct cpu *cpu, uint64_t param)
{
	(void)param;
	if (cpu->interrupts.nmis > 0 && cpu->interrupts.nmi_wait == 0)
		return false;
	cpu_nmi(cpu);
	return true;
}

/* Keeps the position and STATUS; a later TRACE_OFF makes reads exact again. */
static bool
inject_older(struct cpu *cpu, uint64_t param)
{
	struct pending_faults *pending_faults = &cpu->faults;

	(void)param;
	if (!cpu_trace_on(cpu))
		return false;
	pending_faults->older = true;
	pending_faults->older_position = cpu_peek_msr(
	    cpu, MSR_RTIT_OUTPUT_MASK_PTRS);
	pending_faults->older_status = cpu_peek_msr(cpu, MSR_RTIT_STATUS);
	return true;
}

/* emu/inject.c starts the other CPU's turn. */
static bool
inject_cpu(struct cpu *cpu, uint64_t param)
{
	(void)cpu;
	(void)param;
	return true;
}

/* Does the load of the next instruction; cpu_join() does the store. */
static bool
inject_rmw(struct cpu *cpu, uint64_t param)
{
	struct split *split = &cpu->faults.split;
	uint8_t bytes[INSN_BYTES_MAX];
	struct insn_memory memory;
	struct insn_regs regs;
	uint64_t va = cpu_rip(cpu);
	size_t count = sizeof(bytes);
	struct walk walk;

	(void)param;
	while (count > 0 &&
	    !walk_read(&cpu->space, (struct gva){ va }, bytes, count, NULL))
		count--;
	cpu_read_regs(cpu, &regs);
	if (!insn_is_split(bytes, count) ||
	    !insn_memory_operand(bytes, count, va, &regs, &memory) ||
	    memory.va / TZ_PAGE_BYTES !=
		(memory.va + memory.bytes - 1) / TZ_PAGE_BYTES ||
	    !walk_page(&cpu->space, (struct gva){ memory.va }, &walk) ||
	    walk.pa.u + memory.bytes > cpu->space.ram_bytes)
		return false;
	*split = (struct split){ .insns = cpu_count_insns(cpu),
		.rip = va,
		.pa = walk.pa.u,
		.bytes = memory.bytes };
	memcpy(&split->value, cpu->space.ram + split->pa, split->bytes);
	return true;
}

/*
 * Restores the value that the split load has read, so that the instruction now
 * computes with it; no other access comes in between.  If an interrupt is delivered
 * first, the split is dropped, and the instruction runs as a whole later.
 */
void
cpu_join(struct cpu *cpu)
{
	struct split *split = &cpu->faults.split;

	if (split->insns == cpu_count_insns(cpu) && split->rip == cpu_rip(cpu))
		memcpy(cpu->space.ram + split->pa, &split->value, split->bytes);
	split->bytes = 0;
}

static bool
inject_pmc(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return cpu_counters_hasten(cpu);
}

static bool
inject_late(struct cpu *cpu, uint64_t param)
{
	if (param == 0)
		return false;
	cpu->faults.late_insns = low32(param);
	return true;
}

static bool
inject_lost(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return arm(&cpu->faults.lost);
}

static bool
inject_double(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return arm(&cpu->faults.twice);
}

static bool
inject_merge(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return arm(&cpu->faults.merge);
}

static bool
inject_spurious(struct cpu *cpu, uint64_t param)
{
	(void)param;
	switch (apic_raise_pmi(&cpu->apic)) {
	case APIC_PMI_NMI:
		cpu_nmi(cpu);
		return true;
	case APIC_PMI_FIXED:
		return true;
	case APIC_PMI_DROPPED:
	case APIC_PMI_UNMODELLED:
	default:
		return false;
	}
}

static bool
inject_bit55(struct cpu *cpu, uint64_t param)
{
	(void)param;
	if (cpu->pmu.global_status & PMU_STATUS_TOPA_PMI)
		return false;
	pmu_topa_pmi(&cpu->pmu);
	return true;
}

static bool
inject_stuck(struct cpu *cpu, uint64_t param)
{
	if (param == 0)
		return false;
	pmu_stick(&cpu->pmu, param);
	return true;
}

static bool
inject_lvt(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return apic_mask_pmi(&cpu->apic);
}

static bool
inject_error(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return pt_unit_force_error(cpu->unit);
}

static bool
inject_stop(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return pt_unit_force_stop(cpu->unit);
}

static bool
inject_ovf(struct cpu *cpu, uint64_t param)
{
	return pt_unit_overflow(cpu->unit, low32(param));
}

static bool
inject_xrstors(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return arm(&cpu->faults.xrstors_gp);
}

static bool
inject_wrmsr(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return arm(&cpu->faults.wrmsr_gp);
}

static bool
inject_stale(struct cpu *cpu, uint64_t param)
{
	return pt_unit_stale(cpu->unit, low32(param));
}

static bool
flip(struct cpu *cpu, uint64_t pa, uint64_t bit)
{
	if (pa + bit / 8 >= cpu->space.ram_bytes)
		return false;
	cpu->space.ram[pa + bit / 8] ^= (uint8_t)(1u << bit % 8);
	return true;
}

static bool
inject_fliptopa(struct cpu *cpu, uint64_t param)
{
	struct gpa pa;

	return param < FLIP_TOPA_BITS && pt_unit_trigger_en(cpu->unit) &&
	    pt_unit_current_entry(cpu->unit, &pa) && flip(cpu, pa.u, param);
}

static bool
inject_fliparea(struct cpu *cpu, uint64_t param)
{
	unsigned part = param / 8 >= AREA_PART;

	return param < FLIP_AREA_BITS && cpu->faults.xsaves_pa[part] != 0 &&
	    flip(
		cpu, cpu->faults.xsaves_pa[part], param - part * 8 * AREA_PART);
}

static bool
inject_fail(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return arm(&cpu->faults.fail);
}

static const inject_fn functions[DEVIATION_COUNT] = {
#define DEVIATION(id, word, ...) [DEVIATION_##id] = inject_##word,
#include "emu/base/deviation.def"
#undef DEVIATION
};

/* The deviation's event is emitted before the events that it causes: see cpu_emit(). */
bool
cpu_inject(struct cpu *cpu, enum deviation_kind kind, uint64_t param)
{
	bool done;

	TZ_ASSERT((unsigned)kind < DEVIATION_COUNT);
	TZ_ASSERT(cpu->block == &cpu->nowhere);
	if (pt_unit_fast(cpu->unit)->timed)
		cpu_sync_clock(cpu);
	cpu->faults.note = (struct deviation_note){ true, kind, param };
	done = functions[kind](cpu, param);
	if (done)
		cpu_emit_deviation(cpu);
	cpu->faults.note.pending = false;
	return done;
}
