/*
 * Breakpoints: addresses in DR0 to DR3, as DR7 enables them.  While one is enabled, the CPU
 * runs single instructions.  SDM vol. 3, 18.2 "Debug Registers", 18.3.1 "Debug Exception
 * (#DB)".
 *
 * Model choices: a REP traps after each iteration that hits, with RF in the saved RFLAGS
 * as it was, so that a breakpoint on the REP itself hits again then; operands with
 * 32-bit addresses are not truncated; the stores of an interrupt's delivery, and of PT
 * and the Debug Store, hit nothing.
 */
#include "emu/cpu/insn/insn_facts.h"
#include "emu/cpu/state.h"

#define RFLAGS_RF TZ_BIT(16)
#define ENABLED   UINT64_C(0xff) /* L and G of each */

/* DR7.R/W */
enum breakpoint_kind { ON_EXECUTION, ON_WRITE, ON_PORT, ON_ACCESS };

static enum breakpoint_kind
kind_of(const struct cpu_debug_regs *regs, unsigned n)
{
	return (enum breakpoint_kind)(regs->dr7 >> (16 + 4 * n) & 3);
}

static bool
is_enabled(const struct cpu_debug_regs *regs, unsigned n)
{
	return (regs->dr7 >> 2 * n & 3) != 0;
}

bool
cpu_has_breakpoints(const struct cpu *cpu)
{
	return (cpu->debug_regs.dr7 & ENABLED) != 0;
}

bool
cpu_has_port_breakpoints(const struct cpu *cpu)
{
	bool any = false;

	for (unsigned n = 0; n < TZ_ARRAY_LEN(cpu->debug_regs.dr); n++)
		any |= is_enabled(&cpu->debug_regs, n) &&
		    kind_of(&cpu->debug_regs, n) == ON_PORT;
	return any;
}

/* True for the one instruction that RFLAGS.RF lets pass. */
static bool
is_resumed(struct cpu *cpu)
{
	if ((engine_get(cpu->active, ENGINE_RFLAGS) & RFLAGS_RF) == 0)
		cpu->resumed = 0;
	else if (cpu->resumed == 0)
		cpu->resumed = cpu_insns(cpu) + 1;
	return cpu->resumed == cpu_insns(cpu) + 1;
}

static uint64_t
find_executed(const struct cpu_debug_regs *regs, uint64_t va)
{
	uint64_t hits = 0;

	for (unsigned n = 0; n < TZ_ARRAY_LEN(regs->dr); n++)
		if (is_enabled(regs, n) && kind_of(regs, n) == ON_EXECUTION &&
		    regs->dr[n] == va)
			hits |= TZ_BIT(n);
	return hits;
}

/* The breakpoints on data that an access of BYTES at VA hits. */
static uint64_t
find_accessed(const struct cpu_debug_regs *regs, uint64_t va, uint64_t bytes,
    bool written)
{
	static const uint8_t lengths[] = { 1, 2, 8, 4 };
	uint64_t hits = 0;

	for (unsigned n = 0; n < TZ_ARRAY_LEN(regs->dr); n++) {
		uint64_t length = lengths[regs->dr7 >> (18 + 4 * n) & 3];
		uint64_t begin = regs->dr[n] & ~(length - 1);

		if (is_enabled(regs, n) && begin < va + bytes &&
		    va < begin + length &&
		    (kind_of(regs, n) == ON_ACCESS ||
			(kind_of(regs, n) == ON_WRITE && written)))
			hits |= TZ_BIT(n);
	}
	return hits;
}

static uint64_t
address_of(const struct insn_facts_access *access, const struct insn_regs *regs)
{
	uint64_t va = (uint64_t)access->disp;

	if (access->base < TZ_ARRAY_LEN(regs->gpr))
		va += regs->gpr[access->base];
	if (access->index < TZ_ARRAY_LEN(regs->gpr))
		va += regs->gpr[access->index] * access->scale;
	if (access->segment == INSN_REG_FS_BASE)
		va += regs->fs_base;
	else if (access->segment == INSN_REG_GS_BASE)
		va += regs->gs_base;
	return va;
}

static uint64_t
find_data(struct cpu *cpu, uint64_t va, uint32_t size)
{
	uint8_t bytes[INSN_BYTES_MAX];
	struct insn_facts facts;
	struct insn_regs regs;
	uint64_t hits = 0;

	if (size > sizeof(bytes) ||
	    !walk_read(&cpu->space, (struct gva){ va }, bytes, size, NULL) ||
	    !insn_facts(bytes, size, va, &facts))
		return 0;
	cpu_read_regs(cpu, &regs);
	if ((facts.traits & INSN_TRAIT_REP) != 0 && regs.gpr[INSN_RCX] == 0)
		return 0;
	for (unsigned i = 0; i < facts.access_count; i++)
		hits |= find_accessed(&cpu->debug_regs,
		    address_of(&facts.access[i], &regs), facts.access[i].bytes,
		    facts.access[i].written);
	return hits;
}

bool
cpu_meets_breakpoint(struct cpu *cpu, uint64_t va, uint32_t size)
{
	struct cpu_debug_regs *regs = &cpu->debug_regs;
	uint64_t executed = find_executed(regs, va);

	regs->hits = 0;
	if (!is_resumed(cpu) && executed != 0) {
		regs->dr6 |= executed;
		return true;
	}
	regs->hits = find_data(cpu, va, size);
	return false;
}
