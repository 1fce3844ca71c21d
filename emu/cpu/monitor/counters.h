/* What a CPU reports to its performance counters (emu/pmu).  Private to emu/cpu. */
#ifndef TOPAZ_EMU_CPU_MONITOR_COUNTERS_H
#define TOPAZ_EMU_CPU_MONITOR_COUNTERS_H

#include "emu/cpu/insn/insn.h"
#include "emu/pmu/pmu.h"
#include "emu/pt/fast.h"

struct cpu;

/*
 * What was reported so far.  Instructions and clocks are reported late: where somebody
 * looks at a counter, where the privilege level changes, and where a counter of them
 * overflows; branches and interrupts at once.  Owner: counters.c.
 */
struct cpu_counters {
	uint64_t insns, cycles; /* reported: retired; cycles while not halted */
	uint64_t halted_cycles; /* passed while halted, reported or not */
	/* Retired, and passed while not halted, when a counter may overflow;
	 * UINT64_MAX: never. */
	uint64_t due_insns, due_cycles;
	uint64_t last_va; /* the instruction that has retired last, where the
			     fast path has been left */
	bool user;        /* what is reported next was not executed in ring 0 */
	bool branches;    /* a counter counts branches or interrupts */
	struct pt_fast slow; /* all false: each transfer takes the slow path */
};

/* counters.c */
void cpu_counters_reset(struct cpu *cpu);

/* Reports what was executed up to here: before a counter is read, and where one is due. */
void cpu_counters_sync(struct cpu *cpu);
/* pmu_hasten(), of what has happened up to now. */
bool cpu_counters_hasten(struct cpu *cpu);

/* The counters' controls have changed.  Everything before was reported. */
void cpu_counters_changed(struct cpu *cpu);

/* CPL may have changed.  The instruction that has changed it has retired. */
void cpu_counters_ring(struct cpu *cpu);

/*
 * A branch of CLASS at FROM has retired, and TO is the next instruction; a hardware
 * interrupt or an NMI is delivered.
 */
void cpu_counters_branch(struct cpu *cpu, enum insn_class class, bool taken,
    uint64_t from, uint64_t to);
void cpu_counters_interrupt(struct cpu *cpu);

/* A PMI is raised for another cause: the counters freeze if they are to. */
void cpu_counters_pmi(struct cpu *cpu);

/* True if a counter may overflow now. */
bool cpu_counters_due(const struct cpu *cpu);
/* The cycle in which one may, if the CPU does not halt; UINT64_MAX: never. */
uint64_t cpu_cycle_of_look(const struct cpu *cpu);

/* clock.c */
/* Cycles while not halted. */
uint64_t cpu_awake_cycles(const struct cpu *cpu);
/* Instructions and clocks since the last report. */
struct pmu_slice cpu_unreported(const struct cpu *cpu);

/* query.c: the unit as it is if everything up to here is reported; nothing changes. */
struct pmu cpu_counters_now(const struct cpu *cpu);

#endif
