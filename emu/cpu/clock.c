/*
 * The clocks of a CPU: the core clock, by which everything is scheduled, and the
 * TSC and the crystal clock, which are computed from it exactly.  All of them begin
 * at 0.
 *
 * Model choices: the core clock runs at one ratio to the TSC, that of the CBR
 * values, and does not stop while the CPU is halted: HLT is C1, and by SDM vol. 3,
 * 33.8.3 "Performance Monitoring and Timing" clocks stop in deep C-states.
 */
#include "emu/cpu/state.h"

#define EDGE_BYTES 32
#define CYC_BYTES  8

uint64_t
cpu_cycles(const struct cpu *cpu)
{
	return cpu_count_insns(cpu) + cpu->time.idle_cycles;
}

/* COUNT * FACTOR / DIVISOR, rounded down. */
static uint64_t
scale(uint64_t count, uint64_t factor, uint64_t divisor)
{
	TZ_ASSERT(divisor > 0);
	TZ_ASSERT(count < UINT64_C(1) << 50 && factor < 1 << 14);
	return count * factor / divisor;
}

/* The first value of a clock at which its product with FACTOR / DIVISOR reaches COUNT. */
static uint64_t
scale_back(uint64_t count, uint64_t factor, uint64_t divisor)
{
	TZ_ASSERT(factor > 0);
	TZ_ASSERT(count < UINT64_C(1) << 50 && divisor < 1 << 13);
	return (count * divisor + factor - 1) / factor;
}

static uint64_t
tsc_at(const struct cpu *cpu, uint64_t cycles)
{
	return scale(cycles, cpu->config.profile->cbr, cpu->config.core_cbr);
}

uint64_t
cpu_tsc(const struct cpu *cpu)
{
	return tsc_at(cpu, cpu_cycles(cpu));
}

/* SDM vol. 3, 20.7.3 "Determining the Processor Base Frequency": CPUID 15H. */
static struct pt_time
time_at(const struct cpu *cpu, uint64_t cycles)
{
	const struct profile *profile = cpu->config.profile;
	struct pt_time time = { .cycles = cycles };

	time.tsc = tsc_at(cpu, cycles);
	if (profile->tsc_num == 0)
		return time;
	time.art = scale(time.tsc, profile->tsc_den, profile->tsc_num);
	time.fc = (uint32_t)(time.tsc -
	    scale(time.art, profile->tsc_num, profile->tsc_den));
	return time;
}

/* The first cycle of crystal tick ART. */
static uint64_t
cycle_of_art(const struct cpu *cpu, uint64_t art)
{
	const struct profile *profile = cpu->config.profile;

	return scale_back(scale_back(art, profile->tsc_den, profile->tsc_num),
	    profile->cbr, cpu->config.core_cbr);
}

/*
 * SDM vol. 3, 11.5.4 "APIC Timer": its clock is the crystal if CPUID 15H enumerates
 * the ratio, else the bus clock, 100 MHz.
 */
void
cpu_set_apic_clock(struct cpu *cpu)
{
	const struct profile *profile = cpu->config.profile;
	uint32_t core = cpu->config.core_cbr;

	if (profile->tsc_num == 0)
		apic_set_board(&cpu->apic, core, 1);
	else
		apic_set_board(&cpu->apic, profile->tsc_num * core,
		    profile->tsc_den * profile->cbr);
}

/* A deadline that is out of reach is never. */
uint64_t
cpu_cycle_of_tsc(const struct cpu *cpu, uint64_t tsc)
{
	return tsc >= UINT64_C(1) << 50
	    ? APIC_NEVER
	    : scale_back(tsc, cpu->config.profile->cbr, cpu->config.core_cbr);
}

/* The cycle at which the next MTC is due; UINT64_MAX: none is. */
static uint64_t
next_mtc(const struct cpu *cpu)
{
	uint64_t art = pt_unit_mtc_due(cpu->unit);

	return art == UINT64_MAX || cpu->config.profile->tsc_num == 0
	    ? UINT64_MAX
	    : cycle_of_art(cpu, art);
}

uint64_t
cpu_next_edge(const struct cpu *cpu)
{
	uint64_t mtc = next_mtc(cpu), due = pt_unit_due(cpu->unit);

	return mtc < due ? mtc : due;
}

