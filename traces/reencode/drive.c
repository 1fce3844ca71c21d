#include "traces/reencode/drive.h"

#include "traces/grow.h"
#include "traces/reencode/drive_work.h"

#define DRIVE_CTL_EVENT_EN TZ_BIT(31)
/* PSBFreq.  SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define DRIVE_CTL_PERIOD(ctl) (UINT64_C(2048) << tz_bits(ctl, 27, 24))

void
drive_result_free(struct drive_result *result)
{
	free(result->gaps);
	result->gaps = NULL;
	result->gap_count = 0;
}

void
drive_wrong(struct drive *drive, const char *text, uint64_t ip)
{
	if (drive->result->wrong == NULL) {
		drive->result->wrong = text;
		drive->result->wrong_ip = ip;
		drive->result->wrong_offset = compare_offset(
		    drive->config.compare);
	}
	drive->ended = true;
}

void
drive_fail(struct drive *drive)
{
	drive->failed = drive->ended = true;
}

/* What DRIVE knows of the setting in force. */
static void
drive_know(struct drive *drive)
{
	uint64_t ctl = drive->feed->ctl;

	drive->told = (ctl & DRIVE_CTL_EVENT_EN) != 0;
	drive->psb_period_bytes = DRIVE_CTL_PERIOD(ctl);
}

bool
drive_set(struct drive *drive, uint64_t offset)
{
	size_t setting = feed_setting_at(drive->feed, offset);

	if (setting == drive->feed->setting)
		return false;
	feed_set(drive->feed, setting);
	drive_know(drive);
	drive->result->resets++;
	return true;
}

void
drive_take(struct drive *drive)
{
	drive->untaken = 0;
	if (!feed_take(drive->feed))
		drive_fail(drive);
	if (compare_difference(drive->config.compare)->found)
		drive->ended = true;
}

void
drive_room(struct drive *drive)
{
	if (feed_is_filling(drive->feed))
		drive_take(drive);
}

/* With Event Trace an interrupt has a CFE; the write that clears TraceEn has not. */
static bool
drive_disables(const struct drive *drive)
{
	struct happen_event event;

	if (!drive->told)
		return false;
	happen_told(drive, &event);
	return event.type == 0;
}

static bool
drive_is_direct(enum pt_transfer_kind kind)
{
	return kind == PT_TRANSFER_COND || kind == PT_TRANSFER_JMP_DIRECT ||
	    kind == PT_TRANSFER_CALL_DIRECT;
}

/* A direct branch has a TIP.PGD without IP: the processor shows SKL014. */
static void
drive_bare(struct drive *drive)
{
	drive->result->skl014 = true;
	drive->feed->profile.errata_on |= UINT32_C(1) << PROFILE_ERRATUM_SKL014;
}

/* The trace is left; where to is known unless the TIP.PGD has no IP. */
static void
drive_leave(struct drive *drive, const struct recover_item *item)
{
	bool async = item->kind == RECOVER_ASYNC_DISABLED;
	enum pt_transfer_kind kind = PT_TRANSFER_INTERRUPT;
	struct pt_context after;
	uint64_t from = 0, pgd;

	if (async) {
		from = item->ip;
		drive_resolve(drive, item->ip);
	} else if (drive->has_last) {
		kind = drive_kind(walk_kind(drive->last));
	} else {
		kind = PT_TRANSFER_FAR;
	}
	after = drive->at;
	if (!item->no_ip) {
		edge_move(&after, item->to);
	} else if (!async && drive->has_last && drive_is_direct(kind) &&
	    drive->feed->filter.config != 0) {
		after.ip = walk_target(drive->last);
		if (kind != PT_TRANSFER_COND)
			drive_bare(drive);
	} else {
		after = feed_out_of_context(drive->feed, &after);
	}
	if (kind == PT_TRANSFER_COND && !drive->result->jcc_ip_known) {
		drive->result->jcc_ip_known = true;
		drive->result->jcc_ip = !item->no_ip;
		drive->feed->manner.pgd_jcc_ip = !item->no_ip;
	}
	happen_before(drive, true);
	if (async && item->no_ip && drive_disables(drive)) {
		drive->at.ip = from;
		feed_disable(drive->feed, &drive->at);
		drive->at = after;
	} else {
		drive_report(drive, kind, from, &after);
	}
	drive->has_last = false;
	drive->traced = false;
	if (edge_guide(drive, SCAN_PGD, &pgd))
		interlude_drive(drive);
	drive_take(drive);
}

static void
drive_branch(struct drive *drive, const struct recover_item *item)
{
	struct pt_context after;

	drive_resolve(drive, item->ip);
	after = drive->at;
	edge_move(&after, item->to);
	happen_before(drive, true);
	state_peek_cr3(drive, &after);
	drive_report(drive, PT_TRANSFER_INTERRUPT, item->ip, &after);
}

