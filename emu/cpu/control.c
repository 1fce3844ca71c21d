/*
 * Stops, pauses and stepping of a CPU.
 */
#include "emu/cpu/state.h"

void
cpu_set_stop(struct cpu *cpu, uint64_t insns)
{
	cpu->stop.insns = insns;
	cpu->engines.step_left = 0;
}

void
cpu_pause(struct cpu *cpu)
{
	if (cpu->observer.called) {
		cpu->stop.pause_insns = cpu_count_insns(cpu) + 1;
		return;
	}
	cpu->stop.pause = cpu->attention = true;
	cpu_request_attention(cpu);
}

void
cpu_cancel_pause(struct cpu *cpu)
{
	cpu->stop.pause = false;
	cpu->stop.pause_insns = UINT64_MAX;
}

void
cpu_set_stepping(
    struct cpu *cpu, enum cpu_stepping stepping, uint64_t begin, uint64_t end)
{
	if (cpu->observer.stepping == stepping &&
	    cpu->observer.begin == begin && cpu->observer.end == end)
		return;
	cpu->observer.stepping = stepping;
	cpu->observer.begin = begin;
	cpu->observer.end = end;
	cpu->engines.step_left = 0;
	block_cache_forget_edges(cpu->code.blocks);
}

uint64_t
cpu_until_stop(const struct cpu *cpu)
{
	uint64_t insns = cpu_count_insns(cpu);
	uint64_t stop = cpu->stop.insns - insns;
	uint64_t pause = cpu->stop.pause_insns - insns;

	return stop < pause ? stop : pause;
}

uint64_t
cpu_until_look(const struct cpu *cpu)
{
	uint64_t stop = cpu_until_stop(cpu);
	uint64_t due = cpu->counters.due_insns - cpu_count_insns(cpu);

	return cpu->counters.due_insns != UINT64_MAX && due < stop ? due : stop;
}

bool
cpu_is_at_stop(const struct cpu *cpu)
{
	return cpu_until_stop(cpu) == 0 ||
	    (cpu->stop.pause && cpu->mode.place == PLACE_BOUNDARY);
}

bool
cpu_reached_stop(struct cpu *cpu)
{
	if (!cpu_is_at_stop(cpu))
		return false;
	if (cpu->stop.insns == cpu_count_insns(cpu))
		cpu->stop.insns = UINT64_MAX;
	cpu->engines.step_left = 0;
	cpu_cancel_pause(cpu);
	return true;
}

void
cpu_stop_run(struct cpu *cpu)
{
	cpu->stop.over = true;
	cpu->attention = true;
}
