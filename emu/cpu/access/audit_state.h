/* The accesses of an audit that a CPU has not reported yet (audit.c). */
#ifndef TOPAZ_EMU_CPU_ACCESS_AUDIT_STATE_H
#define TOPAZ_EMU_CPU_ACCESS_AUDIT_STATE_H

#include "emu/cpu/engine/block.h"

struct cpu;

/* The audit, and the accesses of a block that have not been reported yet. */
struct cpu_audit {
	struct audit code;         /* what is audited: cpu_set_audit() */
	const struct block *block; /* NULL: none is outstanding */
	unsigned next;             /* access */
	uint64_t value[ACCESS_VALUES];
	struct cpu_audit_site {
		const struct block_access *access;
		uint64_t va, frame;
		bool done; /* the access is done: see struct insn_access, .rep */
	} site[INSN_ACCESSES_MAX]; /* of the last instruction with an
				      .audit_site */
	struct access_sum frame;   /* RBP before what is being reported */
};

/* The audited BLOCK begins to run. */
void cpu_audit_begin(struct cpu *cpu, const struct block *block);
/* Instruction INSN of BLOCK, which is an .audit_site, is about to run. */
void cpu_audit_site(struct cpu *cpu, const struct block *block, unsigned insn);
/* Reports the accesses of the first INSN instructions of the running block. */
void cpu_audit_until(struct cpu *cpu, unsigned insn);
/* The same; the other instructions of the block do not run. */
void cpu_audit_cut(struct cpu *cpu, unsigned insn);
/* The block has run, and execution continues at VA. */
void cpu_audit_end(struct cpu *cpu, uint64_t va);
/* The machine is about to execute an instruction; the machine has executed it. */
void cpu_audit_trap(struct cpu *cpu, struct insn_uses *uses);
void cpu_audit_trapped(struct cpu *cpu, const struct insn_uses *uses);

#endif
