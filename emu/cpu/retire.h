/* Blocks, as they are entered and left.  Private to emu/cpu. */
#ifndef TOPAZ_EMU_CPU_RETIRE_H
#define TOPAZ_EMU_CPU_RETIRE_H

#include "emu/cpu/engine/block.h"
#include "emu/pt/unit.h"

struct cpu;
struct uc_struct;

/* The place between two instructions where the CPU is. */
enum cpu_place {
	PLACE_INSIDE,    /* straight code: a stop or an NMI is taken here */
	PLACE_AFTER_STI, /* the same; STI has just run */
	PLACE_BOUNDARY,  /* after a transfer, or an instruction that the CPU
			    executed itself: interrupts are taken here, too, and
			    cpu_run() may return */
};

/*
 * The state between two instructions that is not in a register of the engine: the
 * SDM's privilege level and activity state (HLT).  Owner: leave.c; what transfers
 * control outside the engine sets it, too.
 */
struct cpu_mode {
	uint8_t cpl;
	bool halted;
	enum cpu_place place;
	uint64_t kernel_since; /* instructions retired when the CPU last left
				  ring 3 or halted */
};

/* leave.c */
/* True if FROM ends with a string instruction at VA that repeats: it has not retired. */
static inline bool
cpu_is_rep_again(const struct block *from, uint64_t va)
{
	return from->last.class == INSN_REP && va == from->last_va;
}
/* The same, or an instruction that the engine restarted before it did anything. */
bool cpu_is_again(const struct block *from, uint64_t va, uint32_t size);
/* The code of cpu->block has run to its end and continues at VA. */
void cpu_leave_block(struct cpu *cpu, uint64_t va);
/* cpu->block was left at RIP, whose instruction has not retired. */
void cpu_cut_block(struct cpu *cpu, uint64_t rip);
/* VECTOR is the event's vector, or -1. */
void cpu_transfer(struct cpu *cpu, enum pt_transfer_kind kind, int vector,
    uint64_t from, uint64_t to);

/* retire.c: the callback of the engine that runs blocks. */
void cpu_enter(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg);
/* cpu_enter() without its fast path. */
void cpu_enter_slow(struct cpu *cpu, uint64_t va, uint32_t size);

#endif
