/*
 * Hooks for the instructions that the engine must not run by itself, for
 * conditional branches whose target is the next instruction, so that their outcome
 * is known only before they run, and for accesses whose address is known only then.
 */
#include "emu/cpu/state.h"

/* Makes the engine report [VA, LAST_VA]; true: it did not do so before. */
static bool
hook(struct cpu *cpu, uint64_t va, uint64_t last_va)
{
	struct engine_site *site = cpu->hooks.site;

	for (size_t i = 0; i < cpu->hooks.count; i++, site++) {
		if (site->va <= va && site->last_va >= last_va)
			return false;
	}
	TZ_ASSERT(cpu->hooks.count < HOOKED_MAX);
	cpu->hooks.count++;
	*site = (struct engine_site){ .va = va, .last_va = last_va };
	engine_hook(cpu->engines.main, site);
	return true;
}

/*
 * The engine looks at each hook of its list whenever it calls one, and most hooks are of
 * places that ran once: of a kernel's start, of programs that have ended.  So all are
 * dropped when there are an eighth more of them than there were SETTLE_CALLS calls after
 * the last drop; places that still run are hooked again.  A drop costs about as much as
 * SETTLE_CALLS calls.
 */
#define SETTLE_CALLS 8192

static bool
is_crowded(struct cpu_hooks *hooks)
{
	if (hooks->settled == 0 && hooks->calls >= SETTLE_CALLS)
		hooks->settled = hooks->count;
	return hooks->count == HOOKED_MAX ||
	    (hooks->settled != 0 &&
		hooks->count > hooks->settled + hooks->settled / 8);
}

void
cpu_shed_hooks(struct cpu *cpu)
{
	struct cpu_hooks *hooks = &cpu->hooks;

	if (!is_crowded(hooks))
		return;
	engine_unhook(cpu->engines.main, hooks->site, hooks->count);
	block_cache_unhook(cpu->code.blocks);
	hooks->count = hooks->settled = 0;
	hooks->calls = 0;
}

/* A branch whose outcome does not follow from the next address. */
static bool
is_unclear(const struct block *block, const struct block_insn *insn)
{
	return block->ambiguous && block->va + insn->at == block->last_va;
}

/* True if the engine may run the instruction only after a check. */
static bool
is_looked_at(const struct block_insn *insn)
{
	return insn->class >= INSN_SITE_FIRST && insn->class < INSN_TRAP_FIRST;
}

static bool
is_site(const struct cpu *cpu, const struct block *block,
    const struct block_insn *insn)
{
	return is_looked_at(insn) || insn->audit_site ||
	    cpu_is_trapped(cpu, (enum insn_class)insn->class) ||
	    is_unclear(block, insn);
}

bool
cpu_has_misplaced(struct cpu *cpu, const struct block *block)
{
	for (unsigned i = 0; i < block->wide_count; i++) {
		const struct block_wide *wide = &block->wide[i];
		uint64_t va = wide->add;

		if (wide->base != INSN_NO_REG)
			va += engine_get(
			    cpu->active, (enum engine_reg)wide->base);
		if (wide->index != INSN_NO_REG)
			va += wide->scale *
			    engine_get(
				cpu->active, (enum engine_reg)wide->index);
		if (!block_wide_is_right(wide, va))
			return true;
	}
	return false;
}

/* True if the engine runs BLOCK without hooks, or the step engine this instruction. */
static bool
is_right(struct cpu *cpu, const struct block *block)
{
	return block->wide_count > 0 && !block->hooked &&
	    !(cpu_is_stepping(cpu) && cpu_has_misplaced(cpu, block));
}

/* Is an instruction in [BEGIN, END) hooked, such as one of other code that was there? */
static bool
has_hook(const struct cpu *cpu, uint64_t begin, uint64_t end)
{
	const struct engine_site *site = cpu->hooks.site;

	for (size_t i = 0; i < cpu->hooks.count; i++, site++) {
		if (site->va < end && site->last_va >= begin)
			return true;
	}
	return false;
}

bool
cpu_hook_sites(struct cpu *cpu, struct block *block)
{
	unsigned first = 0, last = block->insns;

	if (cpu_is_stepping(cpu) ||
	    (block->wide_count > 0 && !cpu_has_misplaced(cpu, block)))
		return false;
	block->hooked = true;
	while (last > 0 && !is_site(cpu, block, &block->insn[last - 1]))
		last--;
	while (first < last && !is_site(cpu, block, &block->insn[first]))
		first++;
	/*
	 * All from the first to the last, and from the begin if another is hooked there:
	 * see engine_hook().  The engine may have translated a block with .wide before.
	 */
	if (last > 0 &&
	    has_hook(cpu, block->va, block->va + block->insn[first].at))
		first = 0;
	if (last == 0 ||
	    (!hook(cpu, block->va + block->insn[first].at,
		 block->va + block->insn[last - 1].at) &&
		block->wide_count == 0 && !cpu->stop.over))
		return false;
	cpu_forget_code(cpu, block->va, block->size);
	return true;
}

/* Determines the outcome of the branch at VA before it runs. */
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
	cpu->sites.outcome = insn_cond_taken(bytes, length, &regs)
	    ? COND_TAKEN
	    : COND_NOT_TAKEN;
}

/* True if the engine may run INSN at VA in the current state. */
static bool
is_harmless(struct cpu *cpu, uint64_t va, const struct block_insn *insn)
{
	uint64_t fault_va;

	switch ((int)insn->class) {
	case INSN_CHECKED:
		return cpu_check_insn(cpu, va, insn->length, &fault_va) ==
		    FAULT_NONE;
	case INSN_CMPXCHG32:
		return engine_get(cpu->active, ENGINE_RAX) >> 32 == 0;
	default:
		return false;
	}
}

void
cpu_stop_before(
    struct cpu *cpu, uint64_t va, enum insn_class class, uint8_t length)
{
	cpu_cut_block(cpu, va);
	if (cpu->exec_log != NULL)
		exec_log_cut(cpu->exec_log, va);
	cpu->trap.pending = true;
	cpu->trap.rip = va;
	cpu->trap.insn = (struct insn){ .class = class, .length = length };
	engine_stop(cpu->active, va);
}

/* The next instruction is one that the machine executes, or a branch to check. */
void
cpu_site(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg)
{
	struct cpu *cpu = arg;
	const struct block *block = cpu->block;
	const struct block_insn *insn = block_insn_at(block, va);

	(void)uc;
	(void)size;
	cpu->hooks.calls++;
	/* Already stopped at this address, or other code is mapped here now. */
	if (insn == NULL || !is_site(cpu, block, insn) || is_right(cpu, block))
		return;
	if (insn->audit_site)
		cpu_audit_site(cpu, block, (unsigned)(insn - block->insn));
	if (is_looked_at(insn)
		? is_harmless(cpu, va, insn)
		: !cpu_is_trapped(cpu, (enum insn_class)insn->class)) {
		if (is_unclear(block, insn))
			look_at_branch(cpu, va, insn->length);
		return;
	}
	cpu_stop_before(cpu, va, (enum insn_class)insn->class, insn->length);
}
