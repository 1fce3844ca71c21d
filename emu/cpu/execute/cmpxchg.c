/*
 * CMPXCHG8B, CMPXCHG16B and those CMPXCHG of 32 bits that Unicorn 2.1.1 executes
 * wrongly.  SDM vol. 2, "CMPXCHG8B/CMPXCHG16B - Compare and Exchange Bytes" and
 * "CMPXCHG - Compare and Exchange".  What Unicorn does:
 *
 * CMPXCHG8B and CMPXCHG16B leave garbage in RFLAGS, DF included, where an arithmetic
 * instruction precedes in the same block.  CMPXCHG of 32 bits clears bits 63:32 of RAX
 * where it must not write RAX, and those of a destination register that keeps its
 * value.
 */
#include "emu/cpu/state.h"

#include <string.h>

#define RFLAGS_CF    TZ_BIT(0)
#define RFLAGS_PF    TZ_BIT(2)
#define RFLAGS_AF    TZ_BIT(4)
#define RFLAGS_ZF    TZ_BIT(6)
#define RFLAGS_SF    TZ_BIT(7)
#define RFLAGS_OF    TZ_BIT(11)
#define RFLAGS_ARITH UINT64_C(0x8d5)

/* The operand's two halves, 4 or 8 bytes each. */
struct pair {
	uint64_t low, high;
};

static struct pair
load_pair(const struct walk_bytes *from, size_t count)
{
	uint8_t bytes[16];
	struct pair pair = { 0, 0 };

	TZ_ASSERT(count <= sizeof(bytes));
	cpu_load_operand(from, bytes, count);
	memcpy(&pair.low, bytes, count / 2);
	memcpy(&pair.high, bytes + count / 2, count / 2);
	return pair;
}

static void
store_pair(const struct walk_bytes *to, size_t count, struct pair pair)
{
	uint8_t bytes[16];

	TZ_ASSERT(count <= sizeof(bytes));
	memcpy(bytes, &pair.low, count / 2);
	memcpy(bytes + count / 2, &pair.high, count / 2);
	cpu_store_operand(to, bytes, count);
}

/* The bytes of the instruction, and its memory operand if it has one. */
static void
find_operand(struct cpu *cpu, const struct insn_regs *regs,
    uint8_t code[INSN_BYTES_MAX], struct insn_memory *memory)
{
	size_t length = cpu->trap.insn.length;

	TZ_ASSERT(walk_read(
	    &cpu->space, (struct gva){ cpu->trap.rip }, code, length, NULL));
	if (cpu->trap.insn.class == INSN_CMPXCHG32_REG)
		return;
	TZ_ASSERT(
	    insn_memory_operand(code, length, cpu->trap.rip, regs, memory));
	/* The operand is written whether or not the comparison succeeds: its page
	 * must be writable. */
	TZ_ASSERT(memory->written);
}

/* SDM vol. 1, 3.4.3.1 "Status Flags", of A - B. */
static uint64_t
compare(uint32_t a, uint32_t b)
{
	uint32_t difference = a - b;
	bool even = __builtin_parity(difference & 0xff) == 0;

	return (a < b ? RFLAGS_CF : 0) | (even ? RFLAGS_PF : 0) |
	    ((a ^ b ^ difference) & RFLAGS_AF) |
	    (difference == 0 ? RFLAGS_ZF : 0) |
	    (difference >> 31 ? RFLAGS_SF : 0) |
	    (((a ^ b) & (a ^ difference)) >> 31 ? RFLAGS_OF : 0);
}

enum fault
cpu_do_cmpxchg32(struct cpu *cpu, uint64_t *fault_va)
{
	uint8_t code[INSN_BYTES_MAX];
	struct insn_memory memory;
	struct walk_bytes bytes;
	struct insn_regs regs;
	enum fault fault;
	uint32_t old, new;
	int dest, source; /* numbers of registers; DEST -1: memory */

	cpu_read_regs(cpu, &regs);
	find_operand(cpu, &regs, code, &memory);
	insn_cmpxchg_operands(code, cpu->trap.insn.length, &dest, &source);
	new = (uint32_t)regs.gpr[source];
	if (dest < 0) {
		fault = cpu_access_ram(cpu, &memory, &bytes, fault_va);
		if (fault != FAULT_NONE || cpu->stop.over)
			return fault;
		cpu_load_operand(&bytes, &old, sizeof(old));
	} else {
		old = (uint32_t)regs.gpr[dest];
	}
	if (old != (uint32_t)regs.gpr[ENGINE_RAX])
		engine_set(cpu->active, ENGINE_RAX, old);
	else if (dest < 0)
		cpu_store_operand(&bytes, &new, sizeof(new));
	else
		engine_set(cpu->active, (enum engine_reg)dest, new);
	engine_set(cpu->active, ENGINE_RFLAGS,
	    (regs.rflags & ~RFLAGS_ARITH) |
		compare((uint32_t)regs.gpr[ENGINE_RAX], old));
	return FAULT_NONE;
}

enum fault
cpu_do_cmpxchg_pair(struct cpu *cpu, uint64_t *fault_va)
{
	uint8_t code[INSN_BYTES_MAX];
	struct insn_memory memory;
	struct walk_bytes bytes;
	struct insn_regs regs;
	struct pair old;
	enum fault fault;
	uint64_t mask;
	bool equal;

	cpu_read_regs(cpu, &regs);
	find_operand(cpu, &regs, code, &memory);
	TZ_ASSERT(memory.bytes == 8 || memory.bytes == 16);
	memory.aligned = memory.bytes == 16;
	fault = cpu_access_ram(cpu, &memory, &bytes, fault_va);
	if (fault != FAULT_NONE || cpu->stop.over)
		return fault;
	mask = memory.bytes == 16 ? UINT64_MAX : UINT32_MAX;
	old = load_pair(&bytes, memory.bytes);
	equal = old.low == (regs.gpr[ENGINE_RAX] & mask) &&
	    old.high == (regs.gpr[ENGINE_RDX] & mask);
	if (equal) {
		store_pair(&bytes, memory.bytes,
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
