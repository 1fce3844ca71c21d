/*
 * Where packets were lost: what comes before an OVF and how the trace goes on.
 */
#include "traces/reencode/drive_work.h"

/*
 * APL12: does a TIP.PGE come next behind the FUP of an OVF, as SCAN has it?  Then that
 * says nothing: nothing was traced.
 */
static bool
overflow_is_outside(struct scan scan)
{
	const uint64_t flow = TZ_BIT(SCAN_TNT) | TZ_BIT(SCAN_TIP) |
	    TZ_BIT(SCAN_PGE) | TZ_BIT(SCAN_PGD) | TZ_BIT(SCAN_FUP) |
	    TZ_BIT(SCAN_PSB) | TZ_BIT(SCAN_OVF);
	struct scan_packet packet;

	do
		if (!scan_next(&scan, &packet))
			return false;
	while (!(flow >> packet.kind & 1));
	return packet.kind == SCAN_PGE;
}

/*
 * SKD010: does a branch come next behind an OVF, as SCAN has it, and nothing that says
 * where it is?
 */
static bool
overflow_is_nowhere(struct scan scan)
{
	const uint64_t place = TZ_BIT(SCAN_PGE) | TZ_BIT(SCAN_PGD) |
	    TZ_BIT(SCAN_FUP) | TZ_BIT(SCAN_PSB) | TZ_BIT(SCAN_OVF);
	struct scan_packet packet;

	do {
		if (!scan_next(&scan, &packet) || (place >> packet.kind & 1))
			return false;
	} while (packet.kind != SCAN_TNT && packet.kind != SCAN_TIP);
	return true;
}

/*
 * Reads what stands behind an OVF: FUP, PSB+ or, where nothing is traced, none.  True:
 * a PSB+ right behind the FUP.
 */
static bool
overflow_read(
    struct drive *drive, struct psb_plus *plus, struct pt_resume *resume)
{
	const uint64_t timing = TZ_BIT(SCAN_PAD) | TZ_BIT(SCAN_CYC) |
	    TZ_BIT(SCAN_MTC) | TZ_BIT(SCAN_TSC) | TZ_BIT(SCAN_TMA) |
	    TZ_BIT(SCAN_CBR);
	struct scan scan = drive->guide;
	struct scan_packet packet;
	bool good, psb = false;

	drive->traced = false;
	do {
		if (!scan_next(&scan, &packet))
			break;
	} while (timing >> packet.kind & 1);
	if (packet.kind == SCAN_PGD) {
		drive->guide = scan;
		resume->pgd = true;
		plus->context = false;
		drive->result->apl11 = true;
	} else if (packet.kind == SCAN_FUP && overflow_is_outside(scan)) {
		drive->guide = scan;
		resume->fup = true;
		resume->fup_ip = packet.value;
		plus->context = feed_range(
		    drive->feed, FEED_CFG_FILTER, &drive->at.ip);
		drive->result->apl12 = true;
	} else if (packet.kind == SCAN_FUP) {
		drive->guide = scan;
		drive->traced = true;
		edge_move(&drive->at, packet.value);
		edge_peek_cr3(drive);
		do
			good = scan_next(&scan, &packet);
		while (good && packet.kind == SCAN_PAD);
		psb = good && packet.kind == SCAN_PSB;
	} else if (packet.kind == SCAN_PSB) {
		drive->guide = scan;
		edge_read_psb(&drive->guide, &packet, plus);
		edge_take_state(drive, plus);
		resume->psb = true;
		drive->traced = plus->has_fup;
		if (plus->has_fup)
			edge_move(&drive->at, plus->ip);
	} else {
		/* Without a range only the context can be why there is none. */
		plus->context = feed_range(
		    drive->feed, FEED_CFG_FILTER, &drive->at.ip);
	}
	if (!drive->traced)
		(void)edge_stand(drive, plus, &drive->at);
	return psb;
}

/* Where the CYC begins that belongs to the OVF at OFFSET: the last before it. */
static uint64_t
overflow_cyc(const struct drive *drive, uint64_t offset)
{
	struct scan scan = drive->clock.look;
	struct scan_packet packet;
	uint64_t last = offset;

	while (drive->clock.timed && scan.offset < offset &&
	    scan_next(&scan, &packet)) {
		if (packet.kind == SCAN_CYC)
			last = packet.offset;
		else if (packet.kind != SCAN_PAD)
			last = offset;
	}
	return last;
}

/*
 * Before END a CYC has another behind it: it is that of an outcome, which was pending
 * while the counter wrapped or an MTC came, and is lost.
 */
static bool
overflow_loses_outcome(const struct drive *drive, uint64_t end)
{
	struct scan scan = drive->clock.look;
	struct scan_packet packet;
	unsigned count = 0;

	scan.offset = compare_offset(drive->config.compare);
	while (count < 2 && scan_next(&scan, &packet) && packet.offset < end) {
		if (packet.kind != SCAN_PAD && packet.kind != SCAN_CYC)
			return false;
		/* A wrap of the counter: it comes before what has its own. */
		if (count == 0 && packet.kind == SCAN_CYC &&
		    packet.value == drive->cyc_most)
			continue;
		count += packet.kind == SCAN_CYC;
	}
	return count == 2;
}

