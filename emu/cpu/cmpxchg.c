/*
 * CMPXCHG8B and CMPXCHG16B.  The engine does not execute them: Unicorn 2.1.1 leaves
 * garbage in RFLAGS, DF included, where an arithmetic instruction precedes in the
 * same block.  SDM vol. 2, "CMPXCHG8B/CMPXCHG16B - Compare and Exchange Bytes".
 */
#include "emu/cpu/state.h"

#include <string.h>

#define RFLAGS_ZF TZ_BIT(6)

/* Half of the operand, a word, is 4 or 8 bytes. */
struct pair {
	uint64_t low, high;
};

static struct pair
load(const struct walk_bytes *from, size_t count)
{
	uint8_t bytes[16];
	struct pair pair = { 0, 0 };

	memcpy(bytes, from->part[0], from->split);
	if (count > from->split)
		memcpy(bytes + from->split, from->part[1], count - from->split);
	memcpy(&pair.low, bytes, count / 2);
	memcpy(&pair.high, bytes + count / 2, count / 2);
	return pair;
}

static void
store(const struct walk_bytes *to, size_t count, struct pair pair)
{
	uint8_t bytes[16];

	memcpy(bytes, &pair.low, count / 2);
	memcpy(bytes + count / 2, &pair.high, count / 2);
	memcpy(to->part[0], bytes, to->split);
	if (count > to->split)
		memcpy(to->part[1], bytes + to->split, count - to->split);
}

static void
find_operand(struct cpu *cpu, struct insn_memory *memory)
{
	uint8_t code[INSN_BYTES_MAX];
	size_t length = cpu->trap_insn.length;
	struct insn_regs regs;

	TZ_ASSERT(walk_read(
	    &cpu->space, (struct gva){ cpu->trap_rip }, code, length, NULL));
	cpu_read_regs(cpu, &regs);
	TZ_ASSERT(
	    insn_memory_operand(code, length, cpu->trap_rip, &regs, memory));
	TZ_ASSERT(memory->bytes == 8 || memory->bytes == 16);
}

enum fault
cpu_do_cmpxchg_pair(struct cpu *cpu, uint64_t *fault_va)
{
	struct insn_memory memory;
	struct walk_bytes bytes;
	struct insn_regs regs;
	struct pair old;
	enum fault fault;
	uint64_t mask;
	bool equal;

	find_operand(cpu, &memory);
	memory.aligned = memory.bytes == 16;
	/* It is written whatever the comparison says: its page must allow it. */
	TZ_ASSERT(memory.written);
	fault = cpu_access_ram(cpu, &memory, &bytes, fault_va);
	if (fault != FAULT_NONE || cpu->over)
		return fault;
	cpu_read_regs(cpu, &regs);
	mask = memory.bytes == 16 ? UINT64_MAX : UINT32_MAX;
	old = load(&bytes, memory.bytes);
	equal = old.low == (regs.gpr[ENGINE_RAX] & mask) &&
	    old.high == (regs.gpr[ENGINE_RDX] & mask);
	if (equal) {
		store(&bytes, memory.bytes,
		    (struct pair){
			regs.gpr[ENGINE_RBX], regs.gpr[ENGINE_RCX] });
	} else {
		engine_set(cpu->active, ENGINE_RAX, old.low);
		engine_set(cpu->active, ENGINE_RDX, old.high);
	}
	engine_set(cpu->active, ENGINE_RFLAGS,
	    equal ? regs.rflags | RFLAGS_ZF : regs.rflags & ~RFLAGS_ZF);
	return FAULT_NONE;
}
