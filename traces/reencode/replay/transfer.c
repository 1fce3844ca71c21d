/*
 * Transfers: what the last instruction of a block is to the unit.
 */
#include "traces/reencode/replay/replay_internal.h"

/* What TRANSFER is by what Event Trace and MODE.TSX say. */
static void
replay_tell(struct replay *replay, struct pt_transfer *transfer)
{
	static const enum pt_transfer_kind kinds[] = {
		[2] = PT_TRANSFER_IRET,
		[5] = PT_TRANSFER_SIPI,
		[6] = PT_TRANSFER_INIT,
		[7] = PT_TRANSFER_VM_ENTRY,
		[8] = PT_TRANSFER_VM_EXIT,
		[9] = PT_TRANSFER_VM_EXIT,
	};
	struct pending_packets_event event;

	pending_packets_told(replay, &event);
	if (event.aborts) {
		replay->vmx.in_tsx = false;
		transfer->kind = PT_TRANSFER_TSX_ABORT;
	}
	if (event.type < TZ_ARRAY_LEN(kinds) && kinds[event.type] != 0)
		transfer->kind = kinds[event.type];
	if (event.type == 1 && event.vector == 14)
		transfer->kind = PT_TRANSFER_EXCEPTION;
	transfer->has_vector = event.type == 1 || event.type == 9 ||
	    event.type == 5;
	transfer->vector = event.vector;
	transfer->cr2 = event.cr2;
	transfer->exit[0] = event.exit[0];
	transfer->exit[1] = event.exit[1];
	if (event.ip != 0)
		transfer->ip_from = event.ip;
}

void
replay_report(struct replay *replay, enum pt_transfer_kind kind, uint64_t from,
    const struct pt_context *after)
{
	struct pt_transfer transfer = { .kind = kind,
		.taken = kind == PT_TRANSFER_COND,
		.cr3_written = replay->cr3_written,
		.ip_from = from,
		.nlip = code_blocks_nlip(replay->last),
		.after = *after };

	if (replay->told || replay->tsx)
		replay_tell(replay, &transfer);
	replay->cr3_written = false;
	pt_unit_transfer(replay->feed->unit, &transfer);
	replay->at = *after;
}

enum pt_transfer_kind
replay_kind(enum code_blocks_kind kind)
{
	static const enum pt_transfer_kind kinds[] = {
		[WALK_PLAIN] = PT_TRANSFER_FAR,
		[WALK_COND] = PT_TRANSFER_COND,
		[WALK_JUMP] = PT_TRANSFER_JMP_DIRECT,
		[WALK_CALL] = PT_TRANSFER_CALL_DIRECT,
		[WALK_JUMP_INDIRECT] = PT_TRANSFER_JMP_INDIRECT,
		[WALK_CALL_INDIRECT] = PT_TRANSFER_CALL_INDIRECT,
		[WALK_RET] = PT_TRANSFER_RET,
		[WALK_FAR] = PT_TRANSFER_FAR,
		[WALK_MOV_CR3] = PT_TRANSFER_MOV_CR3,
	};

	TZ_ASSERT(kind < TZ_ARRAY_LEN(kinds));
	return kinds[kind];
}

/* Reports the last block's last instruction, which led to IP. */
static void
replay_slow(struct replay *replay, uint64_t ip, bool taken)
{
	struct pt_transfer transfer = { .kind = replay_kind(
					    code_blocks_kind(replay->last)),
		.taken = taken,
		.cr3_written = replay->cr3_written,
		.nlip = code_blocks_nlip(replay->last) };

	if (code_blocks_kind(replay->last) == WALK_FAR)
		trace_boundary_move(&replay->at, ip);
	replay->at.ip = ip;
	transfer.after = replay->at;
	if (replay->told && code_blocks_kind(replay->last) == WALK_FAR)
		replay_tell(replay, &transfer);
	replay->cr3_written = false;
	pt_unit_transfer(replay->feed->unit, &transfer);
}

/* The same of a conditional branch where the unit is steady. */
static inline void
replay_cond(struct replay *replay, bool taken)
{
	struct pt_unit *unit = replay->feed->unit;

	if (pt_unit_fast(unit)->timed)
		pt_unit_steady_cond(unit, taken);
	else
		pt_unit_fast_cond(unit, taken);
}

/* The same of a near RET to IP. */
static inline void
replay_ret(struct replay *replay, uint64_t ip)
{
	struct pt_unit *unit = replay->feed->unit;

	if (pt_unit_fast(unit)->timed)
		pt_unit_steady_ret(unit, ip);
	else
		pt_unit_fast_ret(unit, ip);
}

