/*
 * The end of a block: which of its instructions have retired, and what its last one
 * means for the PT unit, the context and the interrupts.
 */
#include "emu/cpu/monitor/branch.h"
#include "emu/cpu/state.h"

#define SELECTOR_BYTES 8
#define DESCRIPTOR_L   TZ_BIT(53)

static const enum pt_transfer_kind transfer_kinds[INSN_CLASS_COUNT] = {
	[INSN_COND] = PT_TRANSFER_COND,
	[INSN_JMP_DIRECT] = PT_TRANSFER_JMP_DIRECT,
	[INSN_CALL_DIRECT] = PT_TRANSFER_CALL_DIRECT,
	[INSN_JMP_INDIRECT] = PT_TRANSFER_JMP_INDIRECT,
	[INSN_CALL_INDIRECT] = PT_TRANSFER_CALL_INDIRECT,
	[INSN_RET] = PT_TRANSFER_RET,
	[INSN_FAR] = PT_TRANSFER_FAR,
	[INSN_IRET] = PT_TRANSFER_IRET,
	[INSN_SYSRET] = PT_TRANSFER_FAR,
	[INSN_MOV_CR3] = PT_TRANSFER_MOV_CR3,
};

static void
fast_near(
    struct pt_unit *unit, const struct block *from, bool taken, uint64_t va)
{
	switch ((int)from->last.class) {
	case INSN_COND:
		pt_unit_fast_cond(unit, taken);
		break;
	case INSN_CALL_DIRECT:
		/* SDM vol. 3, 33.4.2.2: CALL to the next instruction pushes
		 * nothing. */
		if (from->last.target != from->next_va)
			pt_unit_fast_call(unit, from->next_va);
		break;
	case INSN_CALL_INDIRECT:
		pt_unit_fast_call(unit, from->next_va);
		pt_unit_steady_tip(unit, va);
		break;
	case INSN_RET:
		pt_unit_fast_ret(unit, va);
		break;
	case INSN_JMP_INDIRECT:
		pt_unit_steady_tip(unit, va);
		break;
	default:
		break;
	}
}

/* Reports the exit of FROM to the PT unit. */
static void
trace_transfer(
    struct cpu *cpu, const struct block *from, bool taken, uint64_t va)
{
	const struct pt_fast *fast = pt_unit_fast(cpu->unit);
	struct pt_transfer transfer;

	if (fast->off && insn_is_simple(from->last.class))
		return;
	if (fast->fast && insn_is_simple(from->last.class)) {
		fast_near(cpu->unit, from, taken, va);
		return;
	}
	if (fast->timed)
		cpu_sync_clock(cpu);
	transfer = (struct pt_transfer){
		.kind = transfer_kinds[from->last.class],
		.taken = taken,
		.cr3_written = from->last.class == INSN_MOV_CR3,
		.ip_from = from->last_va,
		.nlip = from->next_va,
		.after = cpu_context(cpu, va),
	};
	pt_unit_transfer(cpu->unit, &transfer);
}

void
cpu_transfer(struct cpu *cpu, enum pt_transfer_kind kind, int vector,
    uint64_t from, uint64_t to)
{
	struct pt_transfer transfer = {
		.kind = kind,
		.has_vector = vector >= 0,
		.vector = (uint8_t)vector,
		.cr2 = vector == VECTOR_PF ? engine_get(cpu->active, ENGINE_CR2)
					   : 0,
		.ip_from = from,
		.after = cpu_context(cpu, to),
	};

	if (pt_unit_fast(cpu->unit)->timed)
		cpu_sync_clock(cpu);
	pt_unit_transfer(cpu->unit, &transfer);
}

/* 32-bit code is modelled in start-up code alone (engine/startup.c). */
static void
check_code_segment(struct cpu *cpu, uint64_t selector)
{
	uint64_t base, descriptor;
	uint32_t limit;

	engine_get_table(cpu->active, ENGINE_GDTR, &base, &limit);
	if (walk_read(&cpu->space,
		(struct gva){ base + (selector & ~UINT64_C(7)) }, &descriptor,
		SELECTOR_BYTES, NULL) &&
	    (descriptor & DESCRIPTOR_L) == 0)
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "code segment 0x%llx is not a 64-bit one",
		    (unsigned long long)selector);
}

/* CPL, CR3 and the mapped code may have changed. */
static void
sync_context(struct cpu *cpu, bool space_changed)
{
	uint64_t cs = engine_get(cpu->active, ENGINE_CS);
	uint64_t cr3 = engine_get(cpu->active, ENGINE_CR3);
	bool changed = (cs & 3) != cpu->mode.cpl || cr3 != cpu->space.cr3;

	if ((cs & 3) != cpu->mode.cpl)
		check_code_segment(cpu, cs);
	cpu->mode.cpl = cs & 3;
	cpu->space.cr3 = cr3;
	if (space_changed)
		cpu_select_code(cpu);
	cpu_cpl_changed(cpu);
	if (changed && cpu->exec_log != NULL)
		exec_log_context(cpu->exec_log, cpu->mode.cpl, cr3);
}

