/*
 * Interrupts and NMIs that wait for the CPU, and HLT, which waits for them.
 */
#include "emu/cpu/state.h"
#include "emu/pt/packet/nonbranch.h"

bool
cpu_can_take_nmi(const struct cpu *cpu)
{
	return cpu->interrupts.nmis > 0 && !cpu->interrupts.nmi_blocked &&
	    cpu->interrupts.nmi_wait == 0;
}

int
cpu_takeable_vector(struct cpu *cpu)
{
	int vector = apic_pending(&cpu->apic);

	if (vector < 0 || cpu->mode.place == PLACE_AFTER_STI ||
	    cpu_cycles(cpu) < cpu->interrupts.hold_until ||
	    !(engine_get(cpu->active, ENGINE_RFLAGS) & RFLAGS_IF))
		return -1;
	return vector;
}

void
cpu_fire_timer(struct cpu *cpu, uint64_t now)
{
	while (cpu->apic.timer_due <= now)
		apic_timer_fire(&cpu->apic);
}

void
cpu_interrupt(struct cpu *cpu, uint8_t vector)
{
	apic_accept(&cpu->apic, vector);
}

bool
cpu_is_selected(const struct cpu *cpu, uint8_t mda)
{
	return apic_is_selected(&cpu->apic, mda);
}

void
cpu_nmi(struct cpu *cpu)
{
	if (cpu->interrupts.nmis == 0)
		cpu->interrupts.nmis = 1;
	cpu->interrupts.nmi_wait = 0;
}

void
cpu_nmi_after_skid(struct cpu *cpu)
{
	struct cpu_interrupts *interrupts = &cpu->interrupts;
	struct pending_faults *faults = &cpu->faults;

	if (faults->twice)
		interrupts->nmis = 2;
	else if (interrupts->nmis == 0)
		interrupts->nmis = 1;
	faults->twice = false;
	interrupts->nmi_wait = cpu->config.profile->uarch->pmi_skid_insns;
	if (faults->late_insns <= UINT32_MAX - interrupts->nmi_wait)
		interrupts->nmi_wait += faults->late_insns;
	faults->late_insns = 0;
	/* A sleeping CPU has no skid, because it retires no instructions. */
	if (cpu->mode.halted)
		interrupts->nmi_wait = 0;
}

void
cpu_raise_pmi(struct cpu *cpu)
{
	struct pending_faults *pending_faults = &cpu->faults;
	enum apic_pmi pmi;

	cpu->attention = true;
	if (pending_faults->lost) {
		pending_faults->lost = false;
		return;
	}
	pmi = apic_raise_pmi(&cpu->apic);
	if (pending_faults->merging) {
		pending_faults->merging = false;
		cpu_nmi_after_skid(cpu);
	} else if (pmi == APIC_PMI_NMI && pending_faults->merge) {
		pending_faults->merge = false;
		pending_faults->merging = true;
	} else if (pmi == APIC_PMI_NMI) {
		cpu_nmi_after_skid(cpu);
	} else if (pmi == APIC_PMI_UNMODELLED) {
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "delivery mode of the LVT performance entry: 0x%x",
		    cpu->apic.lvt[APIC_LVT_PC]);
	}
}

void
cpu_count_down_nmi(struct cpu *cpu)
{
	if (cpu->interrupts.nmi_wait > 0)
		cpu->interrupts.nmi_wait--;
}

void
cpu_halt(struct cpu *cpu)
{
	static const struct pt_power c1 = { 0 };
	struct pt_context at = cpu_context(cpu, cpu->trap.rip);

	cpu->mode.halted = true;
	cpu->mode.kernel_since = cpu_insns(cpu);
	pt_unit_power_enter(cpu->unit, &at, &c1);
	cpu->interrupts.nmi_wait = 0;
}

/* An event (PT_WAKE_*) wakes the CPU, if it is halted. */
static void
wake(struct cpu *cpu, uint8_t reason)
{
	struct pt_context at;

	if (!cpu->mode.halted)
		return;
	cpu->mode.halted = false;
	if (pt_unit_fast(cpu->unit)->timed)
		cpu_sync_clock(cpu);
	at = cpu_context(cpu, cpu_rip(cpu));
	pt_unit_power_exit(cpu->unit, &at, 0, 0, reason);
}

void
cpu_take_nmi(struct cpu *cpu)
{
	cpu->interrupts.nmis--;
	cpu->interrupts.nmi_blocked = true;
	cpu->interrupts.nmi_count++;
	/* SDM vol. 3, 33.4.2.25: an NMI is not an "external interrupt". */
	wake(cpu, 0);
}

void
cpu_take_vector(struct cpu *cpu, uint8_t vector)
{
	apic_take(&cpu->apic, vector);
	wake(cpu, PT_WAKE_INTERRUPT);
	cpu->interrupts.in_handler = true;
}

void
cpu_end_handler(struct cpu *cpu)
{
	cpu->debug_store.handling = false;
	cpu->interrupts.in_handler &= cpu->interrupts.nmi_blocked;
	cpu->interrupts.nmi_blocked = false;
}

bool
cpu_is_asleep(struct cpu *cpu)
{
	return cpu->mode.halted && !cpu_can_take_nmi(cpu) &&
	    cpu_takeable_vector(cpu) < 0;
}

uint64_t
cpu_wake_due(const struct cpu *cpu)
{
	uint64_t due = APIC_NEVER;

	if (!(engine_get(cpu->active, ENGINE_RFLAGS) & RFLAGS_IF))
		return APIC_NEVER;
	if (apic_timer_can_interrupt(&cpu->apic))
		due = cpu->apic.timer_due;
	if (apic_pending(&cpu->apic) >= 0)
		due = 0;
	return due < cpu->interrupts.hold_until ? cpu->interrupts.hold_until
						: due;
}

void
cpu_idle_until(struct cpu *cpu, uint64_t cycles)
{
	uint64_t now = cpu_cycles(cpu), successor;

	if (cycles <= now)
		return;
	/* The trace continues; its own PMI may end the sleep. */
	while (pt_unit_fast(cpu->unit)->timed && cpu_is_asleep(cpu) &&
	    (successor = cpu_next_edge(cpu)) < cycles) {
		now = cpu_cycles(cpu);
		if (successor > now)
			cpu_pass_time(cpu, successor - now);
		cpu_sync_clock(cpu);
		cpu_tell_resume(cpu, cpu_rip(cpu));
		if (!cpu_is_asleep(cpu))
			return;
	}
	cpu_pass_time(cpu, cycles - cpu_cycles(cpu));
}
