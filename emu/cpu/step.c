/*
 * Single-stepping: the step engine's announcements, and the reports to the step
 * observer.
 */
#include "emu/cpu/engine/stale.h"
#include "emu/cpu/state.h"

/* The constant properties of BLOCK, a single instruction: EFFECT_*. */
static uint8_t
find_effect(struct cpu *cpu, const struct block *block)
{
	uint8_t bytes[INSN_BYTES_MAX];

	if (block->insns == 0 ||
	    !walk_read(&cpu->space, (struct gva){ block->va }, bytes,
		block->size, NULL))
		return EFFECT_KNOWN;
	return EFFECT_KNOWN |
	    (insn_is_local(bytes, block->size) ? EFFECT_LOCAL : 0) |
	    (insn_is_split(bytes, block->size) ? EFFECT_SPLIT : 0);
}

/* The block of the single instruction that is about to run. */
static void
report(struct cpu *cpu, struct block *block)
{
	struct cpu_step step = {
		.rip = block->va,
		.cpl = cpu->mode.cpl,
		.trigger_en = pt_unit_trigger_en(cpu->unit),
		.in_nmi = cpu->interrupts.nmi_blocked,
		.counts = pmu_interrupting(&cpu->pmu) != 0,
		.interrupts = engine_get(cpu->active, ENGINE_RFLAGS) &
		    RFLAGS_IF,
	};

	if (block->effect == 0)
		block->effect = find_effect(cpu, block);
	step.local = block->effect & EFFECT_LOCAL;
	step.split = block->effect & EFFECT_SPLIT;
	cpu->observer.called = true;
	cpu->config.port.step(cpu->config.port.arg, cpu->config.id, &step);
	cpu->observer.called = false;
}

/* The length of the instruction at VA; 1 if the bytes are not an instruction. */
static uint32_t
find_length(struct cpu *cpu, uint64_t va)
{
	const struct block *known = block_find_insn(cpu->code.blocks, va);
	uint8_t bytes[INSN_BYTES_MAX];
	size_t count = sizeof(bytes);
	struct insn insn;

	if (known != NULL && !block_is_stale(known))
		return known->size;
	while (count > 0 &&
	    !walk_read(&cpu->space, (struct gva){ va }, bytes, count, NULL))
		count--;
	return block_decode_insn(cpu->code.blocks, bytes, count, va, &insn)
	    ? insn.length
	    : 1;
}

/* The step engine announces every instruction; a REP, every iteration. */
void
cpu_step(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg)
{
	struct cpu *cpu = arg;
	struct block *from = cpu->block;
	bool round, last;

	size = find_length(cpu, va);
	/* The engine may announce a string instruction again when RCX is 0. */
	round = from->insns > 0 && cpu_is_again(from, va, size);
	last = round && cpu_is_rep_again(from, va) &&
	    engine_get(cpu->active, ENGINE_RCX) == 0;
	if (from->insns > 0 && !last)
		cpu_count_down_nmi(cpu);
	cpu_enter_slow(cpu, va, size);
	if (cpu->block == &cpu->nowhere)
		return;
	if (cpu->block->insns == 1)
		block_note_insn(cpu->code.blocks, cpu->block);
	if (!round) {
		cpu->engines.step_left -= cpu->engines.step_left > 0;
		if (cpu_is_observed(cpu, va, va + 1))
			report(cpu, cpu->block);
	}
	if (cpu_has_breakpoints(cpu) && cpu_meets_breakpoint(cpu, va, size)) {
		cpu_stop_before(cpu, va, INSN_BREAKPOINT, (uint8_t)size);
		return;
	}
	if (cpu->block->has_sites)
		cpu_site(uc, va, size, cpu);
}
