/*
 * The CPU's side of its PT unit: memory, the ToPA PMI, and the unit's events.
 */
#include "emu/cpu/state.h"
#include "emu/pt/packet/nonbranch.h"

static uint8_t *
pt_window(void *arg, struct gpa pa, uint64_t bytes)
{
	struct cpu *cpu = arg;

	if (pa.u >= cpu->space.ram_bytes || bytes > cpu->space.ram_bytes - pa.u)
		return NULL;
	return cpu->space.ram + pa.u;
}

static bool
pt_read64(void *arg, struct gpa pa, uint64_t *value)
{
	const uint8_t *from = pt_window(arg, pa, sizeof(*value));

	if (from == NULL)
		return false;
	__builtin_memcpy(value, from, sizeof(*value));
	return true;
}

/*
 * SDM vol. 3, 33.2.7.2 "Table of Physical Addresses (ToPA)", "ToPA PMI": the status
 * bit is set, whether the interrupt is delivered or not.
 */
static void
pt_raise_pmi(void *arg)
{
	struct cpu *cpu = arg;

	cpu->trace.pmi_count++;
	pmu_topa_pmi(&cpu->pmu);
	cpu_counters_pmi(cpu);
	cpu_raise_pmi(cpu);
}

static void
pt_event(void *arg, const struct pt_event *event)
{
	struct cpu *cpu = arg;

	switch (event->kind) {
	case PT_EVENT_PSB:
		cpu_emit(cpu, EVENT_PSB, 0, 0, event->offset_bytes);
		break;
	case PT_EVENT_OUTPUT:
		cpu->trace.bytes = event->offset_bytes + event->bytes;
		cpu_emit(cpu, EVENT_OUTPUT, event->pa.u, event->bytes,
		    event->offset_bytes);
		break;
	case PT_EVENT_REGION_FULL:
		cpu_emit(cpu, EVENT_REGION_FULL, event->pa.u, event->bytes,
		    event->value);
		break;
	case PT_EVENT_PMI:
		cpu_emit(cpu, EVENT_TOPA_PMI, event->value,
		    apic_drops_pmi(&cpu->apic), event->offset_bytes);
		break;
	case PT_EVENT_STOPPED:
		cpu->trace.stopped = cpu->attention = true;
		cpu_emit(cpu, EVENT_STOPPED, 0, 0, event->offset_bytes);
		break;
	case PT_EVENT_ERROR:
		cpu->trace.stopped = cpu->attention = true;
		cpu->trace.error = event->text;
		cpu_emit(cpu, EVENT_PT_ERROR, 0, 0, event->offset_bytes);
		break;
	case PT_EVENT_TRACE_ON:
		cpu_debug_store_changed(cpu);
		cpu_emit(
		    cpu, EVENT_TRACE_ON, event->value, 0, event->offset_bytes);
		break;
	case PT_EVENT_TRACE_OFF:
		cpu->faults.older = false;
		cpu_debug_store_changed(cpu);
		cpu_emit(
		    cpu, EVENT_TRACE_OFF, event->value, 0, event->offset_bytes);
		break;
	case PT_EVENT_TOPA_ENTRY:
		cpu_emit(cpu, EVENT_TOPA_ENTRY, event->pa.u, event->value,
		    event->index);
		break;
	case PT_EVENT_OVERFLOW:
		cpu_emit(
		    cpu, EVENT_OVERFLOW, event->value, 0, event->offset_bytes);
		break;
	case PT_EVENT_UNMODELLED:
		cpu_end_run(
		    cpu, CPU_OVER_UNMODELLED, "trace feature: %s", event->text);
		break;
	}
}

static bool
pt_restricted(void *arg, struct gpa pa, uint64_t bytes)
{
	const struct cpu_config *config = &((const struct cpu *)arg)->config;

	return pa.u < config->restricted.u + config->restricted_bytes &&
	    config->restricted.u < pa.u + bytes;
}

struct pt_port
cpu_pt_port(struct cpu *cpu)
{
	return (struct pt_port){
		.arg = cpu,
		.window = pt_window,
		.read64 = pt_read64,
		.raise_pmi = pt_raise_pmi,
		.event = pt_event,
		.restricted = pt_restricted,
	};
}

void
cpu_if_changed(struct cpu *cpu, uint64_t next)
{
	struct pt_context at;

	if (!cpu_has_event_trace(cpu))
		return;
	at = cpu_context(cpu, next);
	pt_unit_if_changed(cpu->unit, &at);
}

void
cpu_log_stop(struct cpu *cpu)
{
	if (cpu->trace.stopped && cpu->exec_log != NULL)
		exec_log_stopped(cpu->exec_log);
	cpu->trace.stopped = false;
}

void
cpu_sync_output(struct cpu *cpu)
{
	pt_unit_sync_output(cpu->unit);
}
