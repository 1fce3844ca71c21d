/*
 * What every file of the machine does to its state: it reports an event, and ends the run.
 */
#include "emu/machine_state.h"

#include <stdio.h>

void
machine_describe_end(struct machine *machine, enum machine_end end,
    unsigned cpu, int code, const char *text)
{
	struct machine_result *result = machine->result;

	*result = (struct machine_result){
		.end = end,
		.code = code,
		.cpu = cpu,
		.rip = cpu_rip(machine->slot[cpu].cpu),
		.rbp = cpu_rbp(machine->slot[cpu].cpu),
	};
	snprintf(result->text, sizeof(result->text), "%s", text);
}

void
machine_end_run(struct machine *machine, enum machine_end end, unsigned cpu,
    int code, const char *text)
{
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_stop_run(machine->slot[i].cpu);
	machine_describe_end(machine, end, cpu, code, text);
}

void
machine_emit(struct machine *machine, const struct event *event)
{
	if (machine->observer.event != NULL)
		machine->observer.event(machine->observer.arg, event);
}
