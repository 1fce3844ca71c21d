/* A hash of everything that decides what a CPU does next. */
#include "emu/cpu/state.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A time relative to BASE; 0 if it is in the past. */
static uint64_t
ahead(uint64_t cycles, uint64_t base)
{
	return cycles > base ? cycles - base : 0;
}

/*
 * True if cpu_run() would stop or deliver an interrupt at this place.  If not, the
 * CPU continues in the same way after a transfer and in the middle of straight
 * code.
 */
static bool
is_left(const struct cpu *cpu, uint64_t limit)
{
	uint64_t now = cpu_cycles(cpu);

	return cpu->at_boundary &&
	    (now >= limit || cpu->yield || cpu->apic.timer_due <= now ||
		apic_pending(&cpu->apic) >= 0);
}

static uint64_t
flags(const struct cpu *cpu, uint64_t limit)
{
	const struct pending_faults *pending_faults = &cpu->pending_faults;
	const bool flag[] = { is_left(cpu, limit), cpu->shadow, cpu->halted,
		cpu->yield, cpu->nmi_pending, cpu->nmi_blocked, cpu->nmi_again,
		pending_faults->lost, pending_faults->twice,
		pending_faults->merge, pending_faults->merging,
		pending_faults->xrstors_gp, pending_faults->wrmsr_gp,
		pending_faults->fail, pending_faults->older };
	uint64_t bits = cpu->cpl;

	for (size_t i = 0; i < TZ_ARRAY_LEN(flag); i++)
		bits = bits << 1 | flag[i];
	return bits;
}

uint64_t
cpu_hash(struct cpu *cpu, uint64_t base, uint64_t limit)
{
	uint64_t now = cpu_cycles(cpu);
	bool asleep = cpu_is_asleep(cpu);
	/* The time of a sleeping CPU has no effect before it wakes. */
	uint64_t clock = asleep ? ahead(now, base) : now - base;
	uint64_t words[] = {
		engine_hash(cpu->active),
		flags(cpu, limit),
		clock,
		cpu->nmi_pending ? cpu->nmi_wait : 0,
		ahead(cpu->hold_until, now),
		cpu->pending_faults.late_insns,
		cpu->pending_faults.older ? cpu->pending_faults.older_position
					  : 0,
		cpu->pending_faults.older ? cpu->pending_faults.older_status
					  : 0,
		cpu->split.bytes,
		cpu->split.bytes != 0 ? cpu->split.pa : 0,
		cpu->split.bytes != 0 ? cpu->split.value : 0,
		cpu->xsaves_pa[0],
		cpu->xsaves_pa[1],
		cpu->xcr0,
		cpu->xss,
		cpu->apic_base,
		cpu->pat,
		cpu->tsc_aux,
		cpu->star,
		cpu->lstar,
		cpu->cstar,
		cpu->fmask,
		apic_hash(&cpu->apic, asleep && now < base ? base : now),
		pmu_hash(&cpu->pmu),
		pt_unit_hash(cpu->unit),
	};

	return XXH3_64bits(words, sizeof(words));
}
