/* How a search controls a machine, between and during its runs. */
#include "emu/base/rtit.h"
#include "emu/machine_state.h"
#include "emu/pmu/pmu.h"

void
machine_set_stop(struct machine *machine, unsigned cpu, uint64_t insns)
{
	TZ_ASSERT(cpu < machine->config.cpu_count);
	cpu_set_stop(machine->slot[cpu].cpu, insns);
}

/*
 * Between the turns of two CPUs it stops the next one at once; outside machine_run() it
 * does nothing.
 */
void
machine_pause(struct machine *machine)
{
	if (machine->result == NULL)
		return;
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_pause(machine->slot[i].cpu);
}

static void
set_stepping(struct machine *machine)
{
	static const enum cpu_stepping steppings[] = {
		[STEPPING_NONE] = CPU_STEPPING_NONE,
		[STEPPING_WATCHED] = CPU_STEPPING_WATCHED,
		[STEPPING_ALL] = CPU_STEPPING_ALL,
	};

	TZ_ASSERT(machine->result == NULL);
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_set_stepping(machine->slot[i].cpu,
		    steppings[machine->stepping], machine->watched_begin,
		    machine->watched_end);
}

void
machine_set_stepping(struct machine *machine, enum machine_stepping stepping)
{
	machine->stepping = stepping;
	set_stepping(machine);
}

void
machine_set_watched(struct machine *machine, uint64_t begin, uint64_t end)
{
	machine->watched_begin = begin;
	machine->watched_end = end;
	set_stepping(machine);
}

void
machine_set_audit(struct machine *machine, const struct audit *audit)
{
	TZ_ASSERT(machine->result == NULL);
	for (size_t i = 1; i < audit->function_count; i++)
		TZ_ASSERT(audit->function[i - 1] < audit->function[i]);
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_set_audit(machine->slot[i].cpu, audit);
}

uint64_t
machine_audit_frame(struct machine *machine, unsigned cpu)
{
	TZ_ASSERT(cpu < machine->config.cpu_count);
	return cpu_audit_frame(machine->slot[cpu].cpu);
}

bool
machine_translate(
    struct machine *machine, unsigned cpu, struct gva va, uint64_t *pa)
{
	TZ_ASSERT(cpu < machine->config.cpu_count);
	return cpu_translate(machine->slot[cpu].cpu, va, pa);
}

uint64_t
machine_rip(struct machine *machine, unsigned cpu)
{
	TZ_ASSERT(cpu < machine->config.cpu_count);
	return cpu_rip(machine->slot[cpu].cpu);
}

uint64_t
machine_rbp(struct machine *machine, unsigned cpu)
{
	TZ_ASSERT(cpu < machine->config.cpu_count);
	return cpu_rbp(machine->slot[cpu].cpu);
}

uint64_t
machine_rsp(struct machine *machine, unsigned cpu)
{
	TZ_ASSERT(cpu < machine->config.cpu_count);
	return cpu_rsp(machine->slot[cpu].cpu);
}

bool
machine_call_slot(struct machine *machine, unsigned cpu, uint64_t *va)
{
	TZ_ASSERT(cpu < machine->config.cpu_count);
	return cpu_call_slot(machine->slot[cpu].cpu, va);
}

void
machine_pt(struct machine *machine, unsigned cpu, struct machine_pt *pt)
{
	const struct cpu *from = machine->slot[cpu].cpu;

	TZ_ASSERT(cpu < machine->config.cpu_count);
	*pt = (struct machine_pt){
		.ctl = cpu_peek_msr(from, MSR_RTIT_CTL),
		.status = cpu_peek_msr(from, MSR_RTIT_STATUS),
		.output_base = cpu_peek_msr(from, MSR_RTIT_OUTPUT_BASE),
		.mask_ptrs = cpu_peek_msr(from, MSR_RTIT_OUTPUT_MASK_PTRS),
		.cr3_match = cpu_peek_msr(from, MSR_RTIT_CR3_MATCH),
		.global_status = cpu_peek_msr(from, PMU_MSR_GLOBAL_STATUS),
		.counting = cpu_counting(from),
		.interrupting = cpu_interrupting(from),
		.branches_interrupt = cpu_branches_interrupt(from),
		.lvt_pc = cpu_lvt_pc(from),
		.ds_area = cpu_ds_area(from),
		.xss = cpu_xss(from),
		.trigger_en = cpu_trigger_en(from),
		.in_nmi = cpu_in_nmi(from),
		.nmi_pending = cpu_nmi_pending(from),
	};
	for (uint32_t i = 0; i < TZ_ARRAY_LEN(pt->addr_a); i++) {
		pt->addr_a[i] = cpu_peek_msr(from, MSR_RTIT_ADDR_A(i));
		pt->addr_b[i] = cpu_peek_msr(from, MSR_RTIT_ADDR_B(i));
	}
}
