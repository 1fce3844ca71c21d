/*
 * Transfers: what the last instruction of a block is to the unit.
 */
#include "traces/reencode/drive_work.h"

/* What TRANSFER is by what Event Trace and MODE.TSX say. */
static void
drive_tell(struct drive *drive, struct pt_transfer *transfer)
{
	static const enum pt_transfer_kind kinds[] = {
		[2] = PT_TRANSFER_IRET,
		[5] = PT_TRANSFER_SIPI,
		[6] = PT_TRANSFER_INIT,
		[7] = PT_TRANSFER_VM_ENTRY,
		[8] = PT_TRANSFER_VM_EXIT,
		[9] = PT_TRANSFER_VM_EXIT,
	};
	struct happen_event event;

	happen_told(drive, &event);
	if (event.aborts) {
		drive->vmx.in_tsx = false;
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
drive_report(struct drive *drive, enum pt_transfer_kind kind, uint64_t from,
    const struct pt_context *after)
{
	struct pt_transfer transfer = { .kind = kind,
		.taken = kind == PT_TRANSFER_COND,
		.cr3_written = drive->cr3_written,
		.ip_from = from,
		.nlip = walk_nlip(drive->last),
		.after = *after };

	if (drive->told || drive->tsx)
		drive_tell(drive, &transfer);
	drive->cr3_written = false;
	pt_unit_transfer(drive->feed->unit, &transfer);
	drive->at = *after;
}

enum pt_transfer_kind
drive_kind(enum walk_kind kind)
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
drive_slow(struct drive *drive, uint64_t ip, bool taken)
{
	struct pt_transfer transfer = { .kind = drive_kind(
					    walk_kind(drive->last)),
		.taken = taken,
		.cr3_written = drive->cr3_written,
		.nlip = walk_nlip(drive->last) };

	if (walk_kind(drive->last) == WALK_FAR)
		edge_move(&drive->at, ip);
	drive->at.ip = ip;
	transfer.after = drive->at;
	if (drive->told && walk_kind(drive->last) == WALK_FAR)
		drive_tell(drive, &transfer);
	drive->cr3_written = false;
	pt_unit_transfer(drive->feed->unit, &transfer);
}

/* The same of a conditional branch where the unit is steady. */
static inline void
drive_cond(struct drive *drive, bool taken)
{
	struct pt_unit *unit = drive->feed->unit;

	if (pt_unit_fast(unit)->timed)
		pt_unit_steady_cond(unit, taken);
	else
		pt_unit_fast_cond(unit, taken);
}

/* The same of a near RET to IP. */
static inline void
drive_ret(struct drive *drive, uint64_t ip)
{
	struct pt_unit *unit = drive->feed->unit;

	if (pt_unit_fast(unit)->timed)
		pt_unit_steady_ret(unit, ip);
	else
		pt_unit_fast_ret(unit, ip);
}

/* A conditional branch to the next instruction: only the trace can tell. */
static bool
drive_outcome(struct drive *drive)
{
	drive_take(drive);
	return compare_outcome(drive->config.compare,
		   pt_unit_tnt_pending(drive->feed->unit)) == 1;
}

/* Does the last block's last instruction, which led to IP, send an IP? */
static bool
drive_sends(const struct drive *drive, uint64_t ip)
{
	const struct pt_fast *fast = pt_unit_fast(drive->feed->unit);
	uint32_t top = (fast->ret_top + PT_RETURN_STACK_ENTRIES - 1) %
	    PT_RETURN_STACK_ENTRIES;

	switch (walk_kind(drive->last)) {
	case WALK_RET:
		return !fast->compress_ret || fast->ret_count == 0 ||
		    fast->ret_stack[top] != ip;
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
drive_before(struct drive *drive, uint64_t ip)
{
	bool sends = drive_sends(drive, ip);

	if (sends || drive->quiet == 0)
		happen_before(drive, sends);
	if (drive->quiet != 0 &&
	    (walk_kind(drive->last) == WALK_COND ||
		walk_kind(drive->last) == WALK_RET))
		drive->quiet--;
}

/* May the unit be told of a transfer to IP inline? */
static inline bool
drive_steady(const struct drive *drive, uint64_t ip)
{
	const struct pt_fast *fast = pt_unit_fast(drive->feed->unit);

	return fast->steady && !drive->cr3_written && ip >= fast->low &&
	    ip <= fast->high;
}

/* A conditional branch, the last block's last instruction, led to IP; false: it cannot. */
static inline __attribute__((always_inline)) bool
drive_lead_cond(struct drive *drive, uint64_t ip)
{
	const struct walk_block *last = drive->last;
	/* No branch on the outcome: the host could not foresee it. */
	bool taken = ip == walk_target(last);

	if (!(taken | (ip == walk_nlip(last))))
		return false;
	if (last->distance == 0)
		taken = drive_outcome(drive);
	if (drive_steady(drive, ip)) {
		drive->at.ip = ip;
		drive_cond(drive, taken);
	} else {
		drive_slow(drive, ip, taken);
	}
	return true;
}

/* The last block's last instruction, whatever it is, led to IP; false: it cannot. */
static inline __attribute__((always_inline)) bool
drive_lead(struct drive *drive, uint64_t ip)
{
	const struct walk_block *last = drive->last;
	struct pt_unit *unit = drive->feed->unit;
	enum walk_kind kind = walk_kind(last);
	bool steady;

	/* Most are. */
	if (kind == WALK_COND)
		return drive_lead_cond(drive, ip);
	steady = drive_steady(drive, ip);
	switch (kind) {
	case WALK_JUMP:
	case WALK_CALL:
		if (ip != walk_target(last))
			return false;
		if (!steady)
			break;
		drive->at.ip = ip;
		if (kind == WALK_CALL && ip != walk_nlip(last))
			pt_unit_fast_call(unit, walk_nlip(last));
		return true;
	case WALK_PLAIN:
	case WALK_MOV_CR3:
		drive->at.ip = ip;
		/* A string instruction may be interrupted: it begins anew. */
		return ip == walk_nlip(last) || ip == walk_end(&last->key);
	case WALK_JUMP_INDIRECT:
	case WALK_CALL_INDIRECT:
		if (!steady)
			break;
		drive->at.ip = ip;
		if (kind == WALK_CALL_INDIRECT)
			pt_unit_fast_call(unit, walk_nlip(last));
		pt_unit_steady_tip(unit, ip);
		return true;
	case WALK_RET:
		if (!steady)
			break;
		drive->at.ip = ip;
		drive_ret(drive, ip);
		return true;
	case WALK_COND: /* above */
	case WALK_FAR:
		break;
	}
	drive_slow(drive, ip, true);
	return true;
}

/* drive_resolve(), where most of the flow comes from. */
static inline __attribute__((always_inline)) void
drive_follow(struct drive *drive, uint64_t ip)
{
	if (!drive->has_last) {
		if (drive->at.ip != ip)
			drive_wrong(drive,
			    "the flow goes on where it did not stand", ip);
		return;
	}
	drive->has_last = false;
	if (drive->watched)
		drive_before(drive, ip);
	if (!drive_lead(drive, ip))
		drive_wrong(
		    drive, "the instruction before does not lead there", ip);
}

void
drive_resolve(struct drive *drive, uint64_t ip)
{
	drive_follow(drive, ip);
}

/* Direct calls inside BLOCK: only their return addresses matter. */
static void
drive_calls(struct drive *drive, const struct walk_block *block)
{
	struct pt_unit *unit = drive->feed->unit;
	const uint64_t *call;
	size_t count;

	if (!pt_unit_fast(unit)->compress_ret)
		return;
	call = walk_calls(drive->config.walk, block, &count);
	for (size_t n = 0; n < count; n++)
		pt_unit_fast_call(unit, call[n]);
}

/*
 * A conditional branch, the last block's last instruction, goes to IP, where it went
 * before.  False: more than its outcome is to be told of, or it is none.
 */
static inline bool
drive_cond_again(struct drive *drive, uint64_t ip)
{
	const struct walk_block *last = drive->last;
	bool taken = ip != walk_nlip(last);

	if (walk_kind(last) != WALK_COND || !drive->has_last ||
	    (drive->watched && drive->quiet == 0) || !drive_steady(drive, ip))
		return false;
	drive->quiet -= drive->watched;
	if (last->distance == 0)
		taken = drive_outcome(drive);
	drive->at.ip = ip;
	drive_cond(drive, taken);
	return true;
}

/*
 * The block that is WANTED, where it is not the one that came last behind BEFORE; or
 * NULL.
 */
static struct walk_block *
drive_walk(struct drive *drive, struct walk_block *before,
    const struct walk_key *wanted)
{
	const char *text = NULL;
	uint64_t at = 0;
	struct walk_block *block = walk_block(
	    drive->config.walk, before, wanted, &text, &at);

	if (block == NULL)
		drive_wrong(drive, text, at);
	return block;
}

/*
 * Drives the last block's last instruction to the block that is WANTED, which is BLOCK
 * or, if that is NULL, to be found.  Only what leads there is remembered as what came
 * before: drive_cond_again() trusts it.
 */
static struct walk_block *
drive_block_anew(struct drive *drive, struct walk_block *block,
    const struct walk_key *wanted)
{
	struct walk_block *before = drive->has_last
	    ? drive->last
	    : walk_none(drive->config.walk);

	if (!drive->running)
		return NULL;
	drive_follow(drive, wanted->ip);
	if (block != NULL)
		return block;
	if (drive->ended)
		before = walk_none(drive->config.walk);
	return drive_walk(drive, before, wanted);
}

/* The flow goes on with the block that is WANTED; false: it cannot. */
static inline bool
drive_block(struct drive *drive, const struct walk_key *wanted)
{
	struct walk_block *block = walk_again(
	    drive->config.walk, drive->last, wanted);

	drive->entered = false;
	if (block == NULL || !drive_cond_again(drive, wanted->ip)) {
		block = drive_block_anew(drive, block, wanted);
		if (block == NULL)
			return false;
	}
	if (walk_has_calls(block))
		drive_calls(drive, block);
	drive->last = block;
	drive->has_last = true;
	return true;
}

void
drive_batch(struct drive *drive, const struct recover_batch *batch)
{
	const struct walk_key *block = batch->block,
			      *end = block + batch->count;
	const struct recover_item *item = batch->item;
	uint64_t blocks = 0, insns = 0;

	for (; block < end && !drive->ended; block++) {
		if (block->rest == 0) {
			drive_item(drive, item++);
		} else if (drive_block(drive, block)) {
			blocks++;
			insns += walk_count(block);
		}
	}
	drive->result->blocks += blocks;
	drive->result->insns += insns;
	/*
	 * In doubt, where a batch is one item, a difference is not to be seen before
	 * what comes next, unless the ring fills.
	 */
	if (!drive->ended &&
	    (!drive->doubts || ++drive->untaken == RECOVER_BATCH))
		drive_take(drive);
}
