#include "traces/reencode/replay/replay_internal.h"

#include "emu/base/rtit.h"

#include <stdlib.h>

#define TELL_BYTES (UINT64_C(1) << 18)

void
replay_result_free(struct replay_result *result)
{
	free(result->gaps);
	result->gaps = NULL;
	result->gap_count = 0;
}

/* With Event Trace an interrupt has a CFE; a WRMSR that clears TraceEn has none. */
static bool
replay_disables(const struct replay *replay)
{
	struct pt_transfer transfer;

	return report_has_event_trace(replay) &&
	    report_read_cause(replay, &transfer) == CFE_NONE;
}

/*
 * Sets AFTER to where a TIP.PGD without IP may have led: to the target of a direct branch
 * (SKL014), or out of context.
 */
static void
replay_leave_bare(
    struct replay *replay, enum pt_transfer_kind kind, struct pt_context *after)
{
	if (!replay->has_last || replay->driver.filter.config == 0 ||
	    (kind != PT_TRANSFER_COND && kind != PT_TRANSFER_JMP_DIRECT &&
		kind != PT_TRANSFER_CALL_DIRECT)) {
		*after = unit_driver_context(&replay->driver, after, false);
		return;
	}
	after->ip = code_blocks_target(replay->last);
	if (kind != PT_TRANSFER_COND) {
		replay->result->errata |= REPLAY_ERRATUM(SKL014);
		replay->driver.profile.errata_on |= REPLAY_ERRATUM(SKL014);
	}
}

/* A TIP.PGD: tracing ends, at ITEM's .to unless it has no IP. */
static void
replay_leave(struct replay *replay, const struct recover_item *item)
{
	bool async = item->kind == RECOVER_ASYNC_DISABLED;
	enum pt_transfer_kind kind = PT_TRANSFER_FAR;
	struct pt_context after;
	uint64_t pgd;

	if (async) {
		kind = PT_TRANSFER_INTERRUPT;
		flow_resolve(replay, item->ip);
	} else if (replay->has_last) {
		kind = flow_kind(replay->last);
	}
	after = replay->at;
	if (!item->no_ip)
		trace_boundary_move(&after, item->to);
	else
		replay_leave_bare(replay, kind, &after);
	if (kind == PT_TRANSFER_COND && !replay->result->jcc_ip_known) {
		replay->result->jcc_ip_known = true;
		replay->result->jcc_ip = !item->no_ip;
		replay->driver.uarch.pgd_jcc_ip = !item->no_ip;
	}
	pending_packets_before(replay, true);
	if (async && item->no_ip && replay_disables(replay)) {
		replay->at.ip = item->ip;
		unit_driver_disable(&replay->driver, &replay->at);
		replay->at = after;
	} else {
		report_event(replay, kind, item->ip, &after);
	}
	replay->has_last = false;
	replay->traced = false;
	if (trace_boundary_guide(replay, PKT_PGD, &pgd))
		trace_off_span_drive(replay);
	report_take(replay);
}

static void
replay_branch(struct replay *replay, const struct recover_item *item)
{
	struct pt_context after;

	flow_resolve(replay, item->ip);
	after = replay->at;
	trace_boundary_move(&after, item->to);
	pending_packets_before(replay, true);
	trace_boundary_peek_pip(replay, &after);
	report_event(replay, PT_TRANSFER_INTERRUPT, item->ip, &after);
}

/* CR3 changes: by MOV CR3, or by the transfer that is reported next. */
static void
replay_paging(struct replay *replay, const struct recover_item *item)
{
	struct pt_context after;

	/* PIPs before a TIP.PGE were reported with it. */
	if (!replay->traced || replay->entered)
		return;
	if (item->kind == RECOVER_ASYNC_PAGING)
		flow_resolve(replay, item->ip);
	if (replay->cr3_peeked) {
		replay->cr3_peeked = false;
		return;
	}
	replay->at.cr3 = item->value;
	replay->at.non_root = item->flag;
	replay->cr3_written = true;
	if (replay->has_last &&
	    (code_blocks_kind(replay->last) == INSN_CLASS_MOV_CR3)) {
		after = replay->at;
		after.ip = code_blocks_nlip(replay->last);
		pending_packets_before(replay, true);
		report_event(replay, PT_TRANSFER_MOV_CR3, 0, &after);
		replay->has_last = false;
	}
}

/*
 * A PSB+ in the trace: PacketByteCnt of the unit must have made one due.  How much later
 * it comes is the processor's choice.
 */
