/*
 * What a CPU still has to report of an audit, and when it does (audit.c).
 */
#ifndef TOPAZ_EMU_CPU_ACCESS_AUDIT_STATE_H
#define TOPAZ_EMU_CPU_ACCESS_AUDIT_STATE_H

#include "emu/cpu/engine/block.h"

struct cpu;

/* The accesses of a block that have not been reported yet. */
struct cpu_audit {
	const struct block *block; /* NULL: none is outstanding */
	unsigned next;             /* access */
	uint64_t value[ACCESS_VALUES];
	struct cpu_audit_site {
		const struct block_access *access;
		uint64_t va, frame;
		bool done;         /* it is one: see struct insn_access, .rep */
	} site[INSN_ACCESSES_MAX]; /* of the last instruction looked at */
	struct access_sum frame;   /* RBP before what is being reported */
};

/* BLOCK, which is audited, begins to run. */
void cpu_audit_begin(struct cpu *cpu, const struct block *block);
/* The instruction with the number INSN, an .audit_site of BLOCK, is about to run. */
void cpu_audit_site(struct cpu *cpu, const struct block *block, unsigned insn);
/* Reports the accesses of the first INSN instructions of the block that runs. */
void cpu_audit_until(struct cpu *cpu, unsigned insn);
/* The same, and the others do not run. */
void cpu_audit_cut(struct cpu *cpu, unsigned insn);
/* The block has run and led to VA. */
void cpu_audit_end(struct cpu *cpu, uint64_t va);
/* An instruction is about to be executed by the machine, and has been. */
void cpu_audit_trap(struct cpu *cpu, struct insn_uses *uses);
void cpu_audit_trapped(struct cpu *cpu, const struct insn_uses *uses);

#endif
