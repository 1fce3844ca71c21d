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
	uint64_t room = pmu_room(&cpu->pmu, cpu->counters.user, ticks);

	cpu->counters.due_insns = room == UINT64_MAX
	    ? UINT64_MAX
	    : cpu_count_insns(cpu) + room;
	/* The limit of the fast path may lie behind that. */
	if (cpu->time.left > 0 && (uint64_t)cpu->time.left > room)
		cpu_request_attention(cpu);
}

void
cpu_counters_changed(struct cpu *cpu)
{
	cpu->counters.branches = (cpu->pmu.wanted & ~CLOCKS) != 0;
	cpu_choose_route(cpu);
	set_due(cpu);
}

static void
report(struct cpu *cpu, const struct pmu_slice *slice)
{
	bool pmi;
	uint64_t overflows = pmu_count(&cpu->pmu, cpu->counters.user, slice,
	    (cpu->ds.debugctl & DS_DEBUGCTL_FREEZE_PERFMON) != 0, &pmi);

	cpu->counters.insns = cpu_count_insns(cpu);
	cpu->counters.cycles = cpu_awake_cycles(cpu);
	for (unsigned i = 0; overflows >> i != 0; i++)
		if (overflows >> i & 1)
			cpu_emit(
			    cpu, EVENT_COUNTER_OVERFLOW, i, pmi, cpu_rip(cpu));
	if (pmi) {
		cpu_counters_changed(cpu);
		cpu_raise_pmi(cpu);
	}
}

void
cpu_counters_sync(struct cpu *cpu)
{
	struct pmu_slice slice = cpu_unreported(cpu);

	report(cpu, &slice);
	set_due(cpu);
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
	if (cpu->pmu.wanted != 0)
		cpu_counters_sync(cpu);
	cpu->counters.insns = cpu_count_insns(cpu);
	cpu->counters.cycles = cpu_awake_cycles(cpu);
	cpu->counters.user = user;
	set_due(cpu);
}

void
cpu_counters_branch(struct cpu *cpu, enum insn_class class, bool taken)
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
	report(cpu, &slice);
	set_due(cpu);
}

void
cpu_counters_interrupt(struct cpu *cpu)
{
	struct pmu_slice slice = cpu_unreported(cpu);

	slice.count[PMU_INTERRUPTS] = 1;
	report(cpu, &slice);
	set_due(cpu);
}

void
cpu_counters_pmi(struct cpu *cpu)
{
	if ((cpu->ds.debugctl & DS_DEBUGCTL_FREEZE_PERFMON) == 0)
		return;
	cpu_counters_sync(cpu);
	pmu_freeze(&cpu->pmu);
	cpu_counters_changed(cpu);
}
