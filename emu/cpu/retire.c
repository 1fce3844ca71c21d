/*
 * Turns the engine's announcements into retired instructions: the fast path.
 *
 * The engine announces "[va, va + size) runs next".  This also means that the
 * stretch before it ended at VA.  cpu_enter() looks for that exit among the cached
 * successors; in any other case the slow path runs, which adds a successor.
 */
#include "emu/cpu/state.h"

/* The kind of successor for each class of instruction. */
static const uint8_t successor_kinds[INSN_CLASS_COUNT] = {
	[INSN_PLAIN] = EDGE_BIT,
	[INSN_REP] = EDGE_BIT,
	[INSN_COND] = EDGE_BIT,
	[INSN_JMP_DIRECT] = EDGE_BIT,
	[INSN_CALL_DIRECT] = EDGE_CALL,
	[INSN_JMP_INDIRECT] = EDGE_TIP,
	[INSN_CALL_INDIRECT] = EDGE_CALL_TIP,
	[INSN_RET] = EDGE_RET,
};

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

/* True if an exit by this class can be a successor: it changes no state except RIP. */
static bool is_edge_class(enum insn_class class)
{
	return class <= INSN_RET;
}

bool
cpu_is_rep_again(const struct block *from, uint64_t va)
{
	return from->last.class == INSN_REP && va == from->last_va;
}