/* A conditional branch to the next instruction: only the trace can tell. */
static bool
replay_outcome(struct replay *replay)
{
	replay_take(replay);
	return compare_outcome(replay->config.compare,
		   pt_unit_tnt_pending(replay->feed->unit)) == 1;
}

/* Does the last block's last instruction, which led to IP, send an IP? */
static bool
replay_sends(const struct replay *replay, uint64_t ip)
{
	uint64_t compressed;

	switch (code_blocks_kind(replay->last)) {
	case WALK_RET:
		return !pt_fast_ret_target(
			   pt_unit_fast(replay->feed->unit), &compressed) ||
		    compressed != ip;
	case WALK_JUMP_INDIRECT:
	case WALK_CALL_INDIRECT:
	case WALK_FAR:
		return true;
	case WALK_PLAIN:
	case WALK_COND:
	case WALK_JUMP:
	case WALK_CALL:
	case WALK_MOV_CR3:
		return false;
	}
	return false;
}

/*
 * Tells of what comes before the last instruction's own packets.  Not where the
 * outcomes that the trace has next are not all there yet: nothing comes before
 * them.
 */
static void
replay_before(struct replay *replay, uint64_t ip)
{
	bool sends = replay_sends(replay, ip);

	if (sends || replay->quiet == 0)
		pending_packets_before(replay, sends);
	if (replay->quiet != 0 &&
	    (code_blocks_kind(replay->last) == WALK_COND ||
		code_blocks_kind(replay->last) == WALK_RET))
		replay->quiet--;
}

/* May the unit be told of a transfer to IP inline? */
static inline bool
replay_steady(const struct replay *replay, uint64_t ip)
{
	const struct pt_fast *fast = pt_unit_fast(replay->feed->unit);

	return fast->steady && !replay->cr3_written && ip >= fast->low &&
	    ip <= fast->high;
}

/* A conditional branch, the last block's last instruction, led to IP; false: it cannot. */
static inline __attribute__((always_inline)) bool
replay_lead_cond(struct replay *replay, uint64_t ip)
{
	const struct code_block *last = replay->last;
	/* No branch on the outcome: the host could not foresee it. */
	bool taken = ip == code_blocks_target(last);

	if (!(taken | (ip == code_blocks_nlip(last))))
		return false;
	if (last->distance == 0)
		taken = replay_outcome(replay);
	if (replay_steady(replay, ip)) {
		replay->at.ip = ip;
		replay_cond(replay, taken);
	} else {
		replay_slow(replay, ip, taken);
	}
	return true;
}

/* The last block's last instruction, whatever it is, led to IP; false: it cannot. */
static inline __attribute__((always_inline)) bool
replay_lead(struct replay *replay, uint64_t ip)
{
	const struct code_block *last = replay->last;
	struct pt_unit *unit = replay->feed->unit;
	enum code_blocks_kind kind = code_blocks_kind(last);
	bool steady;

	/* Most are. */
	if (kind == WALK_COND)
		return replay_lead_cond(replay, ip);
	steady = replay_steady(replay, ip);
	switch (kind) {
	case WALK_JUMP:
	case WALK_CALL:
		if (ip != code_blocks_target(last))
			return false;
		if (!steady)
			break;
		replay->at.ip = ip;
		if (kind == WALK_CALL && ip != code_blocks_nlip(last))
			pt_unit_fast_call(unit, code_blocks_nlip(last));
		return true;
	case WALK_PLAIN:
	case WALK_MOV_CR3:
		replay->at.ip = ip;
		/* A string instruction may be interrupted: it begins anew. */
		return ip == code_blocks_nlip(last) ||
		    ip == code_blocks_end(&last->key);
	case WALK_JUMP_INDIRECT:
	case WALK_CALL_INDIRECT:
		if (!steady)
			break;
		replay->at.ip = ip;
		if (kind == WALK_CALL_INDIRECT)
			pt_unit_fast_call(unit, code_blocks_nlip(last));
		pt_unit_steady_tip(unit, ip);
		return true;
	case WALK_RET:
		if (!steady)
			break;
		replay->at.ip = ip;
		replay_ret(replay, ip);
		return true;
	case WALK_COND: /* above */
	case WALK_FAR:
		break;
	}
	replay_slow(replay, ip, true);
	return true;
}

