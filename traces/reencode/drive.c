#include "traces/reencode/drive.h"

#include "traces/reencode/drive_work.h"

#include <stdlib.h>

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
		drive->feed->uarch.pgd_jcc_ip = !item->no_ip;
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

void
drive_item(struct drive *drive, const struct recover_item *item)
{
	if (!drive->running && item->kind != RECOVER_SYNC &&
	    item->kind != RECOVER_ERROR && item->kind != RECOVER_END)
		return;
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
		.cyc_most = TZ_BIT(config->feed->uarch.cyc_bits) - 1 };

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
