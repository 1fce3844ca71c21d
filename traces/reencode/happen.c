/*
 * What happens between two transfers: packets that stand where the unit's output
 * has come to are told of to the unit before anything else is.
 */
#include "emu/pt/packet/packet.h"
#include "traces/reencode/drive_work.h"

/* Outcomes that the unit has not sent. */
static unsigned
happen_pending(const struct drive *drive)
{
	return pt_unit_tnt_pending(drive->feed->unit);
}

struct clock_next
happen_behind(const struct drive *drive, const struct clock_next *next)
{
	struct clock ahead = drive->clock;
	struct clock_next found = *next;
	enum scan_kind kind = found.packet.kind;

	while ((!found.cyc || found.wraps) &&
	    (kind == SCAN_FUP || kind == SCAN_EVD || kind == SCAN_PWRE)) {
		uint64_t before = found.cycles;

		ahead.look = found.behind;
		found = *clock_look(&ahead, 0, drive->cyc_most);
		found.cycles += before;
		found.cyc |= before != 0;
		if (kind == SCAN_PWRE && found.packet.kind != SCAN_EXSTOP)
			return *next;
		kind = found.packet.kind;
	}
	return found;
}

void
happen_told(const struct drive *drive, struct happen_event *event)
{
	struct scan scan = drive->clock.look;
	unsigned pending = happen_pending(drive);
	struct scan_packet packet;

	*event = (struct happen_event){ .type = 0 };
	while (scan_next_event(&scan, &packet)) {
		if (packet.kind == SCAN_TNT && packet.bits == pending)
			pending = 0;
		else if (packet.kind == SCAN_EVD && (packet.value & 0x3f) == 0)
			event->cr2 = packet.extra;
		else if (packet.kind == SCAN_EVD)
			event->exit[(packet.value & 0x3f) != 1] = packet.extra;
		else
			break;
	}
	if (packet.kind == SCAN_TSX)
		event->aborts = (packet.value & SCAN_TSX_ABORT) != 0;
	if (packet.kind != SCAN_CFE)
		return;
	event->type = packet.value & 0x1f;
	event->vector = (uint8_t)(packet.value >> 8);
	if (packet.with_ip && scan_take_event(&scan, SCAN_FUP, &packet))
		event->ip = packet.value;
}

bool
happen_is_entry(const struct drive *drive, uint64_t end)
{
	struct scan scan = drive->guide;
	struct scan_packet packet;
	bool entry = false;

	scan.offset = compare_offset(drive->config.compare);
	while (scan.offset < end && scan_next(&scan, &packet))
		if (packet.kind != SCAN_PAD && packet.kind != SCAN_CYC)
			entry = packet.kind == SCAN_CFE &&
			    (packet.value & 0x1f) == CFE_VMENTRY;
	return entry;
}

/* Hands the clock what NEXT, which no event is told of by, says of the time. */
static void
happen_time(struct drive *drive, const struct clock_next *next, bool sends)
{
	struct clock_next behind;

	if (sends && (!next->cyc || next->wraps)) {
		behind = happen_behind(drive, next);
		clock_hand(&drive->clock, drive->feed, &behind);
	} else if (sends || !next->behind_tnt) {
		clock_hand(&drive->clock, drive->feed, next);
	}
}

void
happen_before(struct drive *drive, bool sends)
{
	struct clock *clock = &drive->clock;
	const struct clock_next *next;
	struct clock_next told;
	unsigned pending;

	drive->quiet = 0;
	if (!drive->watched || drive->ended)
		return;
	for (;;) {
		drive_take(drive);
		if (drive->ended)
			return;
		clock_move(clock, compare_offset(drive->config.compare));
		pending = happen_pending(drive);
		next = clock_look(clock, pending, drive->cyc_most);
		if (!tell_is_event(&next->packet))
			break;
		told = *next;
		if (!tell_event(drive, &told))
			break;
		drive->result->other_events += told.packet.kind != SCAN_MTC;
		clock_move(clock, told.behind.offset);
	}
	happen_time(drive, next, sends);
	if (!sends && next->packet.kind == SCAN_TNT && !next->behind_tnt &&
	    !(next->cyc && pending != 0) && next->packet.bits > pending)
		drive->quiet = next->packet.bits - pending;
}

void
happen_frequency(struct drive *drive, uint32_t ratio)
{
	happen_before(drive, true);
	if (drive->ended || ratio == 0)
		return;
	clock_status(&drive->clock, drive->feed, drive->clock.look);
	pt_unit_frequency(drive->feed->unit, ratio & 0xff);
}

void
happen_psb(struct drive *drive)
{
	struct clock_next next;

	if (!drive->watched)
		return;
	happen_before(drive, false);
	next = *clock_look(
	    &drive->clock, happen_pending(drive), drive->cyc_most);
	/* The counter was at its end before the PSB forced outcomes out. */
	if (!drive->ended && next.wraps) {
		clock_hand(&drive->clock, drive->feed, &next);
		drive_take(drive);
		clock_move(
		    &drive->clock, compare_offset(drive->config.compare));
		next = *clock_look(
		    &drive->clock, happen_pending(drive), drive->cyc_most);
	}
	if (!drive->ended && next.packet.kind == SCAN_PSB) {
		next.behind.offset = next.packet.offset;
		clock_status(&drive->clock, drive->feed, next.behind);
	}
}
