/*
 * Single-stepping: the choice of the engine for the next code, the stops and pauses
 * that need an exact place, and the reports to the step observer.
 */
#include "emu/cpu/state.h"

/* This close to a stop, the step engine is chosen at once. */
#define STOP_NEAR_INSNS 16

bool
cpu_is_watched(const struct cpu *cpu, uint64_t begin, uint64_t end)
{
	return begin < cpu->watched_end && end > cpu->watched_begin;
}

/* True if code of [BEGIN, END) is to be reported to the step observer. */
static bool
is_stepped(const struct cpu *cpu, uint64_t begin, uint64_t end)
{
	switch (cpu->stepping) {
	case CPU_STEPPING_ALL:
		return true;
	case CPU_STEPPING_WATCHED:
		return cpu->nmi_blocked || cpu->in_interrupt ||
		    cpu_is_watched(cpu, begin, end);
	case CPU_STEPPING_NONE:
	default:
		return false;
	}
}

/*
 * The step engine counts down to a late NMI, even a blocked one, and to the
 * instruction at which an overflow is over.
 */
static bool
is_counting_down(const struct cpu *cpu)
{
	return cpu->step_left > 0 || (cpu->nmi_pending && cpu->nmi_wait > 0) ||
	    pt_unit_overflows(cpu->unit);
}

uint64_t
cpu_until_stop(const struct cpu *cpu)
{
	uint64_t insns = cpu_count_insns(cpu);
	uint64_t stop = cpu->stop_insns - insns;
	uint64_t pause = cpu->pause_insns - insns;

	return stop < pause ? stop : pause;
}

/* True if the step engine is needed before the next block is known. */
static bool
wants_step(struct cpu *cpu)
{
	uint64_t rip;

	if (cpu_until_stop(cpu) <= STOP_NEAR_INSNS)
		cpu->step_left = cpu_until_stop(cpu);
	if (is_counting_down(cpu))
		return true;
	if (cpu->stepping == CPU_STEPPING_NONE)
		return false;
	rip = engine_get(cpu->active, ENGINE_RIP);
	return is_stepped(cpu, rip, rip + 1);
}

void
cpu_use_engine(struct cpu *cpu, struct engine *engine)
{
	engine_copy(engine, cpu->active);
	cpu->active = engine;
	cpu->tlb_unsure = true;
}

void
cpu_choose_engine(struct cpu *cpu)
{
	bool step = cpu->stepper != NULL && wants_step(cpu);
	struct engine *next = step ? cpu->stepper : cpu->engine;

	if (next != cpu->active)
		cpu_use_engine(cpu, next);
	if (cpu->tlb_unsure)
		engine_flush_tlb(cpu->active);
	cpu->tlb_unsure = false;
}

void
cpu_see_tables(struct cpu *cpu)
{
	cpu->tlb_unsure = true;
	block_cache_reselect(cpu->blocks, &cpu->space);
}

bool
cpu_is_wrong_engine(struct cpu *cpu, const struct block *block)
{
	bool step;

	if (cpu->stepper == NULL)
		return false;
	step = is_counting_down(cpu) || cpu_until_stop(cpu) < block->insns ||
	    block->wary || is_stepped(cpu, block->va, block->va + block->size);
	/* Step through the whole block, so that the next choice is not the block
	 * engine again. */
	if (step && cpu->active != cpu->stepper &&
	    cpu->step_left < block->insns)
		cpu->step_left = block->insns;
	return step != (cpu->active == cpu->stepper);
}

bool
cpu_is_at_stop(const struct cpu *cpu)
{
	return cpu_until_stop(cpu) == 0 || (cpu->pause && cpu->at_boundary);
}

bool
cpu_reached_stop(struct cpu *cpu)
{
	if (!cpu_is_at_stop(cpu))
		return false;
	if (cpu->stop_insns == cpu_count_insns(cpu))
		cpu->stop_insns = UINT64_MAX;
	cpu->step_left = 0;
	cpu_cancel_pause(cpu);
	return true;
}

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
		.cpl = cpu->cpl,
		.trigger_en = pt_unit_trigger_en(cpu->unit),
		.in_nmi = cpu->nmi_blocked,
		.interrupts = engine_get(cpu->active, ENGINE_RFLAGS) &
		    RFLAGS_IF,
	};

	if (block->effect == 0)
		block->effect = find_effect(cpu, block);
	step.local = block->effect & EFFECT_LOCAL;
	step.split = block->effect & EFFECT_SPLIT;
	cpu->in_step = true;
	cpu->config.port.step(cpu->config.port.arg, cpu->config.id, &step);
	cpu->in_step = false;
}

/* The length of the instruction at VA; 1 if the bytes are not an instruction. */
static uint32_t
find_length(struct cpu *cpu, uint64_t va)
{
	const struct block *known = block_find_insn(cpu->blocks, va);
	uint8_t bytes[INSN_BYTES_MAX];
	size_t count = sizeof(bytes);
	struct insn insn;

	if (known != NULL && !block_is_stale(known))
		return known->size;
	while (count > 0 &&
	    !walk_read(&cpu->space, (struct gva){ va }, bytes, count, NULL))
		count--;
	return block_decode_insn(cpu->blocks, bytes, count, va, &insn)
	    ? insn.length
	    : 1;
}

void
cpu_step_enter(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg)
{
	struct cpu *cpu = arg;

	(void)uc;
	cpu->entered.va = va;
	cpu->entered.size = size;
	cpu->entered.block = NULL;
}

/*
 * The engine translates several instructions at once.  Each of them is checked when
 * it is about to run, because an instruction before it may have overwritten it.
 */
bool
cpu_is_translation_old(struct cpu *cpu, uint64_t va, uint32_t size)
{
	uint64_t begin = cpu->entered.va;
	const struct block *block = cpu->entered.block;

	TZ_ASSERT(va >= begin && va < begin + cpu->entered.size);
	if (block == NULL) {
		cpu->entered.block = cpu_find_block(
		    cpu, begin, cpu->entered.size);
		cpu->entered.age = block_cache_age(cpu->blocks);
		return false;
	}
	return cpu->entered.age != block_cache_age(cpu->blocks) ||
	    block_is_part_stale(
		block, (uint32_t)(va - begin), (uint32_t)(va - begin) + size);
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
	if (from->insns > 0 && !last && cpu->nmi_wait > 0)
		cpu->nmi_wait--;
	cpu_enter_slow(cpu, va, size);
	if (cpu->block == &cpu->nowhere)
		return;
	if (cpu->block->insns == 1)
		block_note_insn(cpu->blocks, cpu->block);
	if (!round) {
		cpu->step_left -= cpu->step_left > 0;
		if (is_stepped(cpu, va, va + 1))
			report(cpu, cpu->block);
	}
	if (cpu->block->has_sites)
		cpu_site(uc, va, size, cpu);
}
