/*
 * The instructions that the engine must not run by itself, and the conditional
 * branches whose two ways out are the same address, so that only a look before
 * they run tells which it was.
 */
#include "emu/cpu/state.h"

static bool
hook_insn(void *arg, uint64_t va, unsigned index, const struct insn *insn,
    const uint8_t *bytes)
{
	struct cpu *cpu = arg;
	bool ambiguous = insn->class == INSN_COND &&
	    insn->target == va + insn->length;

	(void)index;
	(void)bytes;
	if (insn->class < INSN_TRAP_FIRST && !ambiguous)
		return true;
	for (size_t i = 0; i < cpu->hooked_count; i++) {
		if (cpu->hooked[i] == va)
			return true;
	}
	if (cpu->hooked_count == HOOKED_MAX) {
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "more than %d places with trapped instructions",
		    HOOKED_MAX);
		return false;
	}
	cpu->hooked[cpu->hooked_count++] = va;
	engine_hook(cpu->engine, va);
	return true;
}

bool
cpu_hook_sites(struct cpu *cpu, struct block *block)
{
	size_t before = cpu->hooked_count;

	if (cpu_is_stepping(cpu))
		return false;
	block_visit(block, &cpu->space, hook_insn, cpu);
	block->hooked = true;
	if (cpu->hooked_count == before && !cpu->over)
		return false;
	cpu->forget_va = block->va;
	cpu->forget_bytes = block->size;
	return true;
}

struct find_site {
	uint64_t va;
	struct insn insn;
	bool found;
};

static bool
match_site(void *arg, uint64_t va, unsigned index, const struct insn *insn,
    const uint8_t *bytes)
{
	struct find_site *site = arg;

	(void)index;
	(void)bytes;
	if (va == site->va) {
		site->found = true;
		site->insn = *insn;
	}
	return !site->found;
}

/* An instruction that the machine executes, or a branch to look at, is next. */
void
cpu_site(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg)
{
	struct cpu *cpu = arg;
	struct find_site site = { .va = va };
	struct insn_regs regs;
	uint8_t bytes[INSN_BYTES_MAX];

	(void)uc;
	(void)size;
	/* Stopped already at this address, or another program's code here. */
	if (cpu->block->insns == 0)
		return;
	block_visit(cpu->block, &cpu->space, match_site, &site);
	if (!site.found)
		return;
	if (site.insn.class == INSN_COND &&
	    site.insn.target == va + site.insn.length) {
		cpu_read_regs(cpu, &regs);
		TZ_ASSERT(walk_read(&cpu->space, (struct gva){ va }, bytes,
		    site.insn.length, NULL));
		cpu->cond_known = true;
		cpu->cond_taken = insn_cond_taken(
		    bytes, site.insn.length, &regs);
		return;
	}
	if (site.insn.class < INSN_TRAP_FIRST)
		return;
	cpu_cut_block(cpu, va);
	if (cpu->truth != NULL)
		truth_cut(cpu->truth, va);
	cpu->trapped = true;
	cpu->trap_rip = va;
	cpu->trap_insn = site.insn;
	engine_stop(cpu->active, va);
}