static void
overflow_lose_outcome(struct drive *drive)
{
	const struct pt_context at = drive->at;

	happen_before(drive, false);
	drive->has_last = false;
	drive_report(drive, PT_TRANSFER_COND, 0, &at);
	happen_before(drive, false);
}

/* What stands before the OVF of an event whose last packet is lost. */
struct overflow_cut {
	uint64_t end; /* of the last of these packets; 0: there are none */
	bool cyc, fup, pip;
	bool more;        /* than CYC */
	uint64_t ip, cr3; /* of them */
};

static void
overflow_read_cut(
    const struct drive *drive, uint64_t end, struct overflow_cut *cut)
{
	struct scan scan = drive->clock.look;
	struct scan_packet packet;

	*cut = (struct overflow_cut){ .end = 0 };
	scan.offset = compare_offset(drive->config.compare);
	while (scan.offset < end && scan_next(&scan, &packet)) {
		if (packet.kind == SCAN_PAD)
			continue;
		cut->end = scan.offset;
		cut->cyc |= packet.kind == SCAN_CYC;
		cut->more |= packet.kind != SCAN_CYC;
		if (packet.kind == SCAN_FUP) {
			cut->fup = true;
			cut->ip = packet.value;
		} else if (packet.kind == SCAN_PIP) {
			cut->pip = true;
			cut->cr3 = packet.value;
		}
	}
}

void
overflow_cut(struct drive *drive, uint64_t end, bool lost)
{
	struct pt_context after = drive->at;
	struct overflow_cut cut;
	uint64_t inside;

	drive_take(drive);
	edge_look(drive, compare_offset(drive->config.compare));
	overflow_read_cut(drive, end, &cut);
	if (cut.end == 0 || drive->ended)
		return;
	if (!drive->traced && feed_range(drive->feed, FEED_CFG_FILTER, &inside))
		edge_move(&after, inside);
	/* Where bytes need not be equal their number says nothing. */
	if (!lost || compare_is_apart(drive->config.compare))
		compare_limit(drive->config.compare, end);
	else
		pt_unit_lose(drive->feed->unit, cut.end - drive->feed->offset);
	happen_before(drive, cut.cyc);
	if (cut.pip) {
		edge_set_cr3(&after, cut.cr3);
		drive->cr3_written = true;
	}
	drive->has_last = false;
	/* Before outcomes to come, and while nothing is traced, it is an MTC's. */
	if (!cut.more &&
	    (!drive->traced || pt_unit_tnt_pending(drive->feed->unit) != 0))
		clock_edge_lost(&drive->clock, drive->feed);
	drive_report(drive, cut.fup ? PT_TRANSFER_INTERRUPT : PT_TRANSFER_FAR,
	    cut.ip, &after);
	drive_take(drive);
}

/* All that the unit can send before the OVF; false: there is no such packet. */
static bool
overflow_begin(struct drive *drive, uint64_t *offset)
{
	struct scan before = drive->guide, behind;
	uint64_t ovf;

	happen_before(drive, false);
	drive_take(drive);
	if (!edge_guide(drive, SCAN_OVF, &ovf))
		return false;
	behind = drive->guide;
	drive->guide = before;
	drive_last(drive, ovf);
	drive->guide = behind;
	happen_before(drive, false);
	drive_take(drive);
	*offset = overflow_cyc(drive, ovf);
	if (overflow_loses_outcome(drive, *offset))
		overflow_lose_outcome(drive);
	if (drive->ended)
		return false;
	overflow_cut(drive, *offset, true);
	/* PADs that only fill the word are the unit's own. */
	if (drive->feed->offset <= *offset && *offset - drive->feed->offset < 8)
		*offset = drive->feed->offset;
	if (!compare_stop(drive->config.compare, *offset))
		drive_fail(drive);
	return true;
}

void
edge_overflow(struct drive *drive)
{
	struct pt_resume resume = { .overflow = true };
	struct psb_plus plus = { .context = true };
	uint64_t offset, lost;
	bool psb;

	doubt_begin(drive);
	if (!overflow_begin(drive, &offset))
		return;
	drive->result->overflows++;
	if (overflow_is_nowhere(drive->guide)) {
		doubt_skip(
		    drive, offset, "an overflow without its FUP, as of SKD010");
		return;
	}
	lost = offset > drive->feed->offset ? offset - drive->feed->offset : 0;
	psb = overflow_read(drive, &plus, &resume);
	/* The counter stands still while packets are lost. */
	resume.count = (uint32_t)(feed_count(drive->feed) + lost) & 0x1ffff;
	/* Unless the PSB behind the OVF is the one that was due. */
	resume.close_word = pt_unit_closes_word(drive->feed->unit);
	resume.due = !resume.psb && pt_unit_psb_due(drive->feed->unit);
	if (resume.due)
		drive->late += pt_unit_psb_late(drive->feed->unit) + lost;
	resume.since_look = (uint32_t)((offset + drive->phase -
					   drive->look_base) %
	    PT_LOOK_BYTES);
	edge_resume(drive, offset, &resume);
	/* One that is not due tells of the mode, which may have been lost. */
	if (psb && !resume.due && !drive->ended) {
		happen_psb(drive);
		pt_unit_psb(drive->feed->unit, drive->at.ip);
	}
	if (!drive->traced)
		interlude_drive(drive);
}
