#include "traces/reencode/replay/replay.h"

#include "traces/reencode/replay/replay_internal.h"

#include <stdlib.h>

#define DRIVE_CTL_EVENT_EN TZ_BIT(31)
/* PSBFreq.  SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define DRIVE_CTL_PERIOD(ctl) (UINT64_C(2048) << tz_bits(ctl, 27, 24))

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
		replay->result->wrong_offset = compare_offset(
		    replay->config.compare);
	}
	replay->ended = true;
}

void
replay_fail(struct replay *replay)
{
	replay->failed = replay->ended = true;
}

/* What DRIVE knows of the setting in force. */
static void
replay_know(struct replay *replay)
{
	uint64_t ctl = replay->feed->ctl;

	replay->told = (ctl & DRIVE_CTL_EVENT_EN) != 0;
	replay->psb_period_bytes = DRIVE_CTL_PERIOD(ctl);
}

bool
replay_set(struct replay *replay, uint64_t offset)
{
	size_t setting = unit_driver_setting_at(replay->feed, offset);

	if (setting == replay->feed->setting)
		return false;
	unit_driver_set(replay->feed, setting);
	replay_know(replay);
	replay->result->resets++;
	return true;
}

void
replay_take(struct replay *replay)
{
	replay->untaken = 0;
	if (!unit_driver_take(replay->feed))
		replay_fail(replay);
	if (compare_difference(replay->config.compare)->found)
		replay->ended = true;
}

void
replay_room(struct replay *replay)
{
	if (unit_driver_is_filling(replay->feed))
		replay_take(replay);
}

/* With Event Trace an interrupt has a CFE; the write that clears TraceEn has not. */
static bool
replay_disables(const struct replay *replay)
{
	struct pending_packets_event event;

	if (!replay->told)
		return false;
	pending_packets_told(replay, &event);
	return event.type == 0;
}

static bool
replay_is_direct(enum pt_transfer_kind kind)
{
	return kind == PT_TRANSFER_COND || kind == PT_TRANSFER_JMP_DIRECT ||
	    kind == PT_TRANSFER_CALL_DIRECT;
}

/* A direct branch has a TIP.PGD without IP: the processor shows SKL014. */
static void
replay_bare(struct replay *replay)
{
	replay->result->skl014 = true;
	replay->feed->profile.errata_on |= UINT32_C(1)
	    << PROFILE_ERRATUM_SKL014;
}

/* The trace is left; where to is known unless the TIP.PGD has no IP. */
static void
replay_leave(struct replay *replay, const struct recover_item *item)
{
	bool async = item->kind == RECOVER_ASYNC_DISABLED;
	enum pt_transfer_kind kind = PT_TRANSFER_INTERRUPT;
	struct pt_context after;
	uint64_t from = 0, pgd;

	if (async) {
		from = item->ip;
		replay_resolve(replay, item->ip);
	} else if (replay->has_last) {
		kind = replay_kind(code_blocks_kind(replay->last));
	} else {
		kind = PT_TRANSFER_FAR;
	}
	after = replay->at;
	if (!item->no_ip) {
		trace_boundary_move(&after, item->to);
	} else if (!async && replay->has_last && replay_is_direct(kind) &&
	    replay->feed->filter.config != 0) {
		after.ip = code_blocks_target(replay->last);
		if (kind != PT_TRANSFER_COND)
			replay_bare(replay);
	} else {
		after = unit_driver_out_of_context(replay->feed, &after);
	}
	if (kind == PT_TRANSFER_COND && !replay->result->jcc_ip_known) {
		replay->result->jcc_ip_known = true;
		replay->result->jcc_ip = !item->no_ip;
		replay->feed->uarch.pgd_jcc_ip = !item->no_ip;
	}
	pending_packets_before(replay, true);
	if (async && item->no_ip && replay_disables(replay)) {
		replay->at.ip = from;
		unit_driver_disable(replay->feed, &replay->at);
		replay->at = after;
	} else {
		replay_report(replay, kind, from, &after);
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
	state_peek_cr3(replay, &after);
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
	errata_gap_end(replay);
	replay_resolve(replay, ip);
	/* What makes it due may be no transfer. */
	pending_packets_before(replay, false);
	if (replay->ended)
		return;
	if (!pt_unit_psb_due(replay->feed->unit) && !replay->config.free_psbs)
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

void
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
		trace_boundary_overflow(replay);
		return;
	case RECOVER_MODE:
		trace_boundary_mode(&replay->at,
		    item->bits == 64       ? 1
			: item->bits == 32 ? 2
					   : 0);
		return;
	case RECOVER_VMCS:
		if (replay->traced && !replay->entered)
			trace_boundary_vmcs(replay, item->value);
		return;
	case RECOVER_CBR:
		return;
	case RECOVER_OTHER:
		return;
	case RECOVER_ERROR:
		replay_gap(replay, item);
		return;
	case RECOVER_END:
		replay_finish(replay);
		replay->ended = true;
		return;
	}
}

int
replay_run(const struct replay_config *config, struct replay_result *result,
    struct tz_error *err)
{
	struct replay replay = { .config = *config,
		.last = code_blocks_none(config->walk),
		.result = result,
		.feed = config->feed,
		.phase = config->phase,
		.watched = config->watched,
		.tsx = config->stats->tsx != 0,
		.cyc_most = TZ_BIT(config->feed->uarch.cyc_bits) - 1 };

	replay_know(&replay);
	*result = (struct replay_result){ 0 };
	while (!replay.ended) {
		/* In doubt libipt must not be ahead: it may have to go back. */
		replay_batch(&replay,
		    recover_read(
			config->recover, replay.doubts ? 1 : RECOVER_BATCH));
		if (replay.doubts)
			errata_gap_forgive(&replay);
	}
	result->clock_jumps = replay.clock.jumps;
	if (replay.failed)
		return tz_error(err, TZ_EIO, "reencode: out of memory");
	return 0;
}
