/*
 * What a CPU reports to its machine: events, and that the run is over.
 */
#include "emu/cpu/state.h"

#include <stdarg.h>
#include <stdio.h>

void
cpu_emit(
    struct cpu *cpu, enum event_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
	struct event event = {
		.kind = (uint16_t)kind,
		.cpu = (uint16_t)cpu->config.id,
		.insns = cpu_count_insns(cpu),
		.cycles = cpu_cycles(cpu),
		.a = a,
		.b = b,
		.c = c,
	};

	if (cpu->faults.note.pending)
		cpu_emit_deviation(cpu);
	cpu->config.port.event(cpu->config.port.arg, &event);
}

void
cpu_emit_deviation(struct cpu *cpu)
{
	if (!cpu->faults.note.pending)
		return;
	cpu->faults.note.pending = false;
	cpu_emit(cpu, EVENT_DEVIATION, (uint64_t)cpu->faults.note.kind,
	    cpu->faults.note.param, cpu_rip(cpu));
}

void
cpu_end_run(struct cpu *cpu, enum cpu_over why, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	cpu->attention = true;
	if (cpu->stop.over)
		return;
	cpu->stop.over = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cpu->config.port.over(cpu->config.port.arg, cpu->config.id, why, text);
}

enum fault
cpu_unknown_msr(struct cpu *cpu, bool write, uint32_t index, uint64_t value)
{
	if (cpu->config.port.unknown_msr(
		cpu->config.port.arg, cpu->config.id, write, index, value))
		return FAULT_GP;
	if (write)
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "WRMSR 0x%x = 0x%llx at 0x%llx", index,
		    (unsigned long long)value,
		    (unsigned long long)cpu->trap.rip);
	else
		cpu_end_run(cpu, CPU_OVER_UNMODELLED, "RDMSR 0x%x at 0x%llx",
		    index, (unsigned long long)cpu->trap.rip);
	return FAULT_NONE;
}
