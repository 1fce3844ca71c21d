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

	return cpu->mode.place == PLACE_BOUNDARY &&
	    (now >= limit || cpu->stop.yield || cpu->apic.timer_due <= now ||
		apic_pending(&cpu->apic) >= 0);
}

static uint64_t
flags(const struct cpu *cpu, uint64_t limit)
{
	const struct pending_faults *pending_faults = &cpu->faults;
	const bool flag[] = { is_left(cpu, limit),
		cpu->mode.place == PLACE_AFTER_STI, cpu->mode.halted,
		cpu->stop.yield, cpu->interrupts.nmis > 0,
		cpu->interrupts.nmi_blocked, cpu->interrupts.nmis > 1,
		pending_faults->lost, pending_faults->twice,
		pending_faults->merge, pending_faults->merging,
		pending_faults->xrstors_gp, pending_faults->wrmsr_gp,
		pending_faults->fail, pending_faults->older };
	uint64_t bits = cpu->mode.cpl;

	for (size_t i = 0; i < TZ_ARRAY_LEN(flag); i++)
		bits = bits << 1 | flag[i];
	return bits;
}

uint64_t
cpu_hash(struct cpu *cpu, uint64_t base, uint64_t limit)
{
	uint64_t now = cpu_cycles(cpu);
	bool asleep = cpu_is_asleep(cpu);
	struct pmu pmu = cpu_counters_now(cpu);
	/* The time of a sleeping CPU has no effect before it wakes. */
	uint64_t clock = (asleep ? ahead(now, base) : now - base) ^
	    cpu_hash_cost(cpu);
	uint64_t words[] = {
		engine_hash(cpu->active),
		flags(cpu, limit),
		clock,
		cpu->interrupts.nmis > 0 ? cpu->interrupts.nmi_wait : 0,
		ahead(cpu->interrupts.hold_until, now),
		cpu->faults.late_insns,
		cpu->faults.older ? cpu->faults.older_position : 0,
		cpu->faults.older ? cpu->faults.older_status : 0,
		cpu->faults.split.bytes,
		cpu->faults.split.bytes != 0 ? cpu->faults.split.pa : 0,
		cpu->faults.split.bytes != 0 ? cpu->faults.split.value : 0,
		cpu->faults.xsaves_pa[0],
		cpu->faults.xsaves_pa[1],
		cpu->msrs.xcr0,
		cpu->msrs.xss,
		cpu->msrs.apic_base,
		cpu->msrs.pat,
		cpu->msrs.tsc_aux,
		cpu->msrs.star,
		cpu->msrs.lstar,
		cpu->msrs.cstar,
		cpu->msrs.fmask,
		apic_hash(&cpu->apic, asleep && now < base ? base : now),
		pmu_hash(&pmu),
		ds_hash(&cpu->ds),
		cpu->debug_store.faulted,
		cpu->debug_store.handling,
		cpu->debug_store.faulted ? cpu->debug_store.fault_va : 0,
		cpu->debug_store.faulted ? cpu->debug_store.fault_code : 0,
		pt_unit_hash(cpu->unit),
	};

	uint64_t all[] = { XXH3_64bits(words, sizeof(words)),
		XXH3_64bits(&cpu->debug_regs, sizeof(cpu->debug_regs)),
		cpu->config.board
		    ? XXH3_64bits(&cpu->board_msrs, sizeof(cpu->board_msrs))
		    : 0 };

	return XXH3_64bits(all, sizeof(all));
}