/* Effects of the last instruction besides branching. */
static void
after_effects(struct cpu *cpu, const struct block *from, uint64_t va)
{
	if (from->last.class > INSN_RET && apic_pending(&cpu->apic) >= 0)
		cpu_request_attention(cpu);
	switch ((int)from->last.class) {
	case INSN_IRET:
		cpu_end_handler(cpu);
		sync_context(cpu, false);
		cpu_serialize(cpu);
		cpu_emit(cpu, EVENT_IRET, 0, va, 0);
		break;
	case INSN_FAR:
		check_code_segment(cpu, engine_get(cpu->active, ENGINE_CS));
		sync_context(cpu, false);
		if (cpu->mode.cpl == 0)
			engine_keep_ring0(cpu->active);
		break;
	case INSN_SYSRET:
		sync_context(cpu, false);
		break;
	case INSN_MOV_CR3:
	case INSN_INVLPG:
	case INSN_SYSTEM:
		sync_context(cpu, true);
		if (from->last.class != INSN_INVLPG)
			engine_keep_ring0(cpu->active);
		break;
	case INSN_STI:
		cpu->mode.place = PLACE_AFTER_STI;
		cpu_if_changed(cpu, va);
		break;
	case INSN_POPF:
		cpu_if_changed(cpu, va);
		break;
	default:
		break;
	}
}

static bool
was_taken(struct cpu *cpu, const struct block *from, uint64_t va)
{
	enum cond_outcome outcome;

	if (from->last.class != INSN_COND)
		return false;
	if (!from->ambiguous)
		return va != from->next_va;
	outcome = cpu->sites.outcome;
	TZ_ASSERT(outcome != COND_UNKNOWN);
	cpu->sites.outcome = COND_UNKNOWN;
	return outcome == COND_TAKEN;
}

/* True if FROM can be followed by VA.  If not, the model is wrong. */
static bool
is_way_out(const struct block *from, uint64_t va)
{
	switch ((int)from->last.class) {
	case INSN_COND:
		return va == from->next_va || va == from->last.target;
	case INSN_JMP_DIRECT:
	case INSN_CALL_DIRECT:
		return va == from->last.target;
	case INSN_JMP_INDIRECT:
	case INSN_CALL_INDIRECT:
	case INSN_RET:
	case INSN_FAR:
	case INSN_IRET:
	case INSN_SYSRET:
		return true;
	default:
		return va == from->next_va;
	}
}

bool
cpu_is_again(const struct block *from, uint64_t va, uint32_t size)
{
	const struct block_insn *insn;

	if (cpu_is_rep_again(from, va))
		return true;
	/*
	 * If the engine detects a store into the code that it runs, it goes back to
	 * the store and runs it alone.
	 */
	insn = block_insn_at(from, va);
	if (insn == NULL || insn->length != size)
		return false;
	return va != from->last_va || !is_way_out(from, va) ||
	    from->last.class == INSN_CALL_INDIRECT;
}

/*
 * The instructions before the offset END, which ran, may differ from those in memory:
 * end the run with a message.
 */
static void
check_self(struct cpu *cpu, const struct block *block, uint32_t end)
{
	if (!cpu_is_stepping(cpu) && block_wrote_itself(block, end))
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "a store into the instructions that follow it, in the "
		    "block at 0x%llx, by code in a page that was stored to "
		    "before",
		    (unsigned long long)block->va);
}

void
cpu_leave_block(struct cpu *cpu, uint64_t va)
{
	/* The descriptor may be dropped below, but its memory is not reused. */
	struct block *from = cpu->block;
	bool is_transfer = insn_is_transfer(from->last.class);
	bool taken;

	cpu->block = &cpu->nowhere;
	if (from->insns == 0)
		return;
	check_self(cpu, from, from->size);
	cpu_audit_end(cpu, va);
	if (cpu_is_rep_again(from, va)) {
		cpu_retire_block(cpu, from, from->insns - 1u, va);
		cpu_pass_iterations(cpu, from, 1);
		if (from->insns > 1)
			cpu->counters.last_va = from->va +
			    from->insn[from->insns - 2].at;
		cpu->mode.place = PLACE_INSIDE;
		return;
	}
	if (!is_way_out(from, va)) {
		cpu_end_run(cpu, CPU_OVER_ENGINE,
		    "the engine went from 0x%llx to 0x%llx",
		    (unsigned long long)from->last_va, (unsigned long long)va);
		return;
	}
	cpu_retire_block(cpu, from, from->insns, va);
	cpu->counters.last_va = from->last_va;
	taken = was_taken(cpu, from, va);
	if (cpu_sees_branches(cpu) && is_transfer)
		cpu_branch(cpu, from->last.class, taken, from->last_va, va);
	cpu->mode.place = is_transfer ? PLACE_BOUNDARY : PLACE_INSIDE;
	if (!is_transfer && from->last.class != INSN_MOV_CR3)
		cpu_tell_resume(cpu, va);
	after_effects(cpu, from, va);
	if (is_transfer || from->last.class == INSN_MOV_CR3)
		trace_transfer(cpu, from, taken, va);
}

void
cpu_cut_block(struct cpu *cpu, uint64_t rip)
{
	struct block *from = cpu->block;
	unsigned before;

	cpu->block = &cpu->nowhere;
	if (from->insns == 0)
		return;
	check_self(cpu, from, (uint32_t)(rip - from->va));
	before = block_insns_before(from, rip);
	cpu_audit_cut(cpu, before);
	cpu_retire_block(cpu, from, before, rip);
	if (before > 0) {
		cpu->mode.place = PLACE_INSIDE;
		cpu->counters.last_va = from->va + from->insn[before - 1].at;
	}
	cpu->sites.outcome = COND_UNKNOWN;
}
