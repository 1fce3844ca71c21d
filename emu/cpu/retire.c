/*
 * Turns the engine's announcements into retired instructions: the fast path.
 *
 * The engine announces "[va, va + size) runs next".  This also means that the
 * stretch before it ended at VA.  cpu_enter() looks for that exit among the cached
 * successors; in any other case the slow path runs, which adds a successor.
 */
#include "emu/cpu/engine/stale.h"
#include "emu/cpu/state.h"

#include <assert.h>

static_assert(
    offsetof(struct cpu, nowhere) == 64, "the fast path uses one cache line");

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

/* True if the engine must be stopped here, before the code at VA runs. */
static bool
must_stop(struct cpu *cpu)
{
	if (cpu_counters_due(cpu))
		return true;
	if (cpu->stop.over || cpu->trace.stopped || cpu->debug_store.faulted ||
	    cpu->debug_regs.hits != 0 || cpu->code.forget_count > 0 ||
	    cpu_can_take_nmi(cpu) || cpu_is_at_stop(cpu))
		return true;
	if (cpu->mode.place != PLACE_BOUNDARY)
		return false;
	return cpu->time.left <= 0 || cpu->time.units_left <= 0 ||
	    cpu->stop.yield || cpu_takeable_vector(cpu) >= 0;
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

/* True if FROM can have many successors. */
static bool
is_indirect(const struct block *from)
{
	return from->last.class == INSN_RET ||
	    from->last.class == INSN_JMP_INDIRECT ||
	    from->last.class == INSN_CALL_INDIRECT;
}

/* The place for a new successor of FROM, with KEY before it is known to be checked. */
static struct successor *
place_successor(struct cpu *cpu, struct block *from, uint64_t key)
{
	struct successor *own = &from->successor[from->victim];
	struct far_successor *far;

	if (own->key == EDGE_UNUSED || !is_indirect(from)) {
		from->victim ^= 1;
		return own;
	}
	far = far_successor_at(cpu->code.far, from->va, key);
	far->from = from;
	far->generation = cpu->code.far->generation;
	return &far->successor;
}

/* True if TO repeats the string instruction at the end of FROM; no audit reports it. */
static bool
can_repeat(const struct block *from, const struct block *to)
{
	return to->last.string.bytes != 0 && cpu_is_rep_again(from, to->va) &&
	    !from->audited && !to->audited;
}

/* UNITS: the cost of what has retired. */
static void
learn_successor(struct cpu *cpu, struct block *from, struct block *to,
    bool taken, uint64_t units)
{
	bool checked = from->writable || to->writable || can_repeat(from, to);
	uint64_t need_units = units + cpu_units_of(cpu, to);
	struct successor *successor;

	if (!insn_is_simple(from->last.class) || from->ambiguous ||
	    need_units > UINT16_MAX)
		return;
	successor = place_successor(cpu, from, successor_key(to->va, to->size));
	*successor = (struct successor){
		.key = successor_key(to->va, to->size),
		.to = to,
		.insns = from->insns,
		.need = (uint16_t)(from->insns + to->insns),
		.units = (uint16_t)units,
		.need_units = (uint16_t)need_units,
		.word = to->word,
		.kind = successor_kinds[from->last.class],
		.shift = from->last.class == INSN_COND,
		.bit = from->last.class == INSN_COND && taken,
	};
	if (cpu_is_rep_again(from, to->va)) {
		successor->insns--;
		successor->need--;
	}
	if (checked || from->audited || to->audited || to->wide_count > 0)
		successor->key ^= EDGE_CHECKED;
	if (successor->kind == EDGE_CALL && from->last.target == from->next_va)
		successor->kind = EDGE_BIT;
	if (successor->kind != EDGE_BIT)
		successor->bit = EDGE_PACKET;
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
	return cpu->code.forget_count > 0 || cpu_is_wrong_engine(cpu, block) ||
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

/* The JMP at the end of FROM has not retired, because other code is there now. */
static void
undo_jump(struct cpu *cpu, const struct block *from)
{
	uint64_t va = from->last_va;

	cpu_forget_code(cpu, from->va, from->size);
	cpu_cut_block(cpu, va);
	if (cpu->exec_log != NULL)
		exec_log_cut(cpu->exec_log, va);
	stop_at(cpu, va, false);
}

/* BLOCK is entered; its cost is not the one that successors of it assume. */
static void
carry_run(struct cpu *cpu, const struct block *block)
{
	cpu->carried = *block;
	cpu->carried.successor[0].key = cpu->carried.successor[1].key =
	    EDGE_UNUSED;
	cpu->block = &cpu->carried;
}

/* The slow path: for all but a cached successor far from any limit. */
__attribute__((noinline)) void
cpu_enter_slow(struct cpu *cpu, uint64_t va, uint32_t size)
{
	struct block *from = cpu->block;
	bool is_left = from->insns > 0 && !cpu_is_again(from, va, size);
	bool rep_again = from->insns > 0 && cpu_is_rep_again(from, va);
	uint64_t units = cpu_count_units(cpu);
	uint32_t age = block_cache_age(cpu->code.blocks);
	struct block *block;
	bool old;

	TZ_ASSERT(size <= BLOCK_BYTES_MAX);
	if (is_left && !cpu_is_stepping(cpu) && block_wrote_jump(from)) {
		undo_jump(cpu, from);
		return;
	}
	end_block(cpu, va, size);
	units = cpu_count_units(cpu) - units;
	cpu->attention = false;
	old = cpu_is_stepping(cpu) && cpu_is_translation_old(cpu, va, size);
	block = cpu_find_block(cpu, va, size);
	if (is_unfit(cpu, block) || old || must_stop(cpu)) {
		stop_at(cpu, va, rep_again);
		return;
	}
	if (rep_again && can_repeat(from, block))
		cpu_repeat(cpu, block, 0);
	if (cpu->exec_log != NULL)
		cpu_log_entry(cpu, block, rep_again);
	cpu->block = block;
	if (cpu_continues_run(cpu, block)) {
		if (!cpu_is_stepping(cpu))
			carry_run(cpu, block);
	} else {
		cpu->clock.run.count = 0;
		/* After a flush, FROM is an empty or another block. */
		if (!cpu_is_stepping(cpu) && (is_left || rep_again) &&
		    from != &cpu->carried &&
		    block_cache_age(cpu->code.blocks) == age)
			learn_successor(
			    cpu, from, block, va != from->next_va, units);
	}
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
	cpu->time.left -= successor->insns;
	cpu->time.units_left -= successor->units;
	follow_successor(cpu->unit, successor, va, cpu->block->next_va);
	if (!cpu->attention) {
		go_on(cpu, successor);
		return;
	}
	/* It has filled a region, or the unit requested attention. */
	cpu->block = &cpu->nowhere;
	cpu->mode.place = PLACE_BOUNDARY;
	cpu_enter_slow(cpu, va, size);
}

/* Takes SUCCESSOR, which leads to VA. */
static inline void
take_successor(struct cpu *cpu, const struct successor *successor, uint64_t va,
    uint32_t size)
{
	struct pt_fast *fast = cpu->route;

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
	cpu->time.left -= successor->insns;
	cpu->time.units_left -= successor->units;
	go_on(cpu, successor);
}

/* The successor of FROM with KEY, if it has one; else another. */
static inline const struct successor *
find_successor(const struct block *from, uint64_t key)
{
	const struct successor *successor = from->successor;

	return successor + (successor->key != key);
}

/* True if the limit may lie before the end of the block to which SUCCESSOR leads. */
static inline bool
is_near_limit(const struct cpu *cpu, const struct successor *successor)
{
	return cpu->time.left < successor->need ||
	    cpu->time.units_left < successor->need_units;
}

/* The successor with KEY, checked or not, that is in the table; NULL: none. */
static const struct successor *
find_far(struct cpu *cpu, uint64_t key)
{
	const struct far_successor *far = far_successor_at(
	    cpu->code.far, cpu->block->va, key);

	return far->from == cpu->block &&
		far->generation == cpu->code.far->generation &&
		(far->successor.key & ~EDGE_CHECKED) == (key & ~EDGE_CHECKED)
	    ? &far->successor
	    : NULL;
}

/*
 * The same as cpu_enter() for code that may have been overwritten or is audited, and for a
 * successor that is not the block's own.
 */
static __attribute__((noinline)) void
enter_other(struct cpu *cpu, uint64_t va, uint32_t size)
{
	uint64_t key = successor_key(va, size);
	const struct successor *successor = find_successor(
	    cpu->block, key ^ EDGE_CHECKED);
	const struct block *to;

	if (successor->key != (key ^ EDGE_CHECKED))
		successor = find_far(cpu, key);
	if (successor == NULL || is_near_limit(cpu, successor)) {
		cpu_enter_slow(cpu, va, size);
		return;
	}
	if (successor->key == key) {
		take_successor(cpu, successor, va, size);
		return;
	}
	to = successor->to;
	if (block_is_stale(to) ||
	    block_wrote_itself(cpu->block, cpu->block->size) ||
	    (!to->hooked && cpu_has_misplaced(cpu, to))) {
		cpu_enter_slow(cpu, va, size);
		return;
	}
	if (can_repeat(cpu->block, to))
		cpu_repeat(cpu, successor->to, successor->units);
	/* Before anything else is reported of this exit. */
	if (cpu->audit.block != NULL)
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
	if (successor->key != key || is_near_limit(cpu, successor))
		enter_other(cpu, va, size);
	else
		take_successor(cpu, successor, va, size);
}
