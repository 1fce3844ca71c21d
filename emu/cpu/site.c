/*
 * The instructions that the engine must not run by itself, the conditional branches
 * whose two ways out are the same address, so that only a look before they run tells
 * which it was, and the accesses whose addresses only such a look tells.
 */
#include "emu/cpu/state.h"

/* False: the run is over. */
static bool
hook(struct cpu *cpu, uint64_t va)
{
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

static bool
is_site(const struct cpu *cpu, const struct block *block,
    const struct block_insn *insn)
{
	return cpu_is_trapped(cpu, (enum insn_class)insn->class) ||
	    insn->audit_site ||
	    (block->ambiguous && block->va + insn->at == block->last_va);
}

bool
cpu_hook_sites(struct cpu *cpu, struct block *block)
{
	size_t before = cpu->hooked_count;

	if (cpu_is_stepping(cpu))
		return false;
	for (unsigned i = 0; i < block->insns; i++) {
		const struct block_insn *insn = &block->insn[i];

		if (is_site(cpu, block, insn) &&
		    !hook(cpu, block->va + insn->at))
			break;
	}
	block->hooked = true;
	if (cpu->hooked_count == before && !cpu->over)
		return false;
	cpu->forget_va = block->va;
	cpu->forget_bytes = block->size;
	return true;
}

/* Which way the branch at VA will go. */
static void
look_at_branch(struct cpu *cpu, uint64_t va, uint8_t length)
{
	struct insn_regs regs = {
		.gpr[ENGINE_RCX] = engine_get(cpu->active, ENGINE_RCX),
		.rflags = engine_get(cpu->active, ENGINE_RFLAGS),
	};
	uint8_t bytes[INSN_BYTES_MAX];

	TZ_ASSERT(
	    walk_read(&cpu->space, (struct gva){ va }, bytes, length, NULL));
	cpu->cond_known = true;
	cpu->cond_taken = insn_cond_taken(bytes, length, &regs);
}

/* An instruction that the machine executes, or a branch to look at, is next. */
void
cpu_site(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg)
{
	struct cpu *cpu = arg;
	const struct block *block = cpu->block;
	const struct block_insn *insn = block_insn_at(block, va);

	(void)uc;
	(void)size;
	/* Stopped already at this address, or another program's code here. */
	if (insn == NULL || !is_site(cpu, block, insn))
		return;
	if (!cpu_is_trapped(cpu, (enum insn_class)insn->class)) {
		if (insn->audit_site)
			cpu_audit_site(
			    cpu, block, (unsigned)(insn - block->insn));
		else
			look_at_branch(cpu, va, insn->length);
		return;
	}
	cpu_cut_block(cpu, va);
	if (cpu->truth != NULL)
		truth_cut(cpu->truth, va);
	cpu->trapped = true;
	cpu->trap_rip = va;
	cpu->trap_insn = (struct insn){
		.class = (enum insn_class)insn->class,
		.length = insn->length,
	};
	engine_stop(cpu->active, va);
}