void
cpu_sync_clock(struct cpu *cpu)
{
	uint64_t now = cpu_cycles(cpu), successor;
	struct pt_time time;

	while ((successor = cpu_next_edge(cpu)) <= now) {
		time = time_at(cpu, successor);
		pt_unit_time(cpu->unit, &time);
	}
	time = time_at(cpu, now);
	pt_unit_time(cpu->unit, &time);
}

void
cpu_tell_resume(struct cpu *cpu, uint64_t next)
{
	if (!pt_unit_overflows(cpu->unit))
		return;
	cpu_sync_clock(cpu);
	if (pt_unit_wants_ip(cpu->unit))
		pt_unit_resolve(cpu->unit, next);
}

void
cpu_set_limit(struct cpu *cpu, uint64_t insns)
{
	cpu->time.limit_insns = cpu_count_insns(cpu) + insns;
	cpu->time.left = (int64_t)insns;
}

void
cpu_pass_time(struct cpu *cpu, uint64_t cycles)
{
	cpu->time.idle_cycles += cycles;
	if (cpu->mode.halted)
		cpu->counters.halted_cycles += cycles;
	if (cpu->exec_log != NULL && pt_unit_fast(cpu->unit)->timed)
		exec_log_time(cpu->exec_log, cpu_cycles(cpu));
}

/* True if a PMI wakes the CPU. */
static bool
hears_pmi(const struct cpu *cpu)
{
	uint64_t rflags = engine_get(cpu->active, ENGINE_RFLAGS);

	switch (apic_pmi_mode(&cpu->apic)) {
	case APIC_PMI_NMI:
		return !cpu->interrupts.nmi_blocked;
	case APIC_PMI_FIXED:
		return (rflags & RFLAGS_IF) != 0;
	case APIC_PMI_UNMODELLED:
		return true;
	case APIC_PMI_DROPPED:
	default:
		return false;
	}
}

/*
 * Upper bound, in bytes, of the output for one MTC of a sleeping CPU: MTC and CYC
 * with padding, and the CYCs of a counter that wraps.
 */
static uint64_t
bytes_an_edge(const struct cpu *cpu, uint64_t period)
{
	uint64_t wraps = period >> cpu->config.profile->uarch->cyc_bits;

	return EDGE_BYTES + (wraps + 1) * CYC_BYTES;
}

uint64_t
cpu_trace_wake_due(struct cpu *cpu)
{
	uint64_t due = pt_unit_due(cpu->unit), mtc = next_mtc(cpu);
	uint64_t art, period, bytes, successors;

	if (!pt_unit_fast(cpu->unit)->timed || !hears_pmi(cpu))
		return UINT64_MAX;
	bytes = pt_unit_bytes_to_intr(cpu->unit);
	if (mtc != UINT64_MAX && bytes != UINT64_MAX) {
		art = pt_unit_mtc_due(cpu->unit);
		period = pt_unit_mtc_period(cpu->unit);
		successors = bytes /
		    bytes_an_edge(cpu, cycle_of_art(cpu, period));
		mtc = cycle_of_art(cpu, art + successors * period);
		due = mtc < due ? mtc : due;
	}
	/* The interval includes that cycle itself. */
	return due == UINT64_MAX ? due : due + 1;
}

uint64_t
cpu_awake_cycles(const struct cpu *cpu)
{
	return cpu_cycles(cpu) - cpu->counters.halted_cycles;
}

/* Ticks of the TSC in CYCLES of the core, and of the bus clock, 100 MHz. */
static uint64_t
reference(const struct cpu *cpu, uint64_t cycles)
{
	return cycles * cpu->config.profile->cbr / cpu->config.core_cbr;
}

static uint64_t
bus(const struct cpu *cpu, uint64_t cycles)
{
	return cycles / cpu->config.core_cbr;
}

struct pmu_slice
cpu_unreported(const struct cpu *cpu)
{
	uint64_t from = cpu->counters.cycles, to = cpu_awake_cycles(cpu);
	struct pmu_slice slice = { { 0 } };

	slice.count[PMU_INSTRUCTIONS] = cpu_count_insns(cpu) -
	    cpu->counters.insns;
	slice.count[PMU_CYCLES] = to - from;
	slice.count[PMU_REFERENCE] = reference(cpu, to) - reference(cpu, from);
	slice.count[PMU_BUS] = bus(cpu, to) - bus(cpu, from);
	return slice;
}
