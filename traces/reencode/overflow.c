/*
 * Where packets were lost: what comes before an OVF and how the trace goes on.
 */
#include "traces/reencode/drive_work.h"

/* Reads what stands behind an OVF: FUP, PSB+ or, where nothing is traced, none. */
static void
overflow_read(
    struct drive *drive, struct psb_plus *plus, struct pt_resume *resume)
{
	const uint64_t timing = TZ_BIT(SCAN_PAD) | TZ_BIT(SCAN_CYC) |
	    TZ_BIT(SCAN_MTC) | TZ_BIT(SCAN_TSC) | TZ_BIT(SCAN_TMA) |
	    TZ_BIT(SCAN_CBR);
	struct scan scan = drive->guide;
	struct scan_packet packet;

	drive->traced = false;
	do {
		if (!scan_next(&scan, &packet))
			break;
	} while (timing >> packet.kind & 1);
	if (packet.kind == SCAN_FUP) {
		drive->guide = scan;
		drive->traced = true;
		edge_move(&drive->at, packet.value);
	} else if (packet.kind == SCAN_PSB) {
		drive->guide = scan;
		edge_read_psb(&drive->guide, &packet, plus);
		edge_take_state(drive, plus);
		resume->psb = true;
		drive->traced = plus->has_fup;
		if (plus->has_fup)
			edge_move(&drive->at, plus->ip);
	}
	if (!drive->traced)
		(void)edge_stand(drive, plus, &drive->at);
}

/* Where the CYCs begin that stand before the OVF at OFFSET. */
static uint64_t
overflow_cyc(const struct drive *drive, uint64_t offset)
{
	struct scan scan = drive->clock.look;
	struct scan_packet packet;
	uint64_t first = UINT64_MAX;

	while (drive->clock.timed && scan.offset < offset &&
	    scan_next(&scan, &packet)) {
		if (packet.kind == SCAN_CYC && first == UINT64_MAX)
			first = packet.offset;
		else if (packet.kind != SCAN_CYC && packet.kind != SCAN_PAD)
			first = UINT64_MAX;
		if (scan.offset == offset)
			return first < offset ? first : offset;
	}
	return offset;
}

/* All that the unit can send before the OVF; false: there is no such packet. */
static bool
overflow_begin(struct drive *drive, uint64_t *offset)
{
	struct scan before = drive->guide, behind;
	struct scan_packet ovf;

	happen_before(drive, false);
	if (!feed_take(drive->feed))
		drive->failed = true;
	if (!edge_guide(drive, SCAN_OVF, &ovf))
		return false;
	behind = drive->guide;
	drive->guide = before;
	drive_last(drive, ovf.offset);
	drive->guide = behind;
	if (!feed_take(drive->feed))
		drive->failed = true;
	*offset = overflow_cyc(drive, ovf.offset);
	/* PADs that only fill the word are the unit's own. */
	if (drive->feed->offset <= *offset && *offset - drive->feed->offset < 8)
		*offset = drive->feed->offset;
	if (!compare_stop(drive->config.compare, *offset))
		drive->failed = true;
	return true;
}

void
edge_overflow(struct drive *drive)
{
	struct pt_resume resume = { .overflow = true };
	struct psb_plus plus = { .context = true };
	uint64_t offset, lost;

	if (!overflow_begin(drive, &offset))
		return;
	drive->result->overflows++;
	lost = offset > drive->feed->offset ? offset - drive->feed->offset : 0;
	overflow_read(drive, &plus, &resume);
	/* The counter stands still while packets are lost. */
	resume.count = (uint32_t)(feed_count(drive->feed) + lost) & 0x1ffff;
	/* Unless the PSB behind the OVF is the one that was due. */
	resume.due = !resume.psb && pt_unit_psb_due(drive->feed->unit);
	resume.since_look = (uint32_t)((offset + drive->phase -
					   drive->look_base) %
	    PT_LOOK_BYTES);
	edge_resume(drive, offset, &resume);
	if (!drive->traced)
		edge_interlude(drive);
}
