/*
 * The start of decoding at a PSB.
 */
#include "emu/base/rtit.h"
#include "traces/reencode/replay/replay_internal.h"

/* The PacketByteCnt to try at this sync. */
static uint32_t
sync_choose(struct replay *replay, const struct psb_count *count)
{
	uint64_t index = replay->result->syncs++;
	struct replay_choice *choice;

	if (index >= REPLAY_CHOICES)
		return count->count;
	choice = &replay->config.choices[index];
	if (!choice->made)
		*choice = (struct replay_choice){ .made = true,
			.first = count->count,
			.most = count->most,
			.low = count->count,
			.high = count->most,
			.count = count->count };
	return choice->count;
}

void
sync_drive(struct replay *replay, uint64_t offset)
{
	const struct trace_stats *stats = replay->driver.config.stats;
	size_t index = trace_stats_psb_index(stats, offset);
	struct pt_resume resume = { .psb = true };
	struct pkt psb;
	struct psb_count count;
	struct psb_plus plus;

	gap_close(replay, offset);
	replay->doubt.open = false;
	pkt_begin(
	    &replay->guide, replay->config.bytes, replay->config.count, offset);
	/*
	 * In a damaged trace the PSB may lie within a packet of trace_stats_read(): what
	 * libipt finds after it is left out.
	 */
	if (!pkt_next(&replay->guide, &psb) || psb.kind != PKT_PSB ||
	    index == stats->psb_count || stats->psb[index].offset != offset) {
		gap_add(replay,
		    &(struct replay_gap){ .from = offset,
			.at = offset,
			.text = "a PSB inside another packet" });
		return;
	}
	report_set(replay, offset);
	pkt_begin(&replay->clock.look, replay->config.bytes,
	    replay->config.count, offset);
	trace_boundary_read_psb(&replay->guide, &plus);
	trace_boundary_apply_bdm70(replay, &plus);
	replay->at.cs_l = true;
	replay->at.cs_d = false;
	trace_boundary_take_state(replay, &plus);
	count = psb_count_infer(stats, index,
	    REPLAY_PSB_PERIOD(CTL_PSB_FREQ(replay->driver.ctl)),
	    replay->driver.config.phase, !plus.has_fup);
	if (replay->result->syncs == 0)
		replay->result->first = count;
	replay->driver.config.phase = count.phase;
	resume.count = sync_choose(replay, &count);
	resume.since_look = count.since_look;
	replay->look_base = offset + count.phase - count.since_look;
	replay->traced = true;
	if (plus.has_fup)
		trace_boundary_move(&replay->at, plus.ip);
	else
		replay->traced = trace_boundary_locate(
		    replay, &plus, &replay->at);
	resume.enable = !plus.has_fup;
	trace_boundary_resume(replay, offset, &resume);
	if (!plus.has_fup)
		trace_off_span_drive(replay);
}