static void
fast_near(
    struct pt_unit *unit, const struct block *from, bool taken, uint64_t va)
{
	switch (successor_kinds[from->last.class]) {
	case EDGE_CALL:
		/* SDM vol. 3, 33.4.2.2: CALL to the next instruction pushes
		 * nothing. */
		if (from->last.target != from->next_va)
			pt_unit_fast_call(unit, from->next_va);
		break;
	case EDGE_CALL_TIP:
		pt_unit_fast_call(unit, from->next_va);
		pt_unit_steady_tip(unit, va);
		break;
	case EDGE_RET:
		pt_unit_fast_ret(unit, va);
		break;
	case EDGE_TIP:
		pt_unit_steady_tip(unit, va);
		break;
	default:
		if (from->last.class == INSN_COND)
			pt_unit_fast_cond(unit, taken);
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

	if (fast->off && is_edge_class(from->last.class))
		return;
	if (fast->fast && is_edge_class(from->last.class)) {
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

/* Effects of the last instruction besides branching. */
static void
after_effects(struct cpu *cpu, const struct block *from, uint64_t va)
{
	if (from->last.class > INSN_RET && apic_pending(&cpu->apic) >= 0)
		cpu_request_attention(cpu);
	switch ((int)from->last.class) {
	case INSN_IRET:
		cpu->in_interrupt &= cpu->nmi_blocked;
		cpu->nmi_blocked = false;
		cpu_sync_context(cpu, false);
		cpu_serialize(cpu);
		cpu_emit(cpu, EVENT_IRET, 0, va, 0);
		break;
	case INSN_FAR:
		cpu_sync_context(cpu, false);
		if (cpu->cpl == 0)
			engine_keep_ring0(cpu->active);
		break;
	case INSN_SYSRET:
		cpu_sync_context(cpu, false);
		break;
	case INSN_MOV_CR3:
	case INSN_INVLPG:
	case INSN_SYSTEM:
		cpu_sync_context(cpu, true);
		if (from->last.class != INSN_INVLPG)
			engine_keep_ring0(cpu->active);
		break;
	case INSN_STI:
		cpu->shadow = true;
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
	if (from->last.class != INSN_COND)
		return false;
	if (!from->ambiguous)
		return va != from->next_va;
	TZ_ASSERT(cpu->cond_known);
	cpu->cond_known = false;
	return cpu->cond_taken;
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
 * The instructions that ran may differ from those in memory: end the run with a
 * message.
 */
static void
check_self(struct cpu *cpu, const struct block *block)
{
	if (!cpu_is_stepping(cpu) && block_wrote_itself(block))
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
	const struct block *from = cpu->block;

	cpu->block = &cpu->nowhere;
	if (from->insns == 0)
		return;
	check_self(cpu, from);
	cpu_audit_end(cpu, va);
	cpu->shadow = false;
	if (cpu_is_rep_again(from, va)) {
		cpu_retire(cpu, from->insns - 1u);
		cpu->at_boundary = false;
		return;
	}
	if (!is_way_out(from, va)) {
		cpu_end_run(cpu, CPU_OVER_ENGINE,
		    "the engine went from 0x%llx to 0x%llx",
		    (unsigned long long)from->last_va, (unsigned long long)va);
		return;
	}
	cpu_retire(cpu, from->insns);
	cpu->at_boundary = insn_is_transfer(from->last.class);
	if (!cpu->at_boundary && from->last.class != INSN_MOV_CR3)
		cpu_tell_resume(cpu, va);
	after_effects(cpu, from, va);
	if (cpu->at_boundary || from->last.class == INSN_MOV_CR3)
		trace_transfer(cpu, from, was_taken(cpu, from, va), va);
}

void
cpu_cut_block(struct cpu *cpu, uint64_t rip)
{
	const struct block *from = cpu->block;
	unsigned before;

	cpu->block = &cpu->nowhere;
	if (from->insns == 0)
		return;
	check_self(cpu, from);
	before = block_insns_before(from, rip);
	cpu_audit_cut(cpu, before);
	cpu_retire(cpu, before);
	if (before > 0)
		cpu->shadow = cpu->at_boundary = false;
	cpu->cond_known = false;
}

/* True if the engine must be stopped here, before the code at VA runs. */
static bool
must_stop(struct cpu *cpu)
{
	if (cpu->over || cpu->unit_stopped || cpu->forget_count > 0 ||
	    cpu_can_take_nmi(cpu) || cpu_is_at_stop(cpu))
		return true;
	if (!cpu->at_boundary)
		return false;
	return cpu->left <= 0 || cpu->yield || cpu_takeable_vector(cpu) >= 0;
}

/* REP_AGAIN: the code before ends with a string instruction that has not retired. */
static void
stop_at(struct cpu *cpu, uint64_t va, bool rep_again)
{
	cpu->block = &cpu->nowhere;
	if (rep_again && cpu->exec_log != NULL)
		exec_log_cut(cpu->exec_log, va);
	engine_stop(cpu->active, va);
}

struct block *
cpu_find_block(struct cpu *cpu, uint64_t va, uint32_t size)
{
	struct block *block = block_find(cpu->blocks, &cpu->space, va, size);

	if (block == NULL) {
		block_cache_flush(cpu->blocks);
		block = block_find(cpu->blocks, &cpu->space, va, size);
		TZ_ASSERT(block != NULL);
	}
	return block;
}

static void
learn_successor(struct block *from, struct block *to, bool taken)
{
	struct successor *successor = &from->successor[from->victim];
	bool checked = from->writable || to->writable;

	if (!is_edge_class(from->last.class) || from->ambiguous)
		return;
	from->victim ^= 1;
	*successor = (struct successor){
		.key = successor_key(to->va, to->size),
		.to = to,
		.insns = from->insns,
		.need = (uint32_t)from->insns + to->insns,
		.word = to->word,
		.kind = successor_kinds[from->last.class],
		.shift = from->last.class == INSN_COND,
		.bit = from->last.class == INSN_COND && taken,
	};
	if (cpu_is_rep_again(from, to->va)) {
		successor->insns--;
		successor->need--;
		checked = false;
	}
	if (checked || from->audited || to->audited)
		successor->key ^= EDGE_CHECKED;
	if (successor->kind == EDGE_CALL && from->last.target == from->next_va)
		successor->kind = EDGE_BIT;
	if (successor->kind != EDGE_BIT)
		successor->bit = EDGE_PACKET;
}

static void
log_entry(struct exec_log *exec_log, struct block *block)
{
	if (block->word != 0)
		exec_log_again(exec_log, block->word);
	else
		block->word = exec_log_run(exec_log, block->va, block->size);
}

/* True if the engine must be stopped because of BLOCK, which must not run yet. */
static bool
is_unfit(struct cpu *cpu, struct block *block)
{
	cpu_forget_changes(cpu);
	if (block_is_risky(block) && !block->looked_at) {
		struct insn_regs regs;

		cpu_read_regs(cpu, &regs);
		block_look_at(block, &cpu->space, &regs);
	}
	return cpu->forget_count > 0 || cpu_is_wrong_engine(cpu, block) ||
	    (block->has_sites && !block->hooked && cpu_hook_sites(cpu, block));
}

/* The block announced last has run up to VA, where it ended or was restarted. */
static void
end_block(struct cpu *cpu, uint64_t va, uint32_t size)
{
	const struct block *from = cpu->block;

	if (from->insns == 0 || cpu_is_rep_again(from, va) ||
	    !cpu_is_again(from, va, size)) {
		cpu_leave_block(cpu, va);
		return;
	}
	cpu_cut_block(cpu, va);
	if (cpu->exec_log != NULL)
		exec_log_cut(cpu->exec_log, va);
}

/* The slow path: for all but a cached successor far from any limit. */
__attribute__((noinline)) void
cpu_enter_slow(struct cpu *cpu, uint64_t va, uint32_t size)
{
	struct block *from = cpu->block;
	bool is_left = from->insns > 0 && !cpu_is_again(from, va, size);
	bool rep_again = from->insns > 0 && cpu_is_rep_again(from, va);
	uint32_t age = block_cache_age(cpu->blocks);
	struct block *block;
	bool old;

	TZ_ASSERT(size <= BLOCK_BYTES_MAX);
	end_block(cpu, va, size);
	cpu->attention = false;
	old = cpu_is_stepping(cpu) && cpu_is_translation_old(cpu, va, size);
	block = cpu_find_block(cpu, va, size);
	if (is_unfit(cpu, block) || old || must_stop(cpu)) {
		stop_at(cpu, va, rep_again);
		return;
	}
	if (cpu->exec_log != NULL)
		log_entry(cpu->exec_log, block);
	/* After a flush, FROM is an empty or another block. */
	if (!cpu_is_stepping(cpu) && (is_left || rep_again) &&
	    block_cache_age(cpu->blocks) == age)
		learn_successor(from, block, va != from->next_va);
	cpu->block = block;
	if (block->audited)
		cpu_audit_begin(cpu, block);
}

static inline void
follow_successor(struct pt_unit *unit, const struct successor *successor,
    uint64_t va, uint64_t next)
{
	switch (successor->kind) {
	case EDGE_BIT:
		pt_unit_fast_cond(unit, successor->bit);
		break;
	case EDGE_CALL:
		pt_unit_fast_call(unit, next);
		break;
	case EDGE_CALL_TIP:
		pt_unit_fast_call(unit, next);
		pt_unit_steady_tip(unit, va);
		break;
	case EDGE_RET:
		pt_unit_fast_ret(unit, va);
		break;
	default:
		pt_unit_steady_tip(unit, va);
		break;
	}
}

/* Continues with SUCCESSOR, after time and the PT unit were updated. */
static inline void
go_on(struct cpu *cpu, const struct successor *successor)
{
	cpu->block = successor->to;
	if (cpu->exec_log != NULL)
		exec_log_again(cpu->exec_log, successor->word);
}

/* A successor that generates a packet: a full TNT or a packet of its own. */
static __attribute__((noinline)) void
enter_packet(struct cpu *cpu, const struct successor *successor, uint64_t va,
    uint32_t size)
{
	/* First, so that the unit's events have the current time. */
	cpu->left -= successor->insns;
	follow_successor(cpu->unit, successor, va, cpu->block->next_va);
	if (!cpu->attention) {
		go_on(cpu, successor);
		return;
	}
	/* It has filled a region, or the unit requested attention. */
	cpu->block = &cpu->nowhere;
	cpu->shadow = false;
	cpu->at_boundary = true;
	cpu_enter_slow(cpu, va, size);
}

/* Takes SUCCESSOR, which leads to VA. */
static inline void
take_successor(struct cpu *cpu, const struct successor *successor, uint64_t va,
    uint32_t size)
{
	struct pt_fast *fast = pt_unit_fast(cpu->unit);

	if (fast->fast) {
		uint32_t tnt = fast->tnt << successor->shift | successor->bit;

		if (tnt & EDGE_PACKET) {
			enter_packet(cpu, successor, va, size);
			return;
		}
		fast->tnt = tnt;
	} else if (!fast->off) {
		cpu_enter_slow(cpu, va, size);
		return;
	}
	cpu->left -= successor->insns;
	go_on(cpu, successor);
}

/* The successor of FROM with KEY, if it has one; else another. */
static inline const struct successor *
find_successor(const struct block *from, uint64_t key)
{
	const struct successor *successor = from->successor;

	return successor + (successor->key != key);
}

/* The same as cpu_enter() for code that may have been overwritten or is audited. */
static __attribute__((noinline)) void
enter_checked(struct cpu *cpu, uint64_t va, uint32_t size)
{
	uint64_t key = successor_key(va, size) ^ EDGE_CHECKED;
	const struct successor *successor = find_successor(cpu->block, key);
	const struct block *to = successor->to;

	if (successor->key != key || cpu->left < successor->need ||
	    block_is_stale(to) || block_wrote_itself(cpu->block)) {
		cpu_enter_slow(cpu, va, size);
		return;
	}
	/* Before anything else is reported of this exit. */
	cpu_audit_end(cpu, va);
	take_successor(cpu, successor, va, size);
	if (to->audited && cpu->block == to && cpu->audit.block == NULL)
		cpu_audit_begin(cpu, to);
}

/*
 * The choice between the successors is arithmetic, not a branch: it depends on the
 * guest's branch, which the host already predicts elsewhere.  All rare work is a
 * tail call, so that this function saves no registers.
 */
void
cpu_enter(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg)
{
	struct cpu *cpu = arg;
	uint64_t key = successor_key(va, size);
	const struct successor *successor = find_successor(cpu->block, key);

	(void)uc;
	if (successor->key != key || cpu->left < successor->need)
		enter_checked(cpu, va, size);
	else
		take_successor(cpu, successor, va, size);
}
