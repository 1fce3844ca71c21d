/*
 * The signals of a CPU's performance counters: SDM vol. 3, 20.2 "Architectural
 * Performance Monitoring".
 *
 * Model choices: the reference clock and the bus clock tick at their ratio to the core
 * clock, rounded down; an interrupt that is delivered retires no instruction; a
 * PMI follows its overflow after the same skid as that of Intel PT.
 */
#include "emu/cpu/state.h"

#define CLOCKS                                                            \
 (TZ_BIT(PMU_INSTRUCTIONS) | TZ_BIT(PMU_CYCLES) | TZ_BIT(PMU_REFERENCE) | \
     TZ_BIT(PMU_BUS))

static void
set_due(struct cpu *cpu)
{
	uint64_t ticks = 1 +
	    (uint64_t)cpu->config.profile->cbr / cpu->config.core_cbr;
	struct pmu_room room = pmu_room(&cpu->pmu, cpu->counters.user, ticks);

	if (cpu_debug_store_looks_ahead(cpu))
		room.insns = 1;
	cpu->counters.due_insns = room.insns == UINT64_MAX
	    ? UINT64_MAX
	    : cpu_count_insns(cpu) + room.insns;
	cpu->counters.due_cycles = room.cycles == UINT64_MAX
	    ? UINT64_MAX
	    : cpu_awake_cycles(cpu) + room.cycles;
	/* The limit of the fast path may lie behind that. */
	if (cpu->time.left > 0 && cpu->time.units_left > 0 &&
	    ((uint64_t)cpu->time.left > room.insns ||
		(uint64_t)cpu->time.units_left / COST_UNITS >= room.cycles))
		cpu_request_attention(cpu);
}

bool
cpu_counters_due(const struct cpu *cpu)
{
	return cpu->counters.due_insns <= cpu_count_insns(cpu) ||
	    cpu->counters.due_cycles <= cpu_awake_cycles(cpu);
}

uint64_t
cpu_cycle_of_look(const struct cpu *cpu)
{
	return cpu->counters.due_cycles == UINT64_MAX
	    ? UINT64_MAX
	    : cpu->counters.due_cycles + cpu->counters.halted_cycles;
}

void
cpu_counters_changed(struct cpu *cpu)
{
	cpu->counters.branches = (cpu->pmu.wanted & ~CLOCKS) != 0;
	cpu_choose_route(cpu);
	set_due(cpu);
}

/* True if a PMI freezes the counters. */
static bool
freezes(const struct cpu *cpu)
{
	return (cpu->ds.debugctl & DS_DEBUGCTL_FREEZE_PERFMON) != 0;
}

/* A PMI that is not an overflow's: the counters freeze if they are to. */
static void
freeze(struct cpu *cpu)
{
	if (freezes(cpu))
		pmu_freeze(&cpu->pmu);
}

/* The PEBS record of COUNTERS; true: the PMI of one of them is due. */
static bool
sample(struct cpu *cpu, uint64_t counters, uint64_t from, uint64_t to)
{
	uint64_t reset[PMU_GP_MAX + PMU_FIXED_MAX] = { 0 };
	enum cpu_sample end = cpu_debug_store_sample(
	    cpu, counters, from, to, reset);
	bool pmi;

	if (end == CPU_SAMPLE_LOST) {
		pmu_pebs_lost(&cpu->pmu, counters);
		return false;
	}
	pmi = pmu_pebs_done(&cpu->pmu, counters, reset);
	if (end == CPU_SAMPLE_THRESHOLD) {
		pmu_ds_overflow(&cpu->pmu);
		cpu_emit(
		    cpu, EVENT_PEBS_PMI, apic_drops_pmi(&cpu->apic), to, 0);
		freeze(cpu);
		cpu_raise_pmi(cpu);
	}
	if (pmi)
		freeze(cpu);
	return pmi;
}

