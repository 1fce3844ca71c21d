/*
 * The choice between the two engines: the one that runs blocks, which is fast, and
 * the one that runs single instructions, where an exact place is needed.
 */
#include "emu/cpu/state.h"

/* This close to a stop, the step engine is chosen at once. */
#define STOP_NEAR_INSNS   16

#define COST_SLACK_CYCLES 2

static bool
is_watched(const struct cpu *cpu, uint64_t begin, uint64_t end)
{
	return begin < cpu->observer.end && end > cpu->observer.begin;
}

bool
cpu_is_observed(const struct cpu *cpu, uint64_t begin, uint64_t end)
{
	switch (cpu->observer.stepping) {
	case CPU_STEPPING_ALL:
		return true;
	case CPU_STEPPING_WATCHED:
		return cpu->interrupts.nmi_blocked ||
		    cpu->interrupts.in_handler || is_watched(cpu, begin, end);
	case CPU_STEPPING_NONE:
	default:
		return false;
	}
}

/*
 * The step engine counts down to a late NMI, even a blocked one, and to the
 * instruction at which an overflow is over; and it looks for breakpoints.
 */
static bool
needs_each_insn(const struct cpu *cpu)
{
	return cpu->engines.step_left > 0 || cpu_has_breakpoints(cpu) ||
	    (cpu->interrupts.nmis > 0 && cpu->interrupts.nmi_wait > 0) ||
	    pt_unit_overflows(cpu->unit);
}

/* Cycles until a counter of a clock may overflow; UINT64_MAX: none does. */
static uint64_t
cycles_until_look(const struct cpu *cpu)
{
	uint64_t due = cpu_cycle_of_look(cpu), now = cpu_cycles(cpu);

	return due == UINT64_MAX ? due : due > now ? due - now : 0;
}

/* True if BLOCK could run past the cycle in which a counter may overflow. */
static bool
is_too_long(struct cpu *cpu, struct block *block)
{
	uint64_t cycles = cycles_until_look(cpu);
	/* The cost of a block that continues a run can be a little higher. */
	uint64_t slack = cpu->config.profile->cost ? COST_SLACK_CYCLES : 0;

	return cycles <= UINT32_MAX &&
	    cycles * COST_UNITS < cpu_units_of(cpu, block) + slack * COST_UNITS;
}

uint64_t
cpu_iterations_left(struct cpu *cpu, struct block *block, uint64_t units)
{
	uint64_t cycles = cycles_until_look(cpu);

	if (!cpu->config.profile->cost || cycles > UINT32_MAX)
		return UINT64_MAX;
	units += cpu_units_of(cpu, block) + COST_SLACK_CYCLES * COST_UNITS;
	if (cycles * COST_UNITS < units)
		return 0;
	return block->iteration == 0
	    ? UINT64_MAX
	    : (cycles * COST_UNITS - units) / block->iteration;
}

/* True if the step engine is needed before the next block is known. */
static bool
wants_step(struct cpu *cpu)
{
	uint64_t left = cpu_until_look(cpu), rip;

	if (cycles_until_look(cpu) < left)
		left = cycles_until_look(cpu);
	if (left <= STOP_NEAR_INSNS)
		cpu->engines.step_left = left;
	if (needs_each_insn(cpu))
		return true;
	if (cpu->observer.stepping == CPU_STEPPING_NONE)
		return false;
	rip = engine_get(cpu->active, ENGINE_RIP);
	return cpu_is_observed(cpu, rip, rip + 1);
}

void
cpu_use_engine(struct cpu *cpu, struct engine *engine)
{
	engine_copy(engine, cpu->active);
	cpu->active = engine;
	cpu->engines.tlb_unsure = true;
}

void
cpu_choose_engine(struct cpu *cpu)
{
	bool step = cpu->engines.stepper != NULL && wants_step(cpu);
	struct engine *next = step ? cpu->engines.stepper : cpu->engines.main;

	if (next != cpu->active)
		cpu_use_engine(cpu, next);
	if (cpu->engines.tlb_unsure)
		engine_flush_tlb(cpu->active);
	cpu->engines.tlb_unsure = false;
}

bool
cpu_is_wrong_engine(struct cpu *cpu, struct block *block)
{
	bool step;

	if (cpu->engines.stepper == NULL)
		return false;
	step = needs_each_insn(cpu) || cpu_until_look(cpu) < block->insns ||
	    is_too_long(cpu, block) || block->wary ||
	    cpu_is_observed(cpu, block->va, block->va + block->size);
	/* Step through the whole block, so that the next choice is not the block
	 * engine again. */
	if (step && cpu->active != cpu->engines.stepper &&
	    cpu->engines.step_left < block->insns)
		cpu->engines.step_left = block->insns;
	return step != (cpu->active == cpu->engines.stepper);
}