static void
replay_psb(struct replay *replay, uint64_t ip)
{
	uint64_t late;

	if (!replay->traced)
		return;
	replay->doubt.open = false;
	flow_resolve(replay, ip);
	/* A non-branch event may make it due. */
	pending_packets_before(replay, false);
	if (replay->ended)
		return;
	if (!pt_unit_psb_due(replay->driver.unit) &&
	    !unit_driver_ignores_psbs(&replay->driver))
		return;
	pending_packets_psb(replay);
	if (replay->ended)
		return;
	late = replay->late + pt_unit_psb_late(replay->driver.unit);
	if (pt_unit_psb_due(replay->driver.unit) &&
	    late > replay->result->psb_late)
		replay->result->psb_late = late;
	replay->late = 0;
	pt_unit_psb(replay->driver.unit, ip);
}

static void
replay_item(struct replay *replay, const struct recover_item *item)
{
	if (!replay->running && item->kind != RECOVER_SYNC &&
	    item->kind != RECOVER_ERROR && item->kind != RECOVER_END)
		return;
	switch (item->kind) {
	case RECOVER_SYNC:
		sync_drive(replay, item->offset);
		return;
	case RECOVER_PSB:
		replay_psb(replay, item->ip);
		return;
	case RECOVER_ENABLED:
		replay->entered = false;
		if (!replay->traced || replay->at.ip != item->ip)
			report_wrong(replay,
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
		gap_stop(replay, item);
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
	const struct code_blocks_key *block = batch->block;
	const struct code_blocks_key *end = block + batch->count;
	const struct recover_item *item = batch->item;

	while (block < end && !replay->ended) {
		if (block->rest == 0) {
			replay_item(replay, item++);
			block++;
		} else {
			block = flow_blocks(replay, block, end);
		}
	}
	/*
	 * With .doubt open, a batch is one item, and a difference is looked for only
	 * when the ring fills.
	 */
	if (!replay->ended &&
	    (!replay->doubt.open || ++replay->doubt.untaken == RECOVER_BATCH))
		report_take(replay);
}

int
replay_begin(struct replay *replay, const struct replay_config *config,
    struct replay_result *result, struct tz_error *err)
{
	int error;

	replay_result_free(result);
	*result = (struct replay_result){ 0 };
	*replay = (struct replay){ .config = *config,
		.last = code_blocks_none(config->blocks),
		.result = result };
	compare_begin(&replay->compare, config->form, config->bytes,
	    config->count, config->left_out);
	error = unit_driver_create(
	    &replay->driver, &config->driver, &replay->compare, err);
	replay->clock.driver = &replay->driver;
	replay->clock.most = TZ_BIT(replay->driver.uarch.cyc_bits) - 1;
	return error;
}

void
replay_end(struct replay *replay)
{
	replay->result->clock_jumps = replay->clock.jumps;
	replay->result->difference = replay->compare.difference;
	recover_destroy(replay->recover);
	unit_driver_destroy(&replay->driver);
	compare_end(&replay->compare);
}

static int
replay_recover(struct replay *replay, struct tz_error *err)
{
	struct decode_config decode = replay->config.decode;

	decode.image = memory_image_image(replay->config.image, err);
	if (decode.image == NULL)
		return -TZ_EFORMAT;
	replay->recover = recover_create(&decode);
	return replay->recover != NULL
	    ? 0
	    : tz_error(err, TZ_EIO, "libipt: out of memory");
}

/* Calls the caller's function, if DONE bytes are TELL_BYTES more than *TOLD. */
static void
replay_tell(const struct replay_config *config, uint64_t done, uint64_t *told)
{
	if (config->progress == NULL ||
	    (done != 0 && done < *told + TELL_BYTES))
		return;
	config->progress(config->progress_arg, done, config->count);
	*told = done;
}

int
replay_run(const struct replay_config *config, struct replay_result *result,
    struct tz_error *err)
{
	struct replay replay;
	uint64_t told = 0;
	int error = replay_begin(&replay, config, result, err);

	replay_tell(config, 0, &told);
	if (error == 0)
		error = replay_recover(&replay, err);
	while (error == 0 && !replay.ended) {
		/* With .doubt open libipt must not run ahead: it may have to resync. */
		replay_batch(&replay,
		    recover_read(
			replay.recover, replay.doubt.open ? 1 : RECOVER_BATCH));
		if (replay.doubt.open)
			gap_excuse(&replay);
		replay_tell(config, compare_offset(&replay.compare), &told);
	}
	if (error == 0 && (replay.failed || replay.compare.failed))
		error = tz_error(err, TZ_EIO, "reencode: out of memory");
	replay_end(&replay);
	return error;
}