/* CR3 changes: by MOV CR3, or by the transfer that is reported next. */
static void
drive_paging(struct drive *drive, const struct recover_item *item)
{
	struct pt_context after;

	/* What stands before a TIP.PGE was told of when that was read. */
	if (!drive->traced || drive->entered)
		return;
	if (item->kind == RECOVER_ASYNC_PAGING)
		drive_resolve(drive, item->ip);
	if (drive->cr3_peeked) {
		drive->cr3_peeked = false;
		return;
	}
	drive->at.cr3 = item->value;
	drive->at.non_root = item->flag;
	drive->cr3_written = true;
	if (drive->has_last && (walk_kind(drive->last) == WALK_MOV_CR3)) {
		after = drive->at;
		after.ip = walk_nlip(drive->last);
		happen_before(drive, true);
		drive_report(drive, PT_TRANSFER_MOV_CR3, 0, &after);
		drive->has_last = false;
	}
}

/*
 * A PSB+ in the trace: the unit's own counter must say the same, but when after it
 * the PSB comes is up to the processor.  Where PSB+ is not compared it always is.
 */
static void
drive_psb(struct drive *drive, uint64_t ip)
{
	uint64_t late;

	if (!drive->traced)
		return;
	doubt_end(drive);
	drive_resolve(drive, ip);
	/* What makes it due may be no transfer. */
	happen_before(drive, false);
	if (drive->ended)
		return;
	if (!pt_unit_psb_due(drive->feed->unit) && !drive->config.free_psbs)
		return;
	happen_psb(drive);
	if (drive->ended)
		return;
	late = drive->late + pt_unit_psb_late(drive->feed->unit);
	if (pt_unit_psb_due(drive->feed->unit) &&
	    late > drive->result->psb_late)
		drive->result->psb_late = late;
	drive->late = 0;
	pt_unit_psb(drive->feed->unit, ip);
}

/*
 * An instruction of which a part lies in memory that no image has is none to libipt.
 * Where it must begin: behind the last block or where its last instruction leads.
 */
static bool
drive_is_part(const struct drive *drive, const struct recover_item *item)
{
	const struct walk *walk = drive->config.walk;
	const struct walk_block *last = drive->last;

	if (item->value == 0)
		return false;
	if (item->insns == 0)
		return !walk_is_whole(walk, item->ip);
	return !walk_is_whole(walk, walk_nlip(last)) ||
	    ((walk_kind(last) == WALK_JUMP || walk_kind(last) == WALK_CALL ||
		 walk_kind(last) == WALK_COND) &&
		!walk_is_whole(walk, walk_target(last)));
}

void
drive_add_gap(struct drive *drive, const struct drive_gap *gap)
{
	struct drive_result *result = drive->result;

	drive->has_last = drive->running = false;
	if (!GROW(result->gaps, result->gap_room, result->gap_count + 1)) {
		drive_fail(drive);
		return;
	}
	result->gaps[result->gap_count] = *gap;
	result->gaps[result->gap_count++].to = drive->config.count;
}

static void
drive_gap(struct drive *drive, const struct recover_item *item)
{
	bool part = drive_is_part(drive, item);
	bool entry = happen_is_entry(drive, item->offset);

	if (item->endless) {
		drive->result->endless = drive->ended = true;
	} else if (drive->doubts || doubt_is_ovf(drive, item->offset)) {
		doubt_begin(drive);
		drive_wrong(drive, item->text, drive->at.ip);
		return;
	}
	drive_take(drive);
	drive_add_gap(drive,
	    &(struct drive_gap){ .from = compare_offset(drive->config.compare),
		.at = item->offset,
		.text = part ? "only a part of the instruction is mapped"
		    : entry  ? "it takes no CFE of a VM entry"
			     : item->text,
		.unmapped = item->flag || part || entry });
}

/* The last block's last instruction, if it is one that may, gives an outcome. */
static void
drive_last_outcome(struct drive *drive, bool taken)
{
	const struct walk_block *last = drive->last;
	const struct pt_fast *fast = pt_unit_fast(drive->feed->unit);
	uint32_t top = (fast->ret_top + PT_RETURN_STACK_ENTRIES - 1) %
	    PT_RETURN_STACK_ENTRIES;

	if (walk_kind(last) == WALK_COND)
		drive_resolve(
		    drive, taken ? walk_target(last) : walk_nlip(last));
	else if (walk_kind(last) == WALK_RET && fast->compress_ret &&
	    fast->ret_count != 0)
		drive_resolve(drive, fast->ret_stack[top]);
}