/* replay_resolve(), where most of the flow comes from. */
static inline __attribute__((always_inline)) void
replay_follow(struct replay *replay, uint64_t ip)
{
	if (!replay->has_last) {
		if (replay->at.ip != ip)
			replay_wrong(replay,
			    "the flow goes on where it did not stand", ip);
		return;
	}
	replay->has_last = false;
	if (replay->watched)
		replay_before(replay, ip);
	if (!replay_lead(replay, ip))
		replay_wrong(
		    replay, "the instruction before does not lead there", ip);
}

void
replay_resolve(struct replay *replay, uint64_t ip)
{
	replay_follow(replay, ip);
}

/* Direct calls inside BLOCK: only their return addresses matter. */
static void
replay_calls(struct replay *replay, const struct code_block *block)
{
	struct pt_unit *unit = replay->feed->unit;
	const uint64_t *call;
	size_t count;

	if (!pt_unit_fast(unit)->compress_ret)
		return;
	call = code_blocks_calls(replay->config.walk, block, &count);
	for (size_t n = 0; n < count; n++)
		pt_unit_fast_call(unit, call[n]);
}

/*
 * A conditional branch, the last block's last instruction, goes to IP, where it went
 * before.  False: more than its outcome is to be told of, or it is none.
 */
static inline bool
replay_cond_again(struct replay *replay, uint64_t ip)
{
	const struct code_block *last = replay->last;
	bool taken = ip != code_blocks_nlip(last);

	if (code_blocks_kind(last) != WALK_COND || !replay->has_last ||
	    (replay->watched && replay->quiet == 0) ||
	    !replay_steady(replay, ip))
		return false;
	replay->quiet -= replay->watched;
	if (last->distance == 0)
		taken = replay_outcome(replay);
	replay->at.ip = ip;
	replay_cond(replay, taken);
	return true;
}

/*
 * The block that is WANTED, where it is not the one that came last behind BEFORE; or
 * NULL.
 */
static struct code_block *
replay_walk(struct replay *replay, struct code_block *before,
    const struct code_blocks_key *wanted)
{
	const char *text = NULL;
	uint64_t at = 0;
	struct code_block *block = code_block(
	    replay->config.walk, before, wanted, &text, &at);

	if (block == NULL)
		replay_wrong(replay, text, at);
	return block;
}

/*
 * Drives the last block's last instruction to the block that is WANTED, which is BLOCK
 * or, if that is NULL, to be found.  Only what leads there is remembered as what came
 * before: replay_cond_again() trusts it.
 */
static struct code_block *
replay_block_anew(struct replay *replay, struct code_block *block,
    const struct code_blocks_key *wanted)
{
	struct code_block *before = replay->has_last
	    ? replay->last
	    : code_blocks_none(replay->config.walk);

	if (!replay->running)
		return NULL;
	replay_follow(replay, wanted->ip);
	if (block != NULL)
		return block;
	if (replay->ended)
		before = code_blocks_none(replay->config.walk);
	return replay_walk(replay, before, wanted);
}

/* The flow goes on with the block that is WANTED; false: it cannot. */
static inline bool
replay_block(struct replay *replay, const struct code_blocks_key *wanted)
{
	struct code_block *block = code_blocks_again(
	    replay->config.walk, replay->last, wanted);

	replay->entered = false;
	if (block == NULL || !replay_cond_again(replay, wanted->ip)) {
		block = replay_block_anew(replay, block, wanted);
		if (block == NULL)
			return false;
	}
	if (code_blocks_has_calls(block))
		replay_calls(replay, block);
	replay->last = block;
	replay->has_last = true;
	return true;
}

void
replay_batch(struct replay *replay, const struct recover_batch *batch)
{
	const struct code_blocks_key *block = batch->block,
				     *end = block + batch->count;
	const struct recover_item *item = batch->item;
	uint64_t blocks = 0, insns = 0;

	for (; block < end && !replay->ended; block++) {
		if (block->rest == 0) {
			replay_item(replay, item++);
		} else if (replay_block(replay, block)) {
			blocks++;
			insns += code_blocks_count(block);
		}
	}
	replay->result->blocks += blocks;
	replay->result->insns += insns;
	/*
	 * In doubt, where a batch is one item, a difference is not to be seen before
	 * what comes next, unless the ring fills.
	 */
	if (!replay->ended &&
	    (!replay->doubts || ++replay->untaken == RECOVER_BATCH))
		replay_take(replay);
}
