/*
 * Memory operands of the instructions that the engine runs only where they do not
 * fault: INSN_CHECKED.
 */
#include "emu/cpu/state.h"

#define CR0_WP TZ_BIT(16)

/* A page walk that sets the flags which the access is going to set anyway. */
static enum fault
check_pages(
    struct cpu *cpu, const struct insn_memory *memory, uint64_t *fault_va)
{
	struct walk_access access = {
		.write = memory->written,
		.user = cpu->cpl == 3,
		.protect = engine_get(cpu->active, ENGINE_CR0) & CR0_WP,
	};
	struct walk_bytes bytes;
	struct gva bad;

	if (walk_access(&cpu->space, (struct gva){ memory->va }, memory->bytes,
		&access, &bytes, &bad) != WALK_FAULT)
		return FAULT_NONE;
	*fault_va = bad.u;
	return FAULT_PF;
}

static enum fault
check_memory(
    struct cpu *cpu, const struct insn_memory *memory, uint64_t *fault_va)
{
	if (!tz_is_canonical(memory->va) ||
	    !tz_is_canonical(memory->va + memory->bytes - 1))
		return memory->stack ? FAULT_SS : FAULT_GP;
	if (memory->aligned && memory->va % 16 != 0)
		return FAULT_GP;
	return check_pages(cpu, memory, fault_va);
}

enum fault
cpu_check_insn(struct cpu *cpu, uint64_t va, size_t length, uint64_t *fault_va)
{
	uint8_t code[INSN_BYTES_MAX];
	struct insn_memory memory;
	struct insn_regs regs;

	TZ_ASSERT(
	    walk_read(&cpu->space, (struct gva){ va }, code, length, NULL));
	cpu_read_regs(cpu, &regs);
	TZ_ASSERT(insn_memory_operand(code, length, va, &regs, &memory));
	return check_memory(cpu, &memory, fault_va);
}
