/*
 * Where tracing begins, ends and is interrupted: read from the packets, since
 * no flow says what happens there.
 */
#include "traces/reencode/drive_work.h"

/* What the end of tracing is padded to, as in emu/pt/place.c. */
#define EDGE_FLUSH_BYTES 16

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

/*
 * BDM70: a PSB+ just before TIP.PGE may hold a FUP, and says nothing by it.  Nothing
 * else has these two behind each other, so it need not be told.
 */
static void
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
	(void)drive_set(drive, offset);
	scan_begin(
	    &drive->guide, drive->config.bytes, drive->config.count, offset);
	/* In a damaged trace it may lie within what is a packet to facts_read(). */
	if (!scan_next(&drive->guide, &psb) || psb.kind != SCAN_PSB ||
	    index == facts->psb_count || facts->psb[index] != offset)
		return;
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
		edge_interlude(drive);
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

/* Is the unit set up in another way from an enable at OFFSET, or just before, on? */
static bool
edge_is_reset(const struct drive *drive, uint64_t offset)
{
	return feed_setting_at(drive->feed, offset) != drive->feed->setting;
}

/* TraceEn fell and rose again: its first packet is at OFFSET. */
static void
edge_toggle(struct drive *drive, uint64_t offset, const struct psb_plus *plus)
{
	bool restart = plus != NULL;
	struct pt_context at;

	drive->result->toggles++;
	drive->result->last_toggle = offset;
	if (edge_is_reset(drive, offset)) {
		feed_disable(drive->feed, &drive->at);
		(void)drive_set(drive, offset);
	}
	if (restart) {
		edge_take_state(drive, plus);
		at = drive->at;
		drive->traced = edge_stand(drive, plus, &at);
	} else {
		edge_peek_cr3(drive);
		at = feed_out_of_context(drive->feed, &drive->at);
	}
	drive->at = at;
	edge_look(drive, offset);
	clock_start(&drive->clock, drive->feed, offset);
	if (!feed_toggle(
		drive->feed, offset, restart ? &drive->vmx : NULL, &at))
		drive_fail(drive);
	drive->look_base = offset + drive->phase - (offset + drive->phase) % 64;
}

/*
 * Does a TIP.PGE that is new in a trace come next: full, with MODE.Exec?  So does the
 * first behind a PSB+; but an enable, at OFFSET, stands behind a flush.
 */
static bool
edge_comes_anew(const struct drive *drive, uint64_t offset)
{
	struct scan scan = drive->guide;
	struct scan_packet packet;

	if ((offset + drive->phase) % EDGE_FLUSH_BYTES != 0)
		return false;
	while (scan_next(&scan, &packet)) {
		if (packet.kind == SCAN_EXEC)
			return true;
		if (packet.kind == SCAN_PGE)
			return packet.bits == 3 || packet.bits == 6;
		if (packet.kind == SCAN_PSB || packet.kind == SCAN_OVF)
			return true;
	}
	return true;
}

/*
 * Where there are ranges, context comes and goes without a packet while the CPU is in
 * none of them.
 */
static bool
edge_may_come(const struct drive *drive)
{
	uint64_t ip;

	return !drive->traced && feed_range(drive->feed, FEED_CFG_FILTER, &ip);
}

static void
edge_come(struct drive *drive, const struct psb_plus *plus)
{
	struct pt_context after = drive->at;

	if (!edge_may_come(drive))
		return;
	(void)edge_stand(drive, plus, &after);
	if (after.cpl != drive->at.cpl || after.enclave != drive->at.enclave)
		drive_report(drive, PT_TRANSFER_FAR, 0, &after);
}

static void
edge_psb(struct drive *drive, const struct scan_packet *psb)
{
	struct psb_plus plus;
	bool due;

	/* What makes it due may be no transfer. */
	happen_before(drive, false);
	due = pt_unit_psb_due(drive->feed->unit);
	edge_read_psb(&drive->guide, psb, &plus);
	edge_mind_bdm70(drive, &plus);
	/* Context that nothing but an enable gives back. */
	if (due && !edge_is_reset(drive, psb->offset) &&
	    !(drive->at.enclave && plus.context && !edge_may_come(drive))) {
		happen_psb(drive);
		edge_come(drive, &plus);
		pt_unit_psb(drive->feed->unit, drive->at.ip);
	} else {
		edge_toggle(drive, psb->offset, &plus);
	}
}

