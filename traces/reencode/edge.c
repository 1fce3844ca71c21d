/*
 * Where tracing begins, ends and is interrupted: read from the packets, since
 * no flow says what happens there.
 */
#include "traces/reencode/drive_work.h"

bool
edge_guide(struct drive *drive, enum scan_kind kind, uint64_t *offset)
{
	const struct facts *facts = drive->config.facts;
	struct scan *guide = &drive->guide;
	struct scan_packet packet;

	TZ_ASSERT(kind == SCAN_PGD || kind == SCAN_OVF);
	do {
		size_t mark = facts_mark_index(
		    facts, guide->offset, drive->next_mark);

		if (mark == facts->mark_count)
			return false;
		drive->next_mark = mark + 1;
		guide->offset = facts->mark[mark].offset;
		guide->last_ip = facts->mark[mark].last_ip;
		if (!scan_next(guide, &packet))
			return false;
	} while (packet.kind != kind);
	*offset = packet.offset;
	return true;
}

/* The mode and the address that the next TIP.PGE gives; false: none comes. */
static bool
edge_peek_pge(const struct drive *drive, struct pt_context *at)
{
	struct scan scan = drive->guide;
	struct scan_packet packet;

	while (scan_next(&scan, &packet)) {
		switch ((int)packet.kind) {
		case SCAN_EXEC:
			edge_mode(at, packet.value);
			break;
		case SCAN_PGE:
			edge_move(at, packet.value);
			return true;
		case SCAN_OVF:
		case SCAN_TIP:
		case SCAN_TNT:
		case SCAN_PGD:
		case SCAN_PSB:
			return false;
		default:
			break;
		}
	}
	return false;
}

bool
edge_stand(
    struct drive *drive, const struct psb_plus *plus, struct pt_context *at)
{
	uint64_t ip;

	if (!plus->context) {
		*at = feed_out_of_context(drive->feed, at);
		return false;
	}
	if (!feed_range(drive->feed, FEED_CFG_FILTER, &ip))
		return edge_peek_pge(drive, at);
	*at = feed_in_context(drive->feed, at);
	at->ip = feed_outside(drive->feed);
	return false;
}

void
edge_look(struct drive *drive, uint64_t offset)
{
	const struct facts *facts = drive->config.facts;
	size_t behind = facts_psb_index(facts, offset + 1);
	struct scan *look = &drive->clock.look;

	if (!drive->watched && behind != 0 &&
	    facts->psb[behind - 1] > look->offset)
		scan_begin(look, drive->config.bytes, drive->config.count,
		    facts->psb[behind - 1]);
	clock_move(&drive->clock, offset);
}

void
edge_resume(struct drive *drive, uint64_t offset, struct pt_resume *resume)
{
	resume->at = drive->at;
	drive->feed->phase = drive->phase;
	drive->has_last = false;
	drive->running = true;
	drive->cr3_written = false;
	drive->quiet = 0;
	edge_look(drive, offset);
	clock_start(&drive->clock, drive->feed, offset);
	resume->cyc_sent = drive->feed->cyc_sent;
	if (!feed_resume(drive->feed, offset, resume, &drive->vmx))
		drive_fail(drive);
}

/* The gap that was open ends here. */
static void
edge_close_gap(struct drive *drive, uint64_t offset)
{
	struct drive_result *result = drive->result;

	if (result->gap_count != 0 && !drive->running)
		result->gaps[result->gap_count - 1].to = offset;
}

/* The count to be tried at this sync. */
static uint32_t
edge_choose(struct drive *drive, const struct infer_count *count)
{
	uint64_t index = drive->result->syncs++;
	struct drive_choice *choice;

	if (index >= DRIVE_CHOICES)
		return count->count;
	choice = &drive->config.choices[index];
	if (!choice->made)
		*choice = (struct drive_choice){ .made = true,
			.first = count->count,
			.most = count->count_max,
			.low = count->count,
			.high = count->count_max,
			.count = count->count };
	return choice->count;
}

void
edge_mind_bdm70(struct drive *drive, struct psb_plus *plus)
{
	const uint32_t bdm70 = UINT32_C(1) << PROFILE_ERRATUM_BDM70;
	struct scan scan = drive->guide;
	struct scan_packet packet;

	do {
		if (!scan_next(&scan, &packet))
			return;
	} while (packet.kind == SCAN_PAD || packet.kind == SCAN_CYC ||
	    packet.kind == SCAN_MTC || packet.kind == SCAN_CBR);
	if (packet.kind != SCAN_PGE)
		return;
	if (!plus->has_fup) {
		drive->feed->profile.errata_on &= ~bdm70;
		return;
	}
	drive->result->bdm70 |= !drive->config.knows_bdm70;
	drive->feed->profile.errata_on |= bdm70;
	plus->has_fup = false;
}

void
edge_sync(struct drive *drive, uint64_t offset)
{
	const struct facts *facts = drive->config.facts;
	size_t index = facts_psb_index(facts, offset);
	struct pt_resume resume = { .psb = true };
	struct scan_packet psb;
	struct infer_count count;
	struct psb_plus plus;

	edge_close_gap(drive, offset);
	doubt_end(drive);
	scan_begin(
	    &drive->guide, drive->config.bytes, drive->config.count, offset);
	/*
	 * In a damaged trace it may lie within what is a packet to facts_read(): what
	 * libipt finds behind it is not driven.
	 */
	if (!scan_next(&drive->guide, &psb) || psb.kind != SCAN_PSB ||
	    index == facts->psb_count || facts->psb[index] != offset) {
		drive_add_gap(drive,
		    &(struct drive_gap){ .from = offset,
			.at = offset,
			.text = "a PSB inside another packet" });
		return;
	}
	(void)drive_set(drive, offset);
	scan_begin(&drive->clock.look, drive->config.bytes, drive->config.count,
	    offset);
	edge_read_psb(&drive->guide, &psb, &plus);
	edge_mind_bdm70(drive, &plus);
	drive->at.cs_l = true;
	drive->at.cs_d = false;
	edge_take_state(drive, &plus);
	count = infer_count(
	    facts, index, drive->psb_period_bytes, drive->phase, !plus.has_fup);
	if (drive->result->syncs == 0)
		drive->result->first = count;
	drive->phase = count.phase;
	resume.count = edge_choose(drive, &count);
	resume.since_look = count.since_look;
	drive->look_base = offset + count.phase - count.since_look;
	drive->traced = true;
	if (plus.has_fup)
		edge_move(&drive->at, plus.ip);
	else
		drive->traced = edge_stand(drive, &plus, &drive->at);
	resume.enable = !plus.has_fup;
	edge_resume(drive, offset, &resume);
	if (!plus.has_fup)
		interlude_drive(drive);
}

void
edge_peek_cr3(struct drive *drive)
{
	struct scan scan = drive->guide;
	struct scan_packet packet;
	bool in_psb = false;

	while (scan_next(&scan, &packet)) {
		if (packet.kind == SCAN_PSB || packet.kind == SCAN_PSBEND)
			in_psb = packet.kind == SCAN_PSB;
		if (packet.kind == SCAN_PIP && in_psb) {
			edge_set_cr3(&drive->at, packet.value);
		}
		if (packet.kind == SCAN_PIP || packet.kind == SCAN_OVF ||
		    (packet.kind == SCAN_CBR && !in_psb))
			return;
	}
}
