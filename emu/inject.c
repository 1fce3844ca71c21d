/* The deviations of emu/base/deviation.def that affect the machine. */
#include "emu/machine_state.h"

static bool
can_switch(struct machine *machine, uint64_t to)
{
	return to < machine->config.cpu_count && to != machine->turn.cpu &&
	    !machine->slot[to].parked &&
	    machine_ready_time(machine, (unsigned)to) != MACHINE_NEVER;
}

bool
machine_inject(struct machine *machine, unsigned cpu, enum deviation_kind kind,
    uint64_t param)
{
	bool switches = deviation_info(kind)->usual == DEVIATION_EACH_CPU;

	TZ_ASSERT(machine->result == NULL);
	TZ_ASSERT(cpu < machine->config.cpu_count);
	if (machine->slot[cpu].parked ||
	    (switches && !can_switch(machine, param)) ||
	    !cpu_inject(machine->slot[cpu].cpu, kind, param))
		return false;
	if (switches) {
		/* The default schedule continues afterwards: see sched.c. */
		machine->turn.broken = false;
		machine->turn.forced = (int)param + 1;
	}
	return true;
}
