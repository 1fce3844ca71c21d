/* A CPU's PT unit: its port, its time, its PMI.  Private to emu/cpu. */
#ifndef TOPAZ_EMU_CPU_PT_GLUE_H
#define TOPAZ_EMU_CPU_PT_GLUE_H

#include "emu/pt/unit.h"

struct cpu;

/*
 * The clock: one cycle an instruction, and the cycles that pass without one.  The
 * instructions are counted down to a limit, so that the fast path has one number to
 * compare.  Owner: clock.c.
 */
struct cpu_time {
	int64_t left;         /* instructions until the limit */
	uint64_t limit_insns; /* retired so far = limit_insns - left */
	uint64_t idle_cycles;
};

/* What the PT unit has reported to its CPU.  Owner: pt_glue.c. */
struct cpu_trace {
	bool stopped;   /* it stopped itself; not in the execution log yet */
	uint64_t bytes; /* reported as EVENT_OUTPUT */
	uint64_t pmi_count;
	const char *error; /* the last one; NULL: there was none */
};

/* pt_glue.c */
struct pt_port cpu_pt_port(struct cpu *cpu);
/* An instruction before NEXT may have changed RFLAGS.IF. */
void cpu_if_changed(struct cpu *cpu, uint64_t next);
/* Writes into the execution log that the unit has stopped itself, if it has. */
void cpu_log_stop(struct cpu *cpu);

/* clock.c */
/*
 * Passes the time to the PT unit: before its MSRs change and, while it is timed,
 * before each event.
 */
void cpu_sync_clock(struct cpu *cpu);
/* While the unit's buffer overflows: the next instruction is at NEXT. */
void cpu_tell_resume(struct cpu *cpu, uint64_t next);
/* The fast path is left after INSNS instructions. */
void cpu_set_limit(struct cpu *cpu, uint64_t insns);
/* CYCLES pass without an instruction. */
void cpu_pass_time(struct cpu *cpu, uint64_t cycles);
/* The cycle of the unit's next action; UINT64_MAX: none. */
uint64_t cpu_next_edge(const struct cpu *cpu);
/* After apic_reset(): the local APIC is one of a board. */
void cpu_set_apic_clock(struct cpu *cpu);
/* The first cycle in which the TSC has reached TSC; APIC_NEVER: out of reach. */
uint64_t cpu_cycle_of_tsc(const struct cpu *cpu, uint64_t tsc);

#endif
