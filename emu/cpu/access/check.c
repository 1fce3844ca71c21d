/*
 * Memory operands of the instructions that the machine executes, and of those that
 * the engine runs only if they do not fault: INSN_CHECKED.
 */
#include "emu/cpu/state.h"

#include <string.h>

#define CR0_WP TZ_BIT(16)

enum fault
cpu_access_memory(struct cpu *cpu, const struct insn_memory *memory,
    struct walk_bytes *bytes, uint64_t *fault_va)
{
	struct walk_access access = {
		.write = memory->written,
		.user = cpu->mode.cpl == 3,
		.protect = engine_get(cpu->active, ENGINE_CR0) & CR0_WP,
	};
	struct gva bad;

	if (!tz_is_canonical(memory->va) ||
	    !tz_is_canonical(memory->va + memory->bytes - 1))
		return memory->stack ? FAULT_SS : FAULT_GP;
	if (memory->aligned && memory->va % 16 != 0)
		return FAULT_GP;
	switch (walk_access(&cpu->space, (struct gva){ memory->va },
	    memory->bytes, &access, bytes, &bad)) {
	case WALK_FAULT:
		*fault_va = bad.u;
		return FAULT_PF;
	case WALK_NO_RAM:
		bytes->part[0] = NULL;
		return FAULT_NONE;
	case WALK_DONE:
	default:
		return FAULT_NONE;
	}
}

enum fault
cpu_access_ram(struct cpu *cpu, const struct insn_memory *memory,
    struct walk_bytes *bytes, uint64_t *fault_va)
{
	enum fault fault = cpu_access_memory(cpu, memory, bytes, fault_va);

	if (fault == FAULT_NONE && bytes->part[0] == NULL)
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "access of %u bytes to a device register at 0x%llx",
		    memory->bytes, (unsigned long long)cpu->trap.rip);
	return fault;
}

void
cpu_load_operand(const struct walk_bytes *bytes, void *operand, size_t count)
{
	uint8_t *to = operand;

	TZ_ASSERT(bytes->part[0] != NULL && bytes->split <= count);
	memcpy(to, bytes->part[0], bytes->split);
	if (count > bytes->split)
		memcpy(to + bytes->split, bytes->part[1], count - bytes->split);
}

void
cpu_store_operand(
    const struct walk_bytes *bytes, const void *operand, size_t count)
{
	const uint8_t *from = operand;

	TZ_ASSERT(bytes->part[0] != NULL && bytes->split <= count);
	memcpy(bytes->part[0], from, bytes->split);
	if (count > bytes->split)
		memcpy(
		    bytes->part[1], from + bytes->split, count - bytes->split);
}

enum fault
cpu_check_insn(struct cpu *cpu, uint64_t va, size_t length, uint64_t *fault_va)
{
	uint8_t code[INSN_BYTES_MAX];
	struct insn_memory memory;
	struct walk_bytes bytes;
	struct insn_regs regs;

	TZ_ASSERT(
	    walk_read(&cpu->space, (struct gva){ va }, code, length, NULL));
	cpu_read_regs(cpu, &regs);
	TZ_ASSERT(insn_memory_operand(code, length, va, &regs, &memory));
	return cpu_access_memory(cpu, &memory, &bytes, fault_va);
}
