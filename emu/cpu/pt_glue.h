/* A CPU's PT unit: its port, its time, its PMI.  Private to emu/cpu. */
#ifndef TOPAZ_EMU_CPU_PT_GLUE_H
#define TOPAZ_EMU_CPU_PT_GLUE_H

#include "emu/cpu/cost/cache.h"
#include "emu/cpu/cost/run.h"
#include "emu/pt/unit.h"

struct block;
struct cpu;

/* What the fast path counts down, in instructions and in their cost.  Owner: clock.c. */
struct cpu_time {
	int64_t left;       /* instructions until the limit */
	int64_t units_left; /* 1/COST_UNITS cycles until the limit */
};

/*
 * The clock: the cost of the instructions that have retired, and the cycles that pass
 * without one.  Owner: clock.c.
 */
struct cpu_clock {
	uint64_t limit_insns; /* retired so far = limit_insns - left */
	uint64_t limit_units; /* their cost = limit_units - units_left */
	uint64_t idle_cycles;
	/* Not used without the cost model. */
	struct cost_cache *known;
	struct cost_run run;                /* the last instructions */
	char unknown_form[INSN_FORM_BYTES]; /* of the first instruction that it does
					       not know; "": all are known */
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
/* The fast path is left after INSNS instructions, or in cycle CYCLES. */
void cpu_set_limit(struct cpu *cpu, uint64_t insns, uint64_t cycles);
/* The first COUNT instructions of BLOCK retire, and the one at NEXT follows. */
void cpu_retire_block(
    struct cpu *cpu, struct block *block, unsigned count, uint64_t next);
/* The string instruction at the end of BLOCK has made COUNT iterations, not retired. */
void cpu_pass_iterations(struct cpu *cpu, struct block *block, uint64_t count);
/* The instruction at RIP, not a part of a block, retires. */
void cpu_retire_one(struct cpu *cpu, uint64_t rip);
/* The cycle in which the instruction INDEX of BLOCK, which runs now, begins. */
uint64_t cpu_cycles_before(
    struct cpu *cpu, const struct block *block, unsigned index);
/* The most units that BLOCK can take. */
uint64_t cpu_units_of(struct cpu *cpu, struct block *block);
/* What the cost model adds to the state of the clock; 0 without it. */
uint64_t cpu_hash_cost(const struct cpu *cpu);
/* True if BLOCK, which is entered now, continues the run of the instructions before. */
bool cpu_continues_run(struct cpu *cpu, struct block *block);
/* CYCLES pass without an instruction. */
void cpu_pass_time(struct cpu *cpu, uint64_t cycles);
/* The cycle of the unit's next action; UINT64_MAX: none. */
uint64_t cpu_next_edge(const struct cpu *cpu);
/* After apic_reset(): the local APIC is one of a board. */
void cpu_set_apic_clock(struct cpu *cpu);
/* The first cycle in which the TSC has reached TSC; APIC_NEVER: out of reach. */
uint64_t cpu_cycle_of_tsc(const struct cpu *cpu, uint64_t tsc);

#endif
