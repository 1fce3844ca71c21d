/*
 * What may be done to a CPU from outside: stops, pauses, stepping, and the acts of
 * emu/act.def.
 */
#include <string.h>

#include "emu/cpu/state.h"

#define FLIP_TOPA_BITS 64
#define FLIP_AREA_BITS (PT_XSTATE_MSRS * 64)

void
cpu_set_stop(struct cpu *cpu, uint64_t insns)
{
	cpu->stop_insns = insns;
	cpu->step_left = 0;
}

void
cpu_pause(struct cpu *cpu)
{
	if (cpu->in_step) {
		cpu->pause_insns = cpu_count_insns(cpu) + 1;
		return;
	}
	cpu->pause = cpu->attention = true;
	cpu_look_soon(cpu);
}

void
cpu_cancel_pause(struct cpu *cpu)
{
	cpu->pause = false;
	cpu->pause_insns = UINT64_MAX;
}

void
cpu_set_stepping(
    struct cpu *cpu, enum cpu_stepping stepping, uint64_t begin, uint64_t end)
{
	if (cpu->stepping == stepping && cpu->watched_begin == begin &&
	    cpu->watched_end == end)
		return;
	cpu->stepping = stepping;
	cpu->watched_begin = begin;
	cpu->watched_end = end;
	cpu->step_left = 0;
	block_cache_forget_edges(cpu->blocks);
}

bool
cpu_take_fail(struct cpu *cpu)
{
	bool fail = cpu->armed.fail;

	cpu->armed.fail = false;
	return fail;
}

/* Each of these does one act; false: not possible, and nothing has changed. */
typedef bool (*act_fn)(struct cpu *cpu, uint64_t param);

static uint32_t
low32(uint64_t param)
{
	return param > UINT32_MAX ? UINT32_MAX : (uint32_t)param;
}

static bool
arm(bool *what)
{
	bool was = *what;

	*what = true;
	return !was;
}

static bool
act_pmi(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return pt_unit_fill_to_pmi(cpu->unit);
}

/* It is taken here, not at the next control transfer. */
static bool
act_preempt(struct cpu *cpu, uint64_t param)
{
	struct apic *apic = &cpu->apic;

	(void)param;
	if (cpu->nmi_blocked || cpu->shadow ||
	    cpu_cycles(cpu) < cpu->hold_until ||
	    !(engine_get(cpu->active, ENGINE_RFLAGS) & RFLAGS_IF) ||
	    !apic_timer_can_interrupt(apic))
		return false;
	if (!apic_timer_fire_early(apic, cpu_cycles(cpu)))
		apic_accept(apic, (uint8_t)apic->lvt[APIC_LVT_TIMER]);
	cpu->at_boundary = true;
	return true;
}

static bool
act_hold(struct cpu *cpu, uint64_t param)
{
	if (param == 0 || param > UINT64_MAX / 2)
		return false;
	cpu->hold_until = cpu_cycles(cpu) + param;
	return true;
}

static bool
act_nmi(struct cpu *cpu, uint64_t param)
{
	(void)param;
	if (cpu->nmi_pending && cpu->nmi_wait == 0)
		return false;
	cpu_nmi(cpu);
	return true;
}

/* The position and how it came there; a later TRACE_OFF makes reads exact again. */
static bool
act_older(struct cpu *cpu, uint64_t param)
{
	struct armed *armed = &cpu->armed;

	(void)param;
	if (!cpu_trace_on(cpu))
		return false;
	armed->older = true;
	armed->older_position = cpu_peek_msr(cpu, MSR_RTIT_OUTPUT_MASK_PTRS);
	armed->older_status = cpu_peek_msr(cpu, MSR_RTIT_STATUS);
	return true;
}

bool
cpu_split(struct cpu *cpu)
{
	struct split *split = &cpu->split;
	uint8_t bytes[INSN_BYTES_MAX];
	struct insn_memory memory;
	struct insn_regs regs;
	uint64_t va = cpu_rip(cpu);
	size_t count = sizeof(bytes);
	struct walk walk;

	while (count > 0 &&
	    !walk_read(&cpu->space, (struct gva){ va }, bytes, count, NULL))
		count--;
	cpu_read_regs(cpu, &regs);
	if (!insn_is_split(bytes, count) ||
	    !insn_memory_operand(bytes, count, va, &regs, &memory) ||
	    memory.va / CODE_PAGE_BYTES !=
		(memory.va + memory.bytes - 1) / CODE_PAGE_BYTES ||
	    !walk_page(&cpu->space, (struct gva){ memory.va }, &walk) ||
	    walk.pa.u + memory.bytes > cpu->space.ram_bytes)
		return false;
	*split = (struct split){ .insns = cpu_count_insns(cpu),
		.rip = va,
		.pa = walk.pa.u,
		.bytes = memory.bytes };
	memcpy(&split->value, cpu->space.ram + split->pa, split->bytes);
	return true;
}

/*
 * The instruction's store is of what it loaded: nobody sees memory between here and
 * there.  An interrupt that comes first ends the instruction before it begins.
 */
