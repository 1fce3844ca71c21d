/*
 * Where tracing begins, ends and is interrupted: read from the packets, since
 * no flow says what happens there.
 */
#include "traces/reencode/replay/replay_internal.h"

bool
trace_boundary_guide(
    struct replay *replay, enum pkt_kind kind, uint64_t *offset)
{
	const struct trace_stats *stats = replay->config.stats;
	struct pkt_parser *guide = &replay->guide;
	struct pkt packet;

	TZ_ASSERT(kind == PKT_PGD || kind == PKT_OVF);
	do {
		size_t mark = trace_stats_mark_index(
		    stats, guide->offset, replay->next_mark);

		if (mark == stats->mark_count)
			return false;
		replay->next_mark = mark + 1;
		guide->offset = stats->mark[mark].offset;
		guide->last_ip = stats->mark[mark].last_ip;
		if (!pkt_next(guide, &packet))
			return false;
	} while (packet.kind != kind);
	*offset = packet.offset;
	return true;
}

/* The mode and the address that the next TIP.PGE gives; false: none comes. */
static bool
trace_boundary_peek_pge(const struct replay *replay, struct pt_context *at)
{
	struct pkt_parser parser = replay->guide;
	struct pkt packet;

	while (pkt_next(&parser, &packet)) {
		switch ((int)packet.kind) {
		case PKT_EXEC:
			trace_boundary_mode(at, packet.value);
			break;
		case PKT_PGE:
			trace_boundary_move(at, packet.value);
			return true;
		case PKT_OVF:
		case PKT_TIP:
		case PKT_TNT:
		case PKT_PGD:
		case PKT_PSB:
			return false;
		default:
			break;
		}
	}
	return false;
}

bool
trace_boundary_stand(
    struct replay *replay, const struct psb_plus *plus, struct pt_context *at)
{
	uint64_t ip;

	if (!plus->context) {
		*at = unit_driver_out_of_context(replay->feed, at);
		return false;
	}
	if (!unit_driver_range(replay->feed, FEED_CFG_FILTER, &ip))
		return trace_boundary_peek_pge(replay, at);
	*at = unit_driver_in_context(replay->feed, at);
	at->ip = unit_driver_outside(replay->feed);
	return false;
}

void
trace_boundary_look(struct replay *replay, uint64_t offset)
{
	const struct trace_stats *stats = replay->config.stats;
	size_t behind = trace_stats_psb_index(stats, offset + 1);
	struct pkt_parser *look = &replay->clock.look;

	if (!replay->watched && behind != 0 &&
	    stats->psb[behind - 1] > look->offset)
		pkt_begin(look, replay->config.bytes, replay->config.count,
		    stats->psb[behind - 1]);
	clock_move(&replay->clock, offset);
}

void
trace_boundary_resume(
    struct replay *replay, uint64_t offset, struct pt_resume *resume)
{
	resume->at = replay->at;
	replay->feed->phase = replay->phase;
	replay->has_last = false;
	replay->running = true;
	replay->cr3_written = false;
	replay->quiet = 0;
	trace_boundary_look(replay, offset);
	clock_start(&replay->clock, replay->feed, offset);
	resume->cyc_sent = replay->feed->cyc_sent;
	if (!unit_driver_resume(replay->feed, offset, resume, &replay->vmx))
		replay_fail(replay);
}

/* The gap that was open ends here. */
static void
trace_boundary_close_gap(struct replay *replay, uint64_t offset)
{
	struct replay_result *result = replay->result;

	if (result->gap_count != 0 && !replay->running)
		result->gaps[result->gap_count - 1].to = offset;
}

/* The count to be tried at this sync. */
static uint32_t
trace_boundary_choose(struct replay *replay, const struct infer_count *count)
{
	uint64_t index = replay->result->syncs++;
	struct replay_choice *choice;

	if (index >= DRIVE_CHOICES)
		return count->count;
	choice = &replay->config.choices[index];
	if (!choice->made)
		*choice = (struct replay_choice){ .made = true,
			.first = count->count,
			.most = count->count_max,
			.low = count->count,
			.high = count->count_max,
			.count = count->count };
	return choice->count;
}

void
edge_mind_bdm70(struct replay *replay, struct psb_plus *plus)
{
	const uint32_t bdm70 = UINT32_C(1) << PROFILE_ERRATUM_BDM70;
	struct pkt_parser parser = replay->guide;
	struct pkt packet;

	do {
		if (!pkt_next(&parser, &packet))
			return;
	} while (packet.kind == PKT_PAD || packet.kind == PKT_CYC ||
	    packet.kind == PKT_MTC || packet.kind == PKT_CBR);
	if (packet.kind != PKT_PGE)
		return;
	if (!plus->has_fup) {
		replay->feed->profile.errata_on &= ~bdm70;
		return;
	}
	replay->result->bdm70 |= !replay->config.knows_bdm70;
	replay->feed->profile.errata_on |= bdm70;
	plus->has_fup = false;
}

void
trace_boundary_sync(struct replay *replay, uint64_t offset)
{
	const struct trace_stats *stats = replay->config.stats;
	size_t index = trace_stats_psb_index(stats, offset);
	struct pt_resume resume = { .psb = true };
	struct pkt psb;
	struct infer_count count;
	struct psb_plus plus;

	trace_boundary_close_gap(replay, offset);
	errata_gap_end(replay);
	pkt_begin(
	    &replay->guide, replay->config.bytes, replay->config.count, offset);
	/*
	 * In a damaged trace it may lie within what is a packet to trace_stats_read(): what
	 * libipt finds behind it is not driven.
	 */
	if (!pkt_next(&replay->guide, &psb) || psb.kind != PKT_PSB ||
	    index == stats->psb_count || stats->psb[index] != offset) {
		replay_add_gap(replay,
		    &(struct replay_gap){ .from = offset,
			.at = offset,
			.text = "a PSB inside another packet" });
		return;
	}
	(void)replay_set(replay, offset);
	pkt_begin(&replay->clock.look, replay->config.bytes,
	    replay->config.count, offset);
	trace_boundary_read_psb(&replay->guide, &psb, &plus);
	edge_mind_bdm70(replay, &plus);
	replay->at.cs_l = true;
	replay->at.cs_d = false;
	trace_boundary_take_state(replay, &plus);
	count = infer_count(stats, index, replay->psb_period_bytes,
	    replay->phase, !plus.has_fup);
	if (replay->result->syncs == 0)
		replay->result->first = count;
	replay->phase = count.phase;
	resume.count = trace_boundary_choose(replay, &count);
	resume.since_look = count.since_look;
	replay->look_base = offset + count.phase - count.since_look;
	replay->traced = true;
	if (plus.has_fup)
		trace_boundary_move(&replay->at, plus.ip);
	else
		replay->traced = trace_boundary_stand(
		    replay, &plus, &replay->at);
	resume.enable = !plus.has_fup;
	trace_boundary_resume(replay, offset, &resume);
	if (!plus.has_fup)
		trace_off_span_drive(replay);
}

void
edge_peek_cr3(struct replay *replay)
{
	struct pkt_parser parser = replay->guide;
	struct pkt packet;
	bool in_psb = false;

	while (pkt_next(&parser, &packet)) {
		if (packet.kind == PKT_PSB || packet.kind == PKT_PSBEND)
			in_psb = packet.kind == PKT_PSB;
		if (packet.kind == PKT_PIP && in_psb) {
			edge_set_cr3(&replay->at, packet.value);
		}
		if (packet.kind == PKT_PIP || packet.kind == PKT_OVF ||
		    (packet.kind == PKT_CBR && !in_psb))
			return;
	}
}
