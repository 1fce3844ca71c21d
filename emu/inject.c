/*
 * The deviations and faults of emu/base/deviation.def, done to a machine.
 */
#include "emu/machine_state.h"

/* Of a split instruction the rest comes later; the default schedule goes on: see sched.c. */
static bool
inject_switch(struct machine *machine, unsigned cpu, enum deviation_kind kind,
    uint64_t param)
{
	struct event event = {
		.kind = EVENT_DEVIATION,
		.cpu = (uint16_t)cpu,
		.insns = cpu_insns(machine->slot[cpu].cpu),
		.cycles = cpu_cycles(machine->slot[cpu].cpu),
		.a = kind,
		.b = param,
		.c = cpu_rip(machine->slot[cpu].cpu),
	};

	if (param >= machine->config.cpu_count || param == machine->turn.cpu ||
	    machine->slot[param].parked ||
	    machine_ready_time(machine, (unsigned)param) == MACHINE_NEVER ||
	    (kind == DEVIATION_SPLIT && !cpu_split(machine->slot[cpu].cpu)))
		return false;
	machine_emit(machine, &event);
	machine->turn.broken = false;
	machine->turn.forced = (int)param + 1;
	return true;
}

bool
machine_inject(struct machine *machine, unsigned cpu, enum deviation_kind kind,
    uint64_t param)
{
	TZ_ASSERT(machine->result == NULL);
	TZ_ASSERT(cpu < machine->config.cpu_count);
	TZ_ASSERT((unsigned)kind < DEVIATION_COUNT);
	if (machine->slot[cpu].parked)
		return false;
	if (kind == DEVIATION_SWITCH || kind == DEVIATION_SPLIT)
		return inject_switch(machine, cpu, kind, param);
	return cpu_inject(machine->slot[cpu].cpu, kind, param);
}