static void
edge_pip(struct drive *drive, uint64_t pip)
{
	struct pt_context after = feed_in_context(drive->feed, &drive->at);

	edge_set_cr3(&after, pip);
	if (drive->at.enclave || drive->feed->filter.config != 0)
		after.ip = feed_outside(drive->feed);
	drive->cr3_written = true;
	happen_before(drive, true);
	drive_report(drive, PT_TRANSFER_MOV_CR3, 0, &after);
}

static void
edge_enter(struct drive *drive, uint64_t ip)
{
	struct pt_context after = drive->at;

	edge_move(&after, ip);
	/* An enable that is traced at once has sent the packet already. */
	if (drive->traced) {
		drive->at = after;
	} else {
		happen_before(drive, true);
		drive_report(drive, PT_TRANSFER_FAR, 0, &after);
	}
	drive->traced = drive->entered = true;
}

/* A CBR while nothing is traced; TSC: offset of a TSC before it. */
static void
edge_cbr(struct drive *drive, const struct scan_packet *cbr, uint64_t tsc)
{
	uint64_t offset = tsc != UINT64_MAX ? tsc : cbr->offset;

	happen_before(drive, false);
	/* It was that of a wake. */
	if (drive->clock.look.offset > cbr->offset)
		return;
	if (edge_is_reset(drive, offset) || edge_comes_anew(drive, offset))
		edge_toggle(drive, offset, NULL);
	else
		happen_frequency(drive, cbr->value & 0xff);
}

/* TraceStop, unless a TIP.PGD before it has come with it. */
static void
edge_stop(struct drive *drive, const struct scan_packet *packet)
{
	struct pt_context after = drive->at;
	uint64_t ip;

	happen_before(drive, false);
	drive_take(drive);
	if (compare_offset(drive->config.compare) > packet->offset ||
	    !feed_range(drive->feed, FEED_CFG_STOP, &ip))
		return;
	after.enclave = false;
	edge_move(&after, ip);
	drive_report(drive, PT_TRANSFER_FAR, 0, &after);
}

void
edge_interlude(struct drive *drive)
{
	/* Offset of one that an enable begins with, and of a CYC before it. */
	uint64_t tsc = UINT64_MAX, cyc = UINT64_MAX;
	struct scan_packet packet;

	for (;; drive_room(drive)) {
		struct scan before;

		scan_skip_pads(&drive->guide);
		before = drive->guide;

		if (!scan_next(&drive->guide, &packet)) {
			happen_before(drive, true);
			return;
		}
		switch ((int)packet.kind) {
		case SCAN_PGE:
			edge_enter(drive, packet.value);
			return;
		case SCAN_PSB:
			edge_psb(drive, &packet);
			break;
		case SCAN_CBR:
			edge_cbr(drive, &packet, tsc);
			tsc = UINT64_MAX;
			break;
		case SCAN_CYC:
			/* Not a wrap of the counter before. */
			if (packet.value != drive->cyc_most)
				cyc = packet.offset;
			continue;
		case SCAN_TSC:
			tsc = cyc != UINT64_MAX ? cyc : packet.offset;
			break;
		case SCAN_PIP:
			edge_pip(drive, packet.value);
			break;
		case SCAN_VMCS:
			happen_before(drive, true);
			edge_vmcs(drive, edge_vmcs_pa(packet.value));
			break;
		case SCAN_STOP:
			edge_stop(drive, &packet);
			break;
		case SCAN_EXEC:
			edge_mode(&drive->at, packet.value);
			break;
		case SCAN_OVF:
		case SCAN_TIP:
		case SCAN_TNT:
		case SCAN_PGD:
			drive->guide = before;
			return;
		default:
			break;
		}
		cyc = UINT64_MAX;
	}
}
