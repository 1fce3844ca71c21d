#include "traces/verify/counters/insn_flow.h"

#include <string.h>

static enum exec_log_file_step
step_kind(uint32_t word)
{
	return (enum exec_log_file_step)(
	    word & ((1u << EXEC_LOG_FILE_BITS) - 1));
}

void
insn_flow_start(struct insn_flow *flow, const struct exec_log_file *log)
{
	memset(flow, 0, sizeof(*flow));
	flow->log = log;
}

/* Where execution went on after the step at .at; 0: the log ends there. */
static uint64_t
next_ip(const struct insn_flow *flow)
{
	const struct exec_log_file *log = flow->log;

	for (size_t at = flow->at + 1; at < log->steps.count; at++) {
		uint32_t index = step_list_at(&log->steps, at) >>
		    EXEC_LOG_FILE_BITS;

		if (step_kind(step_list_at(&log->steps, at)) ==
		    EXEC_LOG_FILE_BLOCK)
			return log->blocks[index].va;
		if (step_kind(step_list_at(&log->steps, at)) ==
		    EXEC_LOG_FILE_EVENT)
			return log->events[index].rip;
	}
	return 0;
}

static enum insn_taken
taken_of(const struct exec_log_block *block, uint64_t next)
{
	if (block->transfer == CODE_EITHER || next == 0)
		return INSN_PERHAPS;
	return next == block->va + block->bytes ? INSN_NOT_TAKEN : INSN_TAKEN;
}

static void
give_block(struct insn_flow *flow, const struct exec_log_block *block,
    uint64_t limit, struct insn_piece *piece)
{
	uint32_t left = block->count - flow->taken;
	bool whole = left <= limit - flow->retired;

	piece->kind = INSN_FLOW_INSNS;
	piece->block = block;
	piece->index = flow->taken;
	piece->count = whole ? left : (uint32_t)(limit - flow->retired);
	piece->last = CODE_PLAIN;
	flow->retired += piece->count;
	flow->taken += piece->count;
	if (!whole)
		return;
	piece->last = block->kind;
	piece->next = next_ip(flow);
	piece->taken = taken_of(block, piece->next);
	flow->taken = 0;
	flow->at++;
}

void
insn_flow_pass(struct insn_flow *flow, uint64_t at)
{
	struct insn_clock *clock = &flow->clock;
	uint64_t cycles = at - clock->at;

	if (clock->known && at < clock->at)
		return;
	if (clock->halted && clock->sleeps)
		clock->last = cycles;
	else if (clock->known)
		clock->passed[flow->cpl != 0] += cycles;
	clock->sleeps = clock->halted;
	clock->known = true;
	clock->moved = false;
	clock->at = at;
}

/* The times before the step at .at. */
static void
pass_times(struct insn_flow *flow)
{
	const struct exec_log_file *log = flow->log;
	struct insn_clock *clock = &flow->clock;

	while (clock->next < log->time_count &&
	    log->times[clock->next].step <= flow->at)
		insn_flow_pass(flow, log->times[clock->next++].cycles);
}

/* An event ends HLT: what passed last is its delivery. */
static void
wake(struct insn_clock *clock)
{
	if (!clock->halted)
		return;
	clock->passed[0] += clock->last;
	clock->lost |= !clock->sleeps;
	clock->halted = clock->sleeps = false;
	clock->last = 0;
}

static void
change_ring(struct insn_flow *flow, uint8_t cpl)
{
	flow->clock.lost |= flow->clock.moved && (cpl != 0) != (flow->cpl != 0);
	flow->cpl = cpl;
}

struct insn_piece
insn_flow_next(struct insn_flow *flow, uint64_t limit)
{
	const struct exec_log_file *log = flow->log;

	for (; flow->at < log->steps.count; flow->at++) {
		uint32_t word = step_list_at(&log->steps, flow->at);
		uint32_t index = word >> EXEC_LOG_FILE_BITS;
		struct insn_piece piece = { .kind = INSN_FLOW_EVENT,
			.before = flow->retired,
			.cr3 = flow->cr3,
			.cpl = flow->cpl };

		if (flow->taken == 0)
			pass_times(flow);
		switch (step_kind(word)) {
		case EXEC_LOG_FILE_BLOCK:
			if (flow->retired >= limit)
				return (
				    struct insn_piece){ .kind = INSN_FLOW_LIMIT,
					.before = flow->retired };
			give_block(flow, &log->blocks[index], limit, &piece);
			flow->clock.moved = true;
			flow->clock.halted = piece.last == CODE_HLT;
			return piece;
		case EXEC_LOG_FILE_EVENT:
			piece.vector = log->events[index].vector;
			piece.rip = log->events[index].rip;
			wake(&flow->clock);
			flow->at++;
			return piece;
		case EXEC_LOG_FILE_CONTEXT:
			change_ring(flow, log->contexts[index].cpl);
			flow->cr3 = log->contexts[index].cr3;
			break;
		case EXEC_LOG_FILE_GAP:
			flow->retired = log->gaps[index];
			flow->clock.known = flow->clock.moved = false;
			flow->clock.halted = flow->clock.sleeps = false;
			break;
		case EXEC_LOG_FILE_MSR:
		case EXEC_LOG_FILE_STOPPED:
			break;
		}
	}
	pass_times(flow);
	return (struct insn_piece){ .kind = INSN_FLOW_LIMIT,
		.before = flow->retired };
}
