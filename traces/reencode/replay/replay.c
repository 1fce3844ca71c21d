#include "traces/reencode/replay/replay_internal.h"

#include "emu/base/rtit.h"

#include <stdlib.h>

bool
replay_told(const struct replay *replay)
{
	return (replay->feed->ctl & CTL_EVENT_EN) != 0;
}

void
replay_result_free(struct replay_result *result)
{
	free(result->gaps);
	result->gaps = NULL;
	result->gap_count = 0;
}

void
replay_wrong(struct replay *replay, const char *text, uint64_t ip)
{
	if (replay->result->wrong == NULL) {
		replay->result->wrong = text;
		replay->result->wrong_ip = ip;
		replay->result->wrong_offset = replay_offset(replay);
	}
	replay->ended = true;
}

void
replay_fail(struct replay *replay)
{
	replay->failed = replay->ended = true;
}

void
replay_set(struct replay *replay, uint64_t offset)
{
	if (!unit_driver_is_reset(replay->feed, offset))
		return;
	unit_driver_set(replay->feed, offset);
	replay->result->resets++;
}

void
replay_take(struct replay *replay)
{
	replay->doubt.untaken = 0;
	unit_driver_take(replay->feed);
	if (replay->feed->compare->difference.found ||
	    replay->feed->compare->failed)
		replay->ended = true;
}

/*
 * Tells the unit of TRANSFER, by the last block's last instruction or behind it; TELLS:
 * packets before it may say what it is.
 */
static void
replay_transfer(struct replay *replay, struct pt_transfer *transfer, bool tells)
{
	transfer->cr3_written = replay->cr3_written;
	transfer->nlip = code_blocks_nlip(replay->last);
	if (tells)
		(void)pending_packets_told(replay, transfer);
	if (transfer->kind == PT_TRANSFER_TSX_ABORT)
		replay->vmx.in_tsx = false;
	replay->cr3_written = false;
	pt_unit_transfer(replay->feed->unit, transfer);
	replay->at = transfer->after;
}

void
replay_report(struct replay *replay, enum pt_transfer_kind kind, uint64_t from,
    const struct pt_context *after)
{
	struct pt_transfer transfer = { .kind = kind,
		.taken = kind == PT_TRANSFER_COND,
		.ip_from = from,
		.after = *after };

	replay_transfer(replay, &transfer,
	    replay_told(replay) || replay->feed->stats->tsx != 0);
}

/* What the last instruction of a block is to the unit. */
static enum pt_transfer_kind
replay_kind(const struct code_block *block)
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

	return kinds[code_blocks_kind(block)];
}

/* Reports the last block's last instruction, which led to IP. */
static void
replay_slow(struct replay *replay, uint64_t ip, bool taken)
{
	bool is_far = code_blocks_kind(replay->last) == WALK_FAR;
	struct pt_transfer transfer = { .kind = replay_kind(replay->last),
		.taken = taken,
		.after = replay->at };

	if (is_far)
		trace_boundary_move(&transfer.after, ip);
	transfer.after.ip = ip;
	replay_transfer(replay, &transfer, is_far && replay_told(replay));
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
	return compare_outcome(replay->feed->compare,
		   pt_unit_tnt_pending(replay->feed->unit)) == 1;
}

/*
 * Tells of what comes before the packets of the last block's last instruction, which
 * led to IP.  Not where the outcomes that the trace has next are not all there yet:
 * nothing comes before them.
 */
static void
replay_before(struct replay *replay, uint64_t ip)
{
	enum code_blocks_kind kind = code_blocks_kind(replay->last);
	uint64_t compressed;
	bool sends = kind == WALK_JUMP_INDIRECT || kind == WALK_CALL_INDIRECT ||
	    kind == WALK_FAR;

	if (kind == WALK_RET)
		sends = !pt_fast_ret_target(
			    pt_unit_fast(replay->feed->unit), &compressed) ||
		    compressed != ip;
	if (sends || replay->quiet == 0)
		pending_packets_before(replay, sends);
	if (replay->quiet != 0 && (kind == WALK_COND || kind == WALK_RET))
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
	if (replay->config.watched)
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
	    (replay->config.watched && replay->quiet == 0) ||
	    !replay_steady(replay, ip))
		return false;
	replay->quiet -= replay->config.watched;
	if (last->distance == 0)
		taken = replay_outcome(replay);
	replay->at.ip = ip;
	replay_cond(replay, taken);
	return true;
}

