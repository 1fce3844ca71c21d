/*
 * The recovered flow, block by block: each shows where the last instruction of the block
 * before it led.
 */
#include "traces/reencode/replay/replay_internal.h"

enum pt_transfer_kind
flow_kind(const struct code_block *block)
{
	static const enum pt_transfer_kind kinds[] = {
		[INSN_CLASS_PLAIN] = PT_TRANSFER_FAR,
		[INSN_CLASS_COND] = PT_TRANSFER_COND,
		[INSN_CLASS_JUMP] = PT_TRANSFER_JMP_DIRECT,
		[INSN_CLASS_CALL] = PT_TRANSFER_CALL_DIRECT,
		[INSN_CLASS_JUMP_INDIRECT] = PT_TRANSFER_JMP_INDIRECT,
		[INSN_CLASS_CALL_INDIRECT] = PT_TRANSFER_CALL_INDIRECT,
		[INSN_CLASS_RET] = PT_TRANSFER_RET,
		[INSN_CLASS_FAR] = PT_TRANSFER_FAR,
		[INSN_CLASS_MOV_CR3] = PT_TRANSFER_MOV_CR3,
	};

	return kinds[code_blocks_kind(block)];
}

/* Reports the last block's last instruction, which led to IP. */
static void
flow_slow(struct replay *replay, uint64_t ip, bool taken)
{
	bool is_far = code_blocks_kind(replay->last) == INSN_CLASS_FAR;
	struct pt_transfer transfer = { .kind = flow_kind(replay->last),
		.taken = taken,
		.after = replay->at };

	if (is_far)
		trace_boundary_move(&transfer.after, ip);
	transfer.after.ip = ip;
	report_transfer(
	    replay, &transfer, is_far && report_has_event_trace(replay));
}

/* Reports a conditional branch, if flow_steady(). */
static inline void
flow_cond(struct replay *replay, bool taken)
{
	struct pt_unit *unit = replay->driver.unit;

	if (pt_unit_fast(unit)->timed)
		pt_unit_steady_cond(unit, taken);
	else
		pt_unit_fast_cond(unit, taken);
}

/* Reports a near RET to IP, if flow_steady(). */
static inline void
flow_ret(struct replay *replay, uint64_t ip)
{
	struct pt_unit *unit = replay->driver.unit;

	if (pt_unit_fast(unit)->timed)
		pt_unit_steady_ret(unit, ip);
	else
		pt_unit_fast_ret(unit, ip);
}

/* The outcome of a conditional branch to the next instruction: only the trace has it. */
static bool
flow_outcome(struct replay *replay)
{
	report_take(replay);
	return compare_outcome(replay->driver.compare,
		   pt_unit_tnt_pending(replay->driver.unit)) == 1;
}

/*
 * Reports what comes before the packets of the last block's last instruction, which led to
 * IP.  While .quiet is not 0 only outcomes can come.
 */
static void
flow_before(struct replay *replay, uint64_t ip)
{
	enum insn_class_kind kind = code_blocks_kind(replay->last);
	uint64_t compressed;
	bool sends = kind == INSN_CLASS_JUMP_INDIRECT ||
	    kind == INSN_CLASS_CALL_INDIRECT || kind == INSN_CLASS_FAR;

	if (kind == INSN_CLASS_RET)
		sends = !pt_fast_ret_target(
			    pt_unit_fast(replay->driver.unit), &compressed) ||
		    compressed != ip;
	if (sends || replay->quiet == 0)
		pending_packets_before(replay, sends);
	if (replay->quiet != 0 &&
	    (kind == INSN_CLASS_COND || kind == INSN_CLASS_RET))
		replay->quiet--;
}

/* May a transfer to IP be reported by the unit's inline functions? */
static inline bool
flow_steady(const struct replay *replay, uint64_t ip)
{
	const struct pt_fast *fast = pt_unit_fast(replay->driver.unit);

	return fast->steady && !replay->cr3_written && ip >= fast->low &&
	    ip <= fast->high;
}

/* A conditional branch, the last block's last instruction, led to IP; false: it cannot. */
static inline __attribute__((always_inline)) bool
flow_lead_cond(struct replay *replay, uint64_t ip)
{
	const struct code_block *last = replay->last;
	/* Without a branch on the outcome, which the host could not predict. */
	bool taken = ip == code_blocks_target(last);

	if (!(taken | (ip == code_blocks_nlip(last))))
		return false;
	if (last->distance == 0)
		taken = flow_outcome(replay);
	if (flow_steady(replay, ip)) {
		replay->at.ip = ip;
		flow_cond(replay, taken);
	} else {
		flow_slow(replay, ip, taken);
	}
	return true;
}

