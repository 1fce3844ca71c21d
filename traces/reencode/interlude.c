/*
 * Interludes: what the packets say of the time from where tracing ends, or the flow
 * is lost, to where it goes on.
 */
#include "traces/reencode/drive_work.h"

/* What the end of tracing is padded to, as in emu/pt/output/layout.c. */
#define INTERLUDE_FLUSH_BYTES 16

/* Is the unit set up in another way from an enable at OFFSET, or just before, on? */
static bool
interlude_is_reset(const struct drive *drive, uint64_t offset)
{
	return feed_setting_at(drive->feed, offset) != drive->feed->setting;
}

/* TraceEn fell and rose again: its first packet is at OFFSET. */
static void
interlude_toggle(
    struct drive *drive, uint64_t offset, const struct psb_plus *plus)
{
	bool restart = plus != NULL;
	struct pt_context at;

	drive->result->toggles++;
	drive->result->last_toggle = offset;
	if (interlude_is_reset(drive, offset)) {
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
interlude_comes_anew(const struct drive *drive, uint64_t offset)
{
	struct scan scan = drive->guide;
	struct scan_packet packet;

	if ((offset + drive->phase) % INTERLUDE_FLUSH_BYTES != 0)
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
interlude_may_come(const struct drive *drive)
{
	uint64_t ip;

	return !drive->traced && feed_range(drive->feed, FEED_CFG_FILTER, &ip);
}

static void
interlude_come(struct drive *drive, const struct psb_plus *plus)
{
	struct pt_context after = drive->at;

	if (!interlude_may_come(drive))
		return;
	(void)edge_stand(drive, plus, &after);
	if (after.cpl != drive->at.cpl || after.enclave != drive->at.enclave)
		drive_report(drive, PT_TRANSFER_FAR, 0, &after);
}

static void
interlude_psb(struct drive *drive, const struct scan_packet *psb)
{
	struct psb_plus plus;
	bool due;

	/* What makes it due may be no transfer. */
	happen_before(drive, false);
	due = pt_unit_psb_due(drive->feed->unit);
	edge_read_psb(&drive->guide, psb, &plus);
	edge_mind_bdm70(drive, &plus);
	/* Context that nothing but an enable gives back. */
	if (due && !interlude_is_reset(drive, psb->offset) &&
	    !(drive->at.enclave && plus.context &&
		!interlude_may_come(drive))) {
		happen_psb(drive);
		interlude_come(drive, &plus);
		pt_unit_psb(drive->feed->unit, drive->at.ip);
	} else {
		interlude_toggle(drive, psb->offset, &plus);
	}
}

static void
interlude_pip(struct drive *drive, uint64_t pip)
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
interlude_enter(struct drive *drive, uint64_t ip)
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
interlude_cbr(struct drive *drive, const struct scan_packet *cbr, uint64_t tsc)
{
	uint64_t offset = tsc != UINT64_MAX ? tsc : cbr->offset;

	happen_before(drive, false);
	/* It was that of a wake. */
	if (drive->clock.look.offset > cbr->offset)
		return;
	if (interlude_is_reset(drive, offset) ||
	    interlude_comes_anew(drive, offset))
		interlude_toggle(drive, offset, NULL);
	else
		happen_frequency(drive, cbr->value & 0xff);
}

/* TraceStop, unless a TIP.PGD before it has come with it. */
static void
interlude_stop(struct drive *drive, const struct scan_packet *packet)
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
interlude_drive(struct drive *drive)
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
			interlude_enter(drive, packet.value);
			return;
		case SCAN_PSB:
			interlude_psb(drive, &packet);
			break;
		case SCAN_CBR:
			interlude_cbr(drive, &packet, tsc);
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
			interlude_pip(drive, packet.value);
			break;
		case SCAN_VMCS:
			happen_before(drive, true);
			edge_vmcs(drive, edge_vmcs_pa(packet.value));
			break;
		case SCAN_STOP:
			interlude_stop(drive, &packet);
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