/* FROM is the last instruction, TO the next one. */
static void
report(
    struct cpu *cpu, const struct pmu_slice *slice, uint64_t from, uint64_t to)
{
	struct pmu_outcome outcome = pmu_count(
	    &cpu->pmu, cpu->counters.user, slice, freezes(cpu));

	cpu->counters.insns = cpu_count_insns(cpu);
	cpu->counters.cycles = cpu_awake_cycles(cpu);
	for (unsigned i = 0; outcome.overflows >> i != 0; i++)
		if (outcome.overflows >> i & 1)
			cpu_emit(
			    cpu, EVENT_COUNTER_OVERFLOW, i, outcome.pmi, to);
	if (outcome.pebs != 0)
		outcome.pmi |= sample(cpu, outcome.pebs, from, to);
	if (outcome.pmi || outcome.pebs != 0)
		cpu_counters_changed(cpu);
	if (outcome.pmi)
		cpu_raise_pmi(cpu);
}

void
cpu_counters_sync(struct cpu *cpu)
{
	struct pmu_slice slice = cpu_unreported(cpu);

	report(cpu, &slice, cpu->counters.last_va, cpu_rip(cpu));
	set_due(cpu);
}

bool
cpu_counters_hasten(struct cpu *cpu)
{
	cpu_counters_sync(cpu);
	if (!pmu_hasten(&cpu->pmu))
		return false;
	set_due(cpu);
	return true;
}

void
cpu_counters_reset(struct cpu *cpu)
{
	pmu_reset(&cpu->pmu, cpu->config.profile);
	cpu_counters_changed(cpu);
}

void
cpu_counters_ring(struct cpu *cpu)
{
	bool user = cpu->mode.cpl != 0;

	if (cpu->counters.user == user)
		return;
	if (cpu->pmu.wanted != 0) {
		cpu_counters_sync(cpu);
		cpu_log_time(cpu);
	}
	cpu->counters.insns = cpu_count_insns(cpu);
	cpu->counters.cycles = cpu_awake_cycles(cpu);
	cpu->counters.user = user;
	set_due(cpu);
}

void
cpu_counters_branch(struct cpu *cpu, enum insn_class class, bool taken,
    uint64_t from, uint64_t to)
{
	struct pmu_slice slice = cpu_unreported(cpu);
	uint64_t *count = slice.count;
	bool far = false;

	switch ((int)class) {
	case INSN_COND:
		count[PMU_CONDITIONAL] = 1;
		count[PMU_CONDITIONAL_TAKEN] = taken;
		count[PMU_NOT_TAKEN] = !taken;
		break;
	case INSN_JMP_DIRECT:
		break;
	case INSN_CALL_DIRECT:
		count[PMU_NEAR_CALL] = count[PMU_NEAR_CALL_DIRECT] = 1;
		break;
	case INSN_CALL_INDIRECT:
		count[PMU_NEAR_CALL] = count[PMU_NEAR_CALL_INDIRECT] = 1;
		break;
	case INSN_JMP_INDIRECT:
		count[PMU_NEAR_JMP_INDIRECT] = 1;
		break;
	case INSN_RET:
		count[PMU_NEAR_RETURN] = 1;
		break;
	default:
		far = true;
		count[PMU_FAR] = 1;
		break;
	}
	count[PMU_BRANCHES] = 1;
	count[PMU_NEAR_TAKEN] = !far && (class != INSN_COND || taken);
	report(cpu, &slice, from, to);
	set_due(cpu);
}

void
cpu_counters_interrupt(struct cpu *cpu)
{
	struct pmu_slice slice = cpu_unreported(cpu);

	slice.count[PMU_INTERRUPTS] = 1;
	report(cpu, &slice, cpu->counters.last_va, cpu_rip(cpu));
	set_due(cpu);
}

void
cpu_counters_pmi(struct cpu *cpu)
{
	if (!freezes(cpu))
		return;
	cpu_counters_sync(cpu);
	pmu_freeze(&cpu->pmu);
	cpu_counters_changed(cpu);
}
