/* The default schedule of the CPUs, and the main loop. */
#include "emu/machine_state.h"

/* With the cost model: no processor retires more. */
#define INSNS_A_CYCLE_MAX 16

uint64_t
machine_ready_time(struct machine *machine, unsigned id)
{
	struct slot *slot = &machine->slot[id];
	uint64_t due = MACHINE_NEVER, now;

	for (unsigned i = 0; i < slot->ipi_count; i++) {
		if (slot->ipi[i].due < due)
			due = slot->ipi[i].due;
	}
	if (slot->parked)
		return due;
	now = cpu_cycles(slot->cpu);
	if (!cpu_is_asleep(slot->cpu))
		return now;
	if (cpu_wake_due(slot->cpu) < due)
		due = cpu_wake_due(slot->cpu);
	/* Other CPUs must not run past a PMI with which its trace may wake it. */
	if (cpu_trace_wake_due(slot->cpu) < due)
		due = cpu_trace_wake_due(slot->cpu);
	return due > now ? due : now;
}

/*
 * The CPU that is ready first, or that DEVIATION_SWITCH has chosen, and the time at
 * which the first other CPU is ready.
 */
static unsigned
choose_cpu(struct machine *machine, uint64_t *first, uint64_t *second)
{
	unsigned chosen = 0;
	int forced = machine->turn.forced - 1;

	*first = *second = MACHINE_NEVER;
	for (unsigned i = 0; i < machine->config.cpu_count; i++) {
		uint64_t ready = machine_ready_time(machine, i);

		if (forced >= 0 && (unsigned)forced == i) {
			chosen = i;
			*first = ready;
		} else if (forced >= 0) {
			*second = ready < *second ? ready : *second;
		} else if (ready < *first) {
			*second = *first;
			*first = ready;
			chosen = i;
		} else if (ready < *second) {
			*second = ready;
		}
	}
	machine->turn.forced = 0;
	return chosen;
}

static void
note_switch(struct machine *machine, unsigned to)
{
	struct event event = {
		.kind = EVENT_SWITCH,
		.cpu = (uint16_t)to,
		.insns = cpu_insns(machine->slot[to].cpu),
		.cycles = cpu_cycles(machine->slot[to].cpu),
		.a = machine->turn.cpu,
	};

	if (machine->turn.cpu == to)
		return;
	machine->turn.cpu = to;
	cpu_see_tables(machine->slot[to].cpu);
	machine_emit(machine, &event);
}

static uint64_t
total_insns(const struct machine *machine)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		total += cpu_insns(machine->slot[i].cpu);
	return total;
}

/* Begins the next turn; false: no CPU can run. */
static bool
begin_turn(struct machine *machine)
{
	uint64_t first, second;
	unsigned id = choose_cpu(machine, &first, &second);

	if (first == MACHINE_NEVER) {
		machine_end_run(machine, MACHINE_DEADLOCK, machine->turn.cpu, 0,
		    "every CPU is halted and no interrupt is on its way");
		return false;
	}
	cpu_idle_until(machine->slot[id].cpu, first);
	machine_deliver_due(machine, id);
	note_switch(machine, id);
	machine->turn.limit = MACHINE_NEVER;
	/* A CPU that DEVIATION_SWITCH has put ahead of the others still gets a full
	 * quantum. */
	if (second != MACHINE_NEVER)
		machine->turn.limit = (second > first ? second : first) +
		    machine->config.quantum_cycles;
	for (unsigned i = 0; i < machine->slot[id].ipi_count; i++) {
		if (machine->slot[id].ipi[i].due < machine->turn.limit)
			machine->turn.limit = machine->slot[id].ipi[i].due;
	}
	return true;
}

/*
 * Runs one CPU to the end of its turn in the default schedule, but at most
 * INSNS_LEFT instructions or look_cycles cycles.  An interrupted turn continues at
 * the next call.  False: the run is over.
 */
static bool
run_turn(struct machine *machine, uint64_t insns_left)
{
	struct machine_turn *turn = &machine->turn;
	uint64_t look = machine->config.look_cycles;
	struct slot *slot;
	uint64_t stop;
	enum cpu_end end;

	if (!turn->broken && !begin_turn(machine))
		return false;
	slot = &machine->slot[turn->cpu];
	turn->broken = false;
	if (slot->parked)
		return true;
	if (cpu_set_has_cost(&machine->cpu_set))
		insns_left = insns_left / INSNS_A_CYCLE_MAX + 1;
	stop = cpu_cycles(slot->cpu) + (insns_left < look ? insns_left : look);
	end = cpu_run(slot->cpu, stop < turn->limit ? stop : turn->limit);
	turn->broken = end == CPU_STOPPED ||
	    (end == CPU_LIMIT && cpu_cycles(slot->cpu) < turn->limit);
	if (end == CPU_STOPPED)
		machine_describe_end(
		    machine, MACHINE_STOP, turn->cpu, 0, "stopped as asked to");
	return end != CPU_OVER && end != CPU_STOPPED;
}

void
machine_run(
    struct machine *machine, uint64_t insns_max, struct machine_result *result)
{
	uint64_t end = insns_max == 0 ? MACHINE_NEVER / 4 : insns_max;

	machine->result = result;
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_cancel_pause(machine->slot[i].cpu);
	for (;;) {
		uint64_t done = total_insns(machine);

		if (done >= end) {
			machine_describe_end(machine, MACHINE_LIMIT,
			    machine->turn.cpu, 0,
			    "the limit of instructions is reached");
			break;
		}
		if (!run_turn(machine, end - done))
			break;
		if (machine->observer.stop != NULL &&
		    machine->observer.stop(machine->observer.arg)) {
			machine_describe_end(machine, MACHINE_STOP,
			    machine->turn.cpu, 0, "stopped from outside");
			break;
		}
	}
	/* A stop must change nothing, not even where reports are split. */
	if (result->end != MACHINE_STOP && result->end != MACHINE_LIMIT)
		machine_sync_output(machine);
	machine->result = NULL;
}