void
drive_last(struct drive *drive, uint64_t end)
{
	const struct walk_block *last = drive->last;
	uint64_t at = compare_offset(drive->config.compare);
	struct scan scan = drive->guide;
	struct scan_packet packet, found = { .kind = SCAN_PAD };
	while (scan_next(&scan, &packet) && packet.offset < end)
		if (packet.offset >= at &&
		    (packet.kind == SCAN_TIP || packet.kind == SCAN_TNT))
			found = packet;
	if (!drive->has_last)
		return;
	if (found.kind == SCAN_TIP && walk_kind(last) != WALK_COND &&
	    walk_kind(last) != WALK_PLAIN)
		drive_resolve(drive, found.value);
	else if (found.kind == SCAN_TNT &&
	    found.bits == pt_unit_tnt_pending(drive->feed->unit) + 1)
		/* One outcome more than the unit still holds is this one's. */
		drive_last_outcome(drive, (found.value & 1) != 0);
}

/* Where the last packet ends that is no PAD. */
static uint64_t
drive_end(const struct drive *drive)
{
	struct scan scan = drive->guide;
	struct scan_packet packet;
	uint64_t end;

	end = scan.offset = compare_offset(drive->config.compare);
	while (scan_next(&scan, &packet))
		if (packet.kind != SCAN_PAD)
			end = scan.offset;
	return end;
}

/* The trace ends at END outside of all that is traced: at most a flush follows. */
static void
drive_flush(struct drive *drive, uint64_t *end)
{
	uint64_t at = compare_offset(drive->config.compare);

	feed_disable(drive->feed, &drive->at);
	if (*end == at && drive->config.facts->cut_off == 0) {
		*end = at + (16 - (at + drive->phase) % 16) % 16;
		if (*end > drive->config.count)
			*end = drive->config.count;
	}
	compare_limit(drive->config.compare, *end);
	if (!feed_take(drive->feed))
		drive_fail(drive);
}

/* How the trace ends: by a flush, or cut off while the unit goes on. */
static void
drive_finish(struct drive *drive)
{
	struct drive_result *result = drive->result;
	uint64_t end;

	if (!drive->running)
		return;
	drive_take(drive);
	if (drive->ended)
		return;
	if (drive->has_last && walk_kind(drive->last) == WALK_PLAIN)
		drive->at.ip = walk_nlip(drive->last);
	drive_last(drive, drive->config.count);
	drive_take(drive);
	if (drive->ended)
		return;
	end = drive_end(drive);
	if (!drive->traced)
		happen_before(drive, true);
	drive_take(drive);
	if (drive->traced || compare_offset(drive->config.compare) < end)
		overflow_cut(drive, end, false);
	else
		drive_flush(drive, &end);
	if (!compare_stop(drive->config.compare, end))
		drive_fail(drive);
	result->tail = drive->config.count - end;
}

void
drive_item(struct drive *drive, const struct recover_item *item)
{
	switch (item->kind) {
	case RECOVER_SYNC:
		edge_sync(drive, item->offset);
		return;
	case RECOVER_PSB:
		drive_psb(drive, item->ip);
		return;
	case RECOVER_ENABLED:
		drive->entered = false;
		if (!drive->traced || drive->at.ip != item->ip)
			drive_wrong(drive,
			    "the trace goes on where no TIP.PGE says",
			    item->ip);
		return;
	case RECOVER_DISABLED:
	case RECOVER_ASYNC_DISABLED:
		drive_leave(drive, item);
		return;
	case RECOVER_ASYNC_BRANCH:
		drive_branch(drive, item);
		return;
	case RECOVER_PAGING:
	case RECOVER_ASYNC_PAGING:
		drive_paging(drive, item);
		return;
	case RECOVER_OVERFLOW:
		edge_overflow(drive);
		return;
	case RECOVER_MODE:
		edge_mode(&drive->at,
		    item->bits == 64       ? 1
			: item->bits == 32 ? 2
					   : 0);
		return;
	case RECOVER_VMCS:
		if (drive->traced && !drive->entered)
			edge_vmcs(drive, item->value);
		return;
	case RECOVER_CBR:
		return;
	case RECOVER_OTHER:
		return;
	case RECOVER_ERROR:
		drive_gap(drive, item);
		return;
	case RECOVER_END:
		drive_finish(drive);
		drive->ended = true;
		return;
	}
}

int
drive_run(const struct drive_config *config, struct drive_result *result,
    struct tz_error *err)
{
	struct drive drive = { .config = *config,
		.last = walk_none(config->walk),
		.result = result,
		.feed = config->feed,
		.phase = config->phase,
		.watched = config->watched,
		.tsx = config->facts->tsx != 0,
		.cyc_most = TZ_BIT(config->feed->manner.cyc_bits) - 1 };

	drive_know(&drive);
	*result = (struct drive_result){ 0 };
	while (!drive.ended) {
		/* In doubt libipt must not be ahead: it may have to go back. */
		drive_batch(&drive,
		    recover_read(
			config->recover, drive.doubts ? 1 : RECOVER_BATCH));
		if (drive.doubts)
			doubt_forgive(&drive);
	}
	result->clock_jumps = drive.clock.jumps;
	if (drive.failed)
		return tz_error(err, TZ_EIO, "reencode: out of memory");
	return 0;
}
