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
		.nlip = drive->last->nlip,
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
					    (enum walk_kind)drive->last->kind),
		.taken = taken,
		.cr3_written = drive->cr3_written,
		.nlip = drive->last->nlip };

	if (drive->last->kind == WALK_FAR)
		edge_move(&drive->at, ip);
	drive->at.ip = ip;
	transfer.after = drive->at;
	if (drive->told && drive->last->kind == WALK_FAR)
		drive_tell(drive, &transfer);
	drive->cr3_written = false;
	pt_unit_transfer(drive->feed->unit, &transfer);
}

/* The same where the unit lets it be done inline. */
static void
drive_fast(struct drive *drive, uint64_t ip, bool taken)
{
	struct pt_unit *unit = drive->feed->unit;

	drive->at.ip = ip;
	switch ((enum walk_kind)drive->last->kind) {
	case WALK_COND:
		pt_unit_fast_cond(unit, taken);
		return;
	case WALK_CALL:
		if (drive->last->target != drive->last->nlip)
			pt_unit_fast_call(unit, drive->last->nlip);
		return;
	case WALK_CALL_INDIRECT:
		pt_unit_fast_call(unit, drive->last->nlip);
		pt_unit_steady_tip(unit, ip);
		return;
	case WALK_JUMP_INDIRECT:
		pt_unit_steady_tip(unit, ip);
		return;
	case WALK_RET:
		pt_unit_fast_ret(unit, ip);
		return;
	case WALK_PLAIN:
	case WALK_JUMP:
	case WALK_FAR:
	case WALK_MOV_CR3:
		return;
	}
}

/* The same where the time matters. */
static void
drive_steady(struct drive *drive, uint64_t ip, bool taken)
{
	struct pt_unit *unit = drive->feed->unit;

	if (drive->last->kind == WALK_COND) {
		drive->at.ip = ip;
		pt_unit_steady_cond(unit, taken);
	} else if (drive->last->kind == WALK_RET) {
		drive->at.ip = ip;
		pt_unit_steady_ret(unit, ip);
	} else {
		/* A TIP has its time in either case. */
		drive_fast(drive, ip, taken);
	}
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

	switch ((enum walk_kind)drive->last->kind) {
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
	    (drive->last->kind == WALK_COND || drive->last->kind == WALK_RET))
		drive->quiet--;
}

void
drive_resolve(struct drive *drive, uint64_t ip)
{
	const struct walk_block *last = drive->last;
	const struct pt_fast *fast = pt_unit_fast(drive->feed->unit);
	bool taken = true, may = true;

	if (!drive->has_last) {
		if (drive->at.ip != ip)
			drive_wrong(drive,
			    "the flow goes on where it did not stand", ip);
		return;
	}
	drive->has_last = false;
	if (drive->watched)
		drive_before(drive, ip);
	switch ((enum walk_kind)last->kind) {
	case WALK_COND:
		taken = ip == last->target;
		may = taken || ip == last->nlip;
		if (taken && ip == last->nlip)
			taken = drive_outcome(drive);
		break;
	case WALK_JUMP:
	case WALK_CALL:
		may = ip == last->target;
		break;
	case WALK_PLAIN:
	case WALK_MOV_CR3:
		/* A string instruction may be interrupted: it begins anew. */
		may = ip == last->nlip || ip == last->end_ip;
		break;
	case WALK_JUMP_INDIRECT:
	case WALK_CALL_INDIRECT:
	case WALK_RET:
	case WALK_FAR:
		break;
	}
	if (!may) {
		drive_wrong(
		    drive, "the instruction before does not lead there", ip);
		return;
	}
	drive->at.ip = ip;
	if (last->kind == WALK_PLAIN || last->kind == WALK_MOV_CR3)
		return;
	if (last->kind == WALK_FAR || drive->cr3_written || !fast->steady ||
	    ip < fast->low || ip > fast->high)
		drive_slow(drive, ip, taken);
	else if (fast->timed)
		drive_steady(drive, ip, taken);
	else
		drive_fast(drive, ip, taken);
}