/*
 * Drives the last block's last instruction to the block that is WANTED, which is BLOCK
 * or, if that is NULL, to be found; NULL: it cannot.  Only what leads there is remembered
 * as what came before: replay_cond_again() trusts it.
 */
static struct code_block *
replay_block_anew(struct replay *replay, struct code_block *block,
    const struct code_blocks_key *wanted)
{
	struct walk *walk = replay->config.walk;
	struct code_block *before = replay->has_last ? replay->last
						     : code_blocks_none(walk);
	const char *text = NULL;
	uint64_t at = 0;

	if (!replay->running)
		return NULL;
	replay_follow(replay, wanted->ip);
	if (block != NULL)
		return block;
	if (replay->ended)
		before = code_blocks_none(walk);
	block = code_block(walk, before, wanted, &text, &at);
	if (block == NULL)
		replay_wrong(replay, text, at);
	return block;
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

/* With Event Trace an interrupt has a CFE; the write that clears TraceEn has not. */
static bool
replay_disables(const struct replay *replay)
{
	struct pt_transfer transfer;

	return replay_told(replay) &&
	    pending_packets_told(replay, &transfer) == CFE_NONE;
}

/*
 * Leaves AFTER where a TIP.PGD without IP may have led: to the target of a direct branch,
 * as the processor shows SKL014, or out of context.
 */
static void
replay_leave_bare(
    struct replay *replay, enum pt_transfer_kind kind, struct pt_context *after)
{
	if (!replay->has_last || replay->feed->filter.config == 0 ||
	    (kind != PT_TRANSFER_COND && kind != PT_TRANSFER_JMP_DIRECT &&
		kind != PT_TRANSFER_CALL_DIRECT)) {
		*after = unit_driver_context(replay->feed, after, false);
		return;
	}
	after->ip = code_blocks_target(replay->last);
	if (kind != PT_TRANSFER_COND) {
		replay->result->skl014 = true;
		replay->feed->profile.errata_on |= UINT32_C(1)
		    << PROFILE_ERRATUM_SKL014;
	}
}

/* The trace is left; where to is known unless the TIP.PGD has no IP. */
static void
replay_leave(struct replay *replay, const struct recover_item *item)
{
	bool async = item->kind == RECOVER_ASYNC_DISABLED;
	enum pt_transfer_kind kind = PT_TRANSFER_FAR;
	struct pt_context after;
	uint64_t pgd;

	if (async) {
		kind = PT_TRANSFER_INTERRUPT;
		replay_resolve(replay, item->ip);
	} else if (replay->has_last) {
		kind = replay_kind(replay->last);
	}
	after = replay->at;
	if (!item->no_ip)
		trace_boundary_move(&after, item->to);
	else
		replay_leave_bare(replay, kind, &after);
	if (kind == PT_TRANSFER_COND && !replay->result->jcc_ip_known) {
		replay->result->jcc_ip_known = true;
		replay->result->jcc_ip = !item->no_ip;
		replay->feed->uarch.pgd_jcc_ip = !item->no_ip;
	}
	pending_packets_before(replay, true);
	if (async && item->no_ip && replay_disables(replay)) {
		replay->at.ip = item->ip;
		unit_driver_disable(replay->feed, &replay->at);
		replay->at = after;
	} else {
		replay_report(replay, kind, item->ip, &after);
	}
	replay->has_last = false;
	replay->traced = false;
	if (trace_boundary_guide(replay, PKT_PGD, &pgd))
		trace_off_span_drive(replay);
	replay_take(replay);
}

static void
replay_branch(struct replay *replay, const struct recover_item *item)
{
	struct pt_context after;

	replay_resolve(replay, item->ip);
	after = replay->at;
	trace_boundary_move(&after, item->to);
	pending_packets_before(replay, true);
	trace_boundary_peek_pip(replay, &after);
	replay_report(replay, PT_TRANSFER_INTERRUPT, item->ip, &after);
}

/* CR3 changes: by MOV CR3, or by the transfer that is reported next. */
static void
replay_paging(struct replay *replay, const struct recover_item *item)
{
	struct pt_context after;

	/* What stands before a TIP.PGE was told of when that was read. */
	if (!replay->traced || replay->entered)
		return;
	if (item->kind == RECOVER_ASYNC_PAGING)
		replay_resolve(replay, item->ip);
	if (replay->cr3_peeked) {
		replay->cr3_peeked = false;
		return;
	}
	replay->at.cr3 = item->value;
	replay->at.non_root = item->flag;
	replay->cr3_written = true;
	if (replay->has_last &&
	    (code_blocks_kind(replay->last) == WALK_MOV_CR3)) {
		after = replay->at;
		after.ip = code_blocks_nlip(replay->last);
		pending_packets_before(replay, true);
		replay_report(replay, PT_TRANSFER_MOV_CR3, 0, &after);
		replay->has_last = false;
	}
}

/*
 * A PSB+ in the trace: the unit's own counter must say the same, but when after it
 * the PSB comes is up to the processor.  Where PSB+ is not compared it always is.
 */
static void
replay_psb(struct replay *replay, uint64_t ip)
{
	uint64_t late;

	if (!replay->traced)
		return;
	replay->doubt.open = false;
	replay_resolve(replay, ip);
	/* What makes it due may be no transfer. */
	pending_packets_before(replay, false);
	if (replay->ended)
		return;
	if (!pt_unit_psb_due(replay->feed->unit) && !replay->feed->free_psbs)
		return;
	pending_packets_psb(replay);
	if (replay->ended)
		return;
	late = replay->late + pt_unit_psb_late(replay->feed->unit);
	if (pt_unit_psb_due(replay->feed->unit) &&
	    late > replay->result->psb_late)
		replay->result->psb_late = late;
	replay->late = 0;
	pt_unit_psb(replay->feed->unit, ip);
}

static void
replay_item(struct replay *replay, const struct recover_item *item)
{
	if (!replay->running && item->kind != RECOVER_SYNC &&
	    item->kind != RECOVER_ERROR && item->kind != RECOVER_END)
		return;
	switch (item->kind) {
	case RECOVER_SYNC:
		trace_boundary_sync(replay, item->offset);
		return;
	case RECOVER_PSB:
		replay_psb(replay, item->ip);
		return;
	case RECOVER_ENABLED:
		replay->entered = false;
		if (!replay->traced || replay->at.ip != item->ip)
			replay_wrong(replay,
			    "the trace goes on where no TIP.PGE says",
			    item->ip);
		return;
	case RECOVER_DISABLED:
	case RECOVER_ASYNC_DISABLED:
		replay_leave(replay, item);
		return;
	case RECOVER_ASYNC_BRANCH:
		replay_branch(replay, item);
		return;
	case RECOVER_PAGING:
	case RECOVER_ASYNC_PAGING:
		replay_paging(replay, item);
		return;
	case RECOVER_OVERFLOW:
		overflow_drive(replay);
		return;
	case RECOVER_MODE:
		replay->at.cs_l = item->bits == 64;
		replay->at.cs_d = item->bits == 32;
		return;
	case RECOVER_VMCS:
		if (replay->traced && !replay->entered)
			trace_boundary_vmcs(replay, item->value);
		return;
	case RECOVER_OTHER:
		return;
	case RECOVER_ERROR:
		trace_end_gap(replay, item);
		return;
	case RECOVER_END:
		trace_end_finish(replay);
		replay->ended = true;
		return;
	}
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
	    (!replay->doubt.open || ++replay->doubt.untaken == RECOVER_BATCH))
		replay_take(replay);
}

void
replay_begin(struct replay *replay, const struct replay_config *config,
    struct replay_result *result)
{
	struct unit_driver *feed = config->feed;

	*replay = (struct replay){ .config = *config,
		.last = code_blocks_none(config->walk),
		.result = result,
		.feed = feed,
		.clock = {
		    .feed = feed, .most = TZ_BIT(feed->uarch.cyc_bits) - 1 } };
	*result = (struct replay_result){ 0 };
}

int
replay_run(const struct replay_config *config, struct replay_result *result,
    struct tz_error *err)
{
	struct replay replay;

	replay_begin(&replay, config, result);
	while (!replay.ended) {
		/* In doubt libipt must not be ahead: it may have to go back. */
		replay_batch(&replay,
		    recover_read(config->recover,
			replay.doubt.open ? 1 : RECOVER_BATCH));
		if (replay.doubt.open)
			trace_end_forgive(&replay);
	}
	result->clock_jumps = replay.clock.jumps;
	if (replay.failed || config->feed->compare->failed)
		return tz_error(err, TZ_EIO, "reencode: out of memory");
	return 0;
}
