/*
 * Reports loads, stores and calls of audited code when a block is left, for the
 * part of it that has run, in the order of its instructions.  Registers are read at
 * the begin and the end of the block and, if neither has the values, just before an
 * instruction (access.h), so that other code has no cost.
 */
#include "emu/cpu/state.h"

#include <assert.h>

static_assert((int)INSN_RBP == (int)ENGINE_RBP, "the order of the encoding");

/* Reads a register by its number in struct insn_access. */
static inline uint64_t
read_reg(struct cpu *cpu, unsigned reg)
{
	if (reg == INSN_REG_FS_BASE)
		return engine_get(cpu->active, ENGINE_FS_BASE);
	if (reg == INSN_REG_GS_BASE)
		return engine_get(cpu->active, ENGINE_GS_BASE);
	return engine_get(cpu->active, (enum engine_reg)reg);
}

/* Reads the registers in REGS, one bit each, into VALUE[register]. */
static inline void
read_regs(struct cpu *cpu, uint32_t regs, uint64_t *value)
{
	for (; regs != 0; regs &= regs - 1) {
		unsigned reg = (unsigned)__builtin_ctz(regs);

		value[reg] = read_reg(cpu, reg);
	}
}

uint64_t
cpu_audit_frame(struct cpu *cpu)
{
	const struct cpu_audit *audit = &cpu->audit;
	const struct access_sum *frame = &audit->frame;

	if (frame->place == INSN_NO_REG)
		return frame->add;
	if (frame->place < ACCESS_AT_END)
		return audit->value[frame->place] + frame->add;
	return read_reg(cpu, (unsigned)(frame->place - ACCESS_AT_END)) +
	    frame->add;
}

static inline void
report(struct cpu *cpu, const struct block *block,
    const struct block_access *access, uint64_t va)
{
	const struct audit_access report = {
		.cpu = cpu->config.id,
		.bytes = access->at.bytes,
		.insns = cpu_count_insns(cpu) + access->insn,
		.rip = block->va + block->insn[access->insn].at,
		.va = va,
		.write = access->at.write,
	};

	cpu->config.port.access(cpu->config.port.arg, &report);
}

void
cpu_audit_begin(struct cpu *cpu, const struct block *block)
{
	struct cpu_audit *audit = &cpu->audit;

	audit->block = block;
	audit->next = 0;
	read_regs(cpu, block->reads_first, audit->value);
}

void
cpu_audit_site(struct cpu *cpu, const struct block *block, unsigned insn)
{
	struct cpu_audit *audit = &cpu->audit;
	uint64_t value[INSN_REGS] = { 0 };
	unsigned count = 0;

	cpu_audit_until(cpu, insn);
	for (unsigned i = audit->next; i < block->access_count; i++) {
		const struct block_access *access = &block->access[i];

		if (access->insn != insn)
			break;
		read_regs(cpu, (uint32_t)access_places(access), value);
		audit->site[count++] = (struct cpu_audit_site){
			.access = access,
			.va = insn_access_va(&access->at, value),
			.frame = read_reg(cpu, INSN_RBP),
			.done = access_is_done(access, value),
		};
	}
}

static void
report_site(struct cpu *cpu, const struct block_access *access)
{
	struct cpu_audit *audit = &cpu->audit;

	for (unsigned i = 0; i < TZ_ARRAY_LEN(audit->site); i++) {
		const struct cpu_audit_site *site = &audit->site[i];

		if (site->access != access || !site->done)
			continue;
		audit->frame = (struct access_sum){ INSN_NO_REG, site->frame };
		report(cpu, audit->block, access, site->va);
	}
}

void
cpu_audit_until(struct cpu *cpu, unsigned insn)
{
	struct cpu_audit *audit = &cpu->audit;
	const struct block *block = audit->block;
	const struct block_access *access, *end;
	uint64_t *value = audit->value;

	if (block == NULL)
		return;
	access = block->access + audit->next;
	end = block->access + block->access_count;
	if (access == end || access->insn >= insn)
		return;
	read_regs(cpu, block->reads_last, value + ACCESS_AT_END);
	for (; access < end && access->insn < insn; access++, audit->next++) {
		if (access->site) {
			report_site(cpu, access);
		} else if (access_is_done(access, value)) {
			audit->frame = access->frame;
			report(cpu, block, access,
			    insn_access_va(&access->at, value));
		}
	}
}

void
cpu_audit_cut(struct cpu *cpu, unsigned insn)
{
	cpu_audit_until(cpu, insn);
	cpu->audit.block = NULL;
}

/* The last instruction of BLOCK has led to TARGET. */
static void
report_call(struct cpu *cpu, const struct block *block, uint64_t target)
{
	const struct audit_call call = {
		.cpu = cpu->config.id,
		.insns = cpu_count_insns(cpu) + block->insns - 1,
		.rip = block->last_va,
		.function = target,
		.arg = { engine_get(cpu->active, ENGINE_RDI),
		    engine_get(cpu->active, ENGINE_RSI),
		    engine_get(cpu->active, ENGINE_RDX) },
	};

	cpu->audit.frame = (struct access_sum){ ACCESS_AT_END + INSN_RBP, 0 };
	cpu->config.port.call(cpu->config.port.arg, &call);
}

void
cpu_audit_end(struct cpu *cpu, uint64_t va)
{
	const struct block *block = cpu->audit.block;

	if (block == NULL)
		return;
	cpu_audit_cut(cpu, block->insns);
	if (block->calls && audit_has_function(&cpu->audit.code, va))
		report_call(cpu, block, va);
}

/* True if an instruction of CLASS, which the machine executes, can access memory. */
static bool has_memory(enum insn_class class)
{
	return (class >= INSN_XSAVE && class <= INSN_XRSTORS) ||
	    class == INSN_PTWRITE || class == INSN_CMPXCHG_PAIR ||
	    class == INSN_FLOAT;
}

void
cpu_audit_trap(struct cpu *cpu, struct insn_uses *uses)
{
	uint8_t bytes[INSN_BYTES_MAX];

	uses->access_count = 0;
	if (!has_memory(cpu->trap.insn.class) ||
	    !audit_has(&cpu->audit.code, cpu->trap.rip))
		return;
	TZ_ASSERT(walk_read(&cpu->space, (struct gva){ cpu->trap.rip }, bytes,
	    cpu->trap.insn.length, NULL));
	insn_uses(bytes, cpu->trap.insn.length, cpu->trap.rip, uses);
	read_regs(cpu, (UINT32_C(1) << INSN_REGS) - 1, cpu->audit.value);
}

void
cpu_audit_trapped(struct cpu *cpu, const struct insn_uses *uses)
{
	for (unsigned i = 0; i < uses->access_count; i++) {
		const struct insn_access *at = &uses->access[i];
		const struct audit_access access = {
			.cpu = cpu->config.id,
			.bytes = at->bytes,
			.insns = cpu_count_insns(cpu),
			.rip = cpu->trap.rip,
			.va = insn_access_va(at, cpu->audit.value),
			.write = at->write,
		};

		cpu->audit.frame = (struct access_sum){ INSN_RBP, 0 };
		cpu->config.port.access(cpu->config.port.arg, &access);
	}
}

void
cpu_set_audit(struct cpu *cpu, const struct audit *audit)
{
	TZ_ASSERT(cpu->block == &cpu->nowhere && cpu->audit.block == NULL);
	cpu->audit.code = *audit;
	block_cache_set_audit(cpu->code.blocks, audit);
}
