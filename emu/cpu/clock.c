/*
 * The clocks of a CPU: cycles of the core, which everything is scheduled by, and
 * what derives from them exactly, TSC and crystal.  All of them begin at 0.
 *
 * Model choices: the core clock runs at one ratio to the TSC, that of the CBR
 * values, and does not stop while the CPU is halted.
 */
#include "emu/cpu/state.h"

uint64_t
cpu_cycles(const struct cpu *cpu)
{
	return cpu_count_insns(cpu) + cpu->idle_cycles;
}

/* FACTOR / DIVISOR of COUNT, rounded down. */
static uint64_t
scale(uint64_t count, uint64_t factor, uint64_t divisor)
{
	TZ_ASSERT(divisor > 0);
	TZ_ASSERT(count < UINT64_C(1) << 50 && factor < 1 << 14);
	return count * factor / divisor;
}

/* The first value of a clock at which FACTOR / DIVISOR of it is COUNT. */
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

/* SDM vol. 3, 18.7.3 "Determining the Processor Base Frequency": CPUID 15H. */
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

/* The cycle at which the next MTC is due; UINT64_MAX: none is. */
static uint64_t
next_edge(const struct cpu *cpu)
{
	const struct profile *profile = cpu->config.profile;
	uint64_t art = pt_unit_mtc_due(cpu->unit);

	if (art == UINT64_MAX || profile->tsc_num == 0)
		return UINT64_MAX;
	return scale_back(scale_back(art, profile->tsc_den, profile->tsc_num),
	    profile->cbr, cpu->config.core_cbr);
}

void
cpu_tell_time(struct cpu *cpu)
{
	uint64_t now = cpu_cycles(cpu), edge;
	struct pt_time time;

	while ((edge = next_edge(cpu)) <= now) {
		time = time_at(cpu, edge);
		pt_unit_time(cpu->unit, &time);
	}
	time = time_at(cpu, now);
	pt_unit_time(cpu->unit, &time);
}

void
cpu_pass_time(struct cpu *cpu, uint64_t cycles)
{
	cpu->idle_cycles += cycles;
	if (cpu->truth != NULL && pt_unit_fast(cpu->unit)->timed)
		truth_time(cpu->truth, cpu_cycles(cpu));
}

void
cpu_idle_until(struct cpu *cpu, uint64_t cycles)
{
	uint64_t now = cpu_cycles(cpu), edge;

	if (cycles <= now)
		return;
	/* The trace goes on; a PMI of its own may end the sleep. */
	while (pt_unit_fast(cpu->unit)->timed && cpu_is_asleep(cpu) &&
	    (edge = next_edge(cpu)) < cycles) {
		now = cpu_cycles(cpu);
		if (edge > now)
			cpu_pass_time(cpu, edge - now);
		cpu_tell_time(cpu);
		if (!cpu_is_asleep(cpu))
			return;
	}
	cpu_pass_time(cpu, cycles - cpu_cycles(cpu));
}