/* The last block's last instruction, whatever it is, led to IP; false: it cannot. */
static inline __attribute__((always_inline)) bool
flow_lead(struct replay *replay, uint64_t ip)
{
	const struct code_block *last = replay->last;
	struct pt_unit *unit = replay->driver.unit;
	enum insn_class_kind kind = code_blocks_kind(last);
	bool steady;

	/* Most are. */
	if (kind == INSN_CLASS_COND)
		return flow_lead_cond(replay, ip);
	steady = flow_steady(replay, ip);
	switch (kind) {
	case INSN_CLASS_JUMP:
	case INSN_CLASS_CALL:
		if (ip != code_blocks_target(last))
			return false;
		if (!steady)
			break;
		replay->at.ip = ip;
		if (kind == INSN_CLASS_CALL && ip != code_blocks_nlip(last))
			pt_unit_fast_call(unit, code_blocks_nlip(last));
		return true;
	case INSN_CLASS_PLAIN:
	case INSN_CLASS_MOV_CR3:
		replay->at.ip = ip;
		/* A string instruction may be interrupted: it begins anew. */
		return ip == code_blocks_nlip(last) ||
		    ip == code_blocks_end(&last->key);
	case INSN_CLASS_JUMP_INDIRECT:
	case INSN_CLASS_CALL_INDIRECT:
		if (!steady)
			break;
		replay->at.ip = ip;
		if (kind == INSN_CLASS_CALL_INDIRECT)
			pt_unit_fast_call(unit, code_blocks_nlip(last));
		pt_unit_steady_tip(unit, ip);
		return true;
	case INSN_CLASS_RET:
		if (!steady)
			break;
		replay->at.ip = ip;
		flow_ret(replay, ip);
		return true;
	case INSN_CLASS_COND: /* above */
	case INSN_CLASS_FAR:
		break;
	}
	flow_slow(replay, ip, true);
	return true;
}

/* flow_resolve(), where most of the flow comes from. */
static inline __attribute__((always_inline)) void
flow_follow(struct replay *replay, uint64_t ip)
{
	if (!replay->has_last) {
		if (replay->at.ip != ip)
			report_wrong(replay,
			    "the flow goes on where it did not stand", ip);
		return;
	}
	replay->has_last = false;
	if (replay->config.watched)
		flow_before(replay, ip);
	if (!flow_lead(replay, ip))
		report_wrong(
		    replay, "the instruction before does not lead there", ip);
}

void
flow_resolve(struct replay *replay, uint64_t ip)
{
	flow_follow(replay, ip);
}

/* Pushes the return addresses of direct calls inside BLOCK. */
static void
flow_calls(struct replay *replay, const struct code_block *block)
{
	struct pt_unit *unit = replay->driver.unit;
	const uint64_t *call;
	size_t count;

	if (!pt_unit_fast(unit)->compress_ret)
		return;
	call = code_blocks_calls(replay->config.blocks, block, &count);
	for (size_t n = 0; n < count; n++)
		pt_unit_fast_call(unit, call[n]);
}

/* Reports that the flow continues with the block WANTED; false: it cannot. */
static inline bool
flow_block(struct replay *replay, const struct code_blocks_key *wanted)
{
	struct code_block *block;
	const char *text = NULL;
	uint64_t at = 0;

	replay->entered = false;
	if (!replay->running)
		return false;
	flow_follow(replay, wanted->ip);
	block = code_block(
	    replay->config.blocks, replay->last, wanted, &text, &at);
	if (block == NULL) {
		report_wrong(replay, text, at);
		return false;
	}
	if (code_blocks_has_calls(block))
		flow_calls(replay, block);
	replay->last = block;
	replay->has_last = true;
	return true;
}

const struct code_blocks_key *
flow_blocks(struct replay *replay, const struct code_blocks_key *block,
    const struct code_blocks_key *end)
{
	uint64_t blocks = 0, insns = 0;

	for (; block < end && block->rest != 0 && !replay->ended; block++)
		if (flow_block(replay, block)) {
			blocks++;
			insns += code_blocks_count(block);
		}
	replay->result->blocks += blocks;
	replay->result->insns += insns;
	return block;
}
