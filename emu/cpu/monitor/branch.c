/* Branches, interrupts and exceptions, as others record and count them. */
#include "emu/cpu/monitor/branch.h"

#include "emu/cpu/state.h"

/* SDM vol. 3, 18.4.9.5 "Writing the DS Interrupt Service Routine". */
static void
record(struct cpu *cpu, uint64_t from, uint64_t to)
{
	if (!cpu_debug_store_branch(cpu, from, to))
		return;
	cpu_emit(cpu, EVENT_BTS_PMI, apic_drops_pmi(&cpu->apic), to, 0);
	cpu_counters_pmi(cpu);
	cpu_raise_pmi(cpu);
}

void
cpu_branch(struct cpu *cpu, enum insn_class class, bool taken, uint64_t from,
    uint64_t to)
{
	if (cpu->counters.branches)
		cpu_counters_branch(cpu, class, taken, from, to);
	if (cpu->debug_store.branches && (class != INSN_COND || taken))
		record(cpu, from, to);
}

void
cpu_branch_event(struct cpu *cpu, uint64_t from, uint64_t to)
{
	if (cpu->debug_store.branches)
		record(cpu, from, to);
}

void
cpu_cpl_changed(struct cpu *cpu)
{
	cpu_counters_ring(cpu);
	cpu_debug_store_changed(cpu);
}