void
cpu_join(struct cpu *cpu)
{
	struct split *split = &cpu->split;

	if (split->insns == cpu_count_insns(cpu) && split->rip == cpu_rip(cpu))
		memcpy(cpu->space.ram + split->pa, &split->value, split->bytes);
	split->bytes = 0;
}

static bool
act_late(struct cpu *cpu, uint64_t param)
{
	if (param == 0)
		return false;
	cpu->armed.late_insns = low32(param);
	return true;
}

static bool
act_lost(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return arm(&cpu->armed.lost);
}

static bool
act_double(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return arm(&cpu->armed.twice);
}

static bool
act_merge(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return arm(&cpu->armed.merge);
}

static bool
act_spurious(struct cpu *cpu, uint64_t param)
{
	(void)param;
	switch (apic_raise_pmi(&cpu->apic)) {
	case APIC_PMI_NMI:
		cpu_nmi(cpu);
		return true;
	case APIC_PMI_FIXED:
		return true;
	case APIC_PMI_DROPPED:
	case APIC_PMI_UNMODELLED:
	default:
		return false;
	}
}

static bool
act_bit55(struct cpu *cpu, uint64_t param)
{
	(void)param;
	if (cpu->pmu.global_status & PMU_STATUS_TOPA_PMI)
		return false;
	pmu_topa_pmi(&cpu->pmu);
	return true;
}

static bool
act_stuck(struct cpu *cpu, uint64_t param)
{
	if (param == 0)
		return false;
	pmu_stick(&cpu->pmu, param);
	return true;
}

static bool
act_lvt(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return apic_mask_pmi(&cpu->apic);
}

static bool
act_error(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return pt_unit_force_error(cpu->unit);
}

static bool
act_stop(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return pt_unit_force_stop(cpu->unit);
}

static bool
act_overflow(struct cpu *cpu, uint64_t param)
{
	return pt_unit_overflow(cpu->unit, low32(param));
}

static bool
act_xrstors(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return arm(&cpu->armed.xrstors_gp);
}

static bool
act_wrmsr(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return arm(&cpu->armed.wrmsr_gp);
}

static bool
act_stale(struct cpu *cpu, uint64_t param)
{
	return pt_unit_stale(cpu->unit, low32(param));
}

static bool
flip(struct cpu *cpu, uint64_t pa, uint64_t bit)
{
	if (pa + bit / 8 >= cpu->space.ram_bytes)
		return false;
	cpu->space.ram[pa + bit / 8] ^= (uint8_t)(1u << bit % 8);
	return true;
}

static bool
act_flip_topa(struct cpu *cpu, uint64_t param)
{
	struct gpa pa;

	return param < FLIP_TOPA_BITS && pt_unit_trigger_en(cpu->unit) &&
	    pt_unit_current_entry(cpu->unit, &pa) && flip(cpu, pa.u, param);
}

static bool
act_flip_area(struct cpu *cpu, uint64_t param)
{
	unsigned part = param / 8 >= AREA_PART;

	return param < FLIP_AREA_BITS && cpu->xsaves_pa[part] != 0 &&
	    flip(cpu, cpu->xsaves_pa[part], param - part * 8 * AREA_PART);
}

static bool
act_fail(struct cpu *cpu, uint64_t param)
{
	(void)param;
	return arm(&cpu->armed.fail);
}

static const act_fn acts[ACT_COUNT] = {
	[ACT_PMI] = act_pmi,
	[ACT_PREEMPT] = act_preempt,
	[ACT_HOLD] = act_hold,
	[ACT_NMI] = act_nmi,
	[ACT_OLDER] = act_older,
	[ACT_LATE] = act_late,
	[ACT_LOST] = act_lost,
	[ACT_DOUBLE] = act_double,
	[ACT_MERGE] = act_merge,
	[ACT_SPURIOUS] = act_spurious,
	[ACT_BIT55] = act_bit55,
	[ACT_STUCK] = act_stuck,
	[ACT_LVT] = act_lvt,
	[ACT_ERROR] = act_error,
	[ACT_STOP] = act_stop,
	[ACT_OVERFLOW] = act_overflow,
	[ACT_XRSTORS_GP] = act_xrstors,
	[ACT_WRMSR_GP] = act_wrmsr,
	[ACT_STALE] = act_stale,
	[ACT_FLIP_TOPA] = act_flip_topa,
	[ACT_FLIP_AREA] = act_flip_area,
	[ACT_FAIL] = act_fail,
};

/* The act's event comes before those of what it does: see cpu_emit(). */
bool
cpu_act(struct cpu *cpu, enum act act, uint64_t param)
{
	bool done;

	TZ_ASSERT((unsigned)act < ACT_COUNT && acts[act] != NULL);
	TZ_ASSERT(cpu->block == &cpu->nowhere);
	if (pt_unit_fast(cpu->unit)->timed)
		cpu_tell_time(cpu);
	cpu->act = (struct act_note){ true, act, param };
	done = acts[act](cpu, param);
	if (done)
		cpu_note_act(cpu);
	cpu->act.pending = false;
	return done;
}
