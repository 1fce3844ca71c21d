/*
 * What happens between two transfers: packets that stand where the unit's output
 * has come to are told of to the unit before anything else is.
 */
#include "emu/pt/happening.h"
#include "emu/pt/packet.h"
#include "traces/reencode/drive_work.h"

#define HAPPEN_TSX_IN    TZ_BIT(0)
#define HAPPEN_TSX_ABORT TZ_BIT(1)
/* As emu/pt/msr.h has it; SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define HAPPEN_CTL_BRANCH_EN TZ_BIT(13)
#define HAPPEN_IF            TZ_BIT(2)
#define HAPPEN_ITEMS         64
#define HAPPEN_BLOCKS        8

/* Outcomes that the unit has not sent. */
static unsigned
happen_pending(const struct drive *drive)
{
	return pt_unit_tnt_pending(drive->feed->unit);
}

/* The next packet that is neither PAD nor CYC. */
static bool
happen_next(struct scan *scan, struct scan_packet *packet)
{
	do {
		if (!scan_next(scan, packet))
			return false;
	} while (packet->kind == SCAN_PAD || packet->kind == SCAN_CYC);
	return true;
}

/* Goes past a packet of KIND if that is the next one. */
static bool
happen_take(struct scan *scan, enum scan_kind kind, struct scan_packet *packet)
{
	struct scan behind = *scan;

	if (!happen_next(&behind, packet) || packet->kind != kind)
		return false;
	*scan = behind;
	return true;
}

/* Where the CPU stands: at the FUP that is next, if one is. */
static struct pt_context
happen_at(const struct drive *drive, struct scan *scan, bool with_ip)
{
	struct pt_context at = drive->at;
	struct scan_packet fup;

	if (with_ip && happen_take(scan, SCAN_FUP, &fup))
		at.ip = fup.value;
	return at;
}

static void
happen_ptwrite(
    struct drive *drive, const struct scan_packet *ptw, struct scan *behind)
{
	struct pt_context at = happen_at(drive, behind, ptw->with_ip);

	pt_unit_ptwrite(
	    drive->feed->unit, &at, ptw->value, ptw->bytes == 10 ? 8 : 4);
}

/*
 * NEXT, or where it has no CYC, since its packet is none that may have one, that of
 * what the same event sends behind it.
 */
static struct clock_next
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

/*
 * Does an OVF come next behind what is there of an event?  Then the rest of it is lost.
 */
static bool
happen_lose(struct drive *drive, struct scan behind)
{
	uint64_t end = behind.offset;
	struct scan_packet ovf;

	if (!happen_next(&behind, &ovf) || ovf.kind != SCAN_OVF ||
	    compare_is_apart(drive->config.compare) ||
	    end <= drive->feed->offset)
		return false;
	pt_unit_lose(drive->feed->unit, end - drive->feed->offset);
	return true;
}

/* MWAIT, PWRE and EXSTOP, of which FIRST is the first. */
static void
happen_power_enter(
    struct drive *drive, const struct scan_packet *first, struct scan *behind)
{
	struct pt_power power = { .mwait = first->kind == SCAN_MWAIT };
	struct scan_packet packet = *first;
	struct pt_context at;
	bool enters = first->kind != SCAN_EXSTOP;

	if (power.mwait) {
		power.hints = (uint8_t)packet.value;
		power.ext = (uint8_t)(packet.value >> 32 & 3);
		(void)happen_take(behind, SCAN_PWRE, &packet);
	}
	if (packet.kind == SCAN_PWRE) {
		power.hw = (packet.value >> 7 & 1) != 0;
		power.sub = (uint8_t)(packet.value >> 8 & 0xf);
		power.cstate = (uint8_t)(packet.value >> 12 & 0xf);
		(void)happen_take(behind, SCAN_EXSTOP, &packet);
	}
	at = happen_at(
	    drive, behind, packet.kind == SCAN_EXSTOP && packet.with_ip);
	(void)happen_lose(drive, *behind);
	if (enters)
		pt_unit_power_enter(drive->feed->unit, &at, &power);
	else
		pt_unit_exstop(drive->feed->unit, &at);
}

/*
 * TSC, TMA and CBR outside of PSB+: of a wake, or of a change of frequency.  False:
 * of an enable, maybe.
 */
static bool
happen_status(
    struct drive *drive, const struct clock_next *next, struct scan *behind)
{
	struct scan_packet cbr = next->packet, other;
	struct scan before = *behind;
	bool wakes;

	if (cbr.kind == SCAN_TSC) {
		(void)happen_take(behind, SCAN_TMA, &other);
		if (!happen_take(behind, SCAN_CBR, &cbr)) {
			if (!drive->traced || !happen_lose(drive, *behind))
				return false;
			clock_status(
			    &drive->clock, drive->feed, drive->clock.look);
			pt_unit_power_exit(
			    drive->feed->unit, &drive->at, 0, 0, 0);
			return true;
		}
	}
	wakes = happen_take(behind, SCAN_PWRX, &other);
	if (!wakes && !drive->traced) {
		*behind = before;
		return false;
	}
	if ((cbr.value & 0xff) == 0)
		return true;
	clock_status(&drive->clock, drive->feed, drive->clock.look);
	if (wakes) {
		pt_unit_set_cbr(drive->feed->unit, cbr.value & 0xff);
		pt_unit_power_exit(drive->feed->unit, &drive->at,
		    (uint8_t)(other.value >> 4 & 0xf),
		    (uint8_t)(other.value & 0xf),
		    (uint8_t)(other.value >> 8 & 0xf));
	} else {
		pt_unit_frequency(drive->feed->unit, cbr.value & 0xff);
	}
	return true;
}

/* MODE.TSX or MODE.Exec and a FUP.  False: they belong to a transfer. */
static bool
happen_mode(
    struct drive *drive, const struct scan_packet *mode, struct scan *behind)
{
	struct scan_packet fup;
	struct pt_context at = drive->at;
	struct scan scan = *behind;
	bool with_ip = happen_take(&scan, SCAN_FUP, &fup);

	if (mode->kind == SCAN_TSX) {
		if (mode->value & HAPPEN_TSX_ABORT)
			return false;
		if (with_ip && drive->traced) {
			*behind = scan;
			at.ip = fup.value;
		}
		drive->vmx.in_tsx = (mode->value & HAPPEN_TSX_IN) != 0;
		pt_unit_tsx(
		    drive->feed->unit, &at, (mode->value & HAPPEN_TSX_IN) != 0);
		return true;
	}
	if (!with_ip || !drive->told)
		return false;
	*behind = scan;
	at.ip = fup.value;
	at.if_flag = (mode->value & HAPPEN_IF) != 0;
	drive->at.if_flag = at.if_flag;
	pt_unit_if_changed(drive->feed->unit, &at);
	return true;
}

/* The blocks of a PEBS record, from a BBP on. */
static void
happen_pebs(
    struct drive *drive, const struct scan_packet *bbp, struct scan *behind)
{
	struct pt_block_item items[HAPPEN_ITEMS];
	struct pt_block blocks[HAPPEN_BLOCKS];
	struct scan_packet packet = *bbp;
	size_t count = 0, used = 0;
	struct pt_context at;

	do {
		struct pt_block *block;

		if (packet.kind == SCAN_BBP && count < HAPPEN_BLOCKS) {
			blocks[count++] =
			    (struct pt_block){ .type = packet.value & 0x1f,
				    .narrow = (packet.value & 0x80) != 0,
				    .items = &items[used] };
		} else if (packet.kind == SCAN_BIP && used < HAPPEN_ITEMS) {
			block = &blocks[count - 1];
			block->count++;
			items[used++] = (struct pt_block_item){
				.id = packet.bits, .value = packet.value
			};
		} else {
			break;
		}
	} while (happen_next(behind, &packet));
	at = happen_at(
	    drive, behind, packet.kind == SCAN_BEP && packet.with_ip);
	pt_unit_pebs(drive->feed->unit, &at, blocks, count, packet.with_ip);
}

/*
 * Without branches in the trace CFE, the EVDs before it and its FUP are all there is of
 * a transfer, whose first packet is FIRST.
 */
static void
happen_alone(
    struct drive *drive, const struct scan_packet *first, struct scan *behind)
{
	const struct pt_context at = drive->at;
	bool cr3_written = drive->cr3_written;
	struct scan_packet packet = *first;

	while (packet.kind == SCAN_EVD && happen_next(behind, &packet))
		continue;
	(void)happen_at(drive, behind, packet.with_ip);
	/* A PIP is reported by itself. */
	drive->cr3_written = false;
	drive_report(drive, PT_TRANSFER_INTERRUPT, 0, &at);
	drive->cr3_written = cr3_written;
}

/* May PACKET be an event that is no transfer? */
static bool
happen_is_told(const struct scan_packet *packet)
{
	const uint64_t kinds = TZ_BIT(SCAN_MTC) | TZ_BIT(SCAN_TSC) |
	    TZ_BIT(SCAN_CBR) | TZ_BIT(SCAN_TSX) | TZ_BIT(SCAN_EXEC) |
	    TZ_BIT(SCAN_PTW) | TZ_BIT(SCAN_MWAIT) | TZ_BIT(SCAN_PWRE) |
	    TZ_BIT(SCAN_EXSTOP) | TZ_BIT(SCAN_MNT) | TZ_BIT(SCAN_BBP) |
	    TZ_BIT(SCAN_CFE) | TZ_BIT(SCAN_EVD);

	return (kinds >> packet->kind & 1) != 0;
}

/* Tells the unit of what NEXT is.  False: that is a transfer, or is its. */
static bool
happen_tell(struct drive *drive, struct clock_next *next)
{
	const struct scan_packet *packet = &next->packet;
	struct scan *behind = &next->behind;
	struct clock_next timed;
	struct pt_context at;

	switch ((int)packet->kind) {
	case SCAN_MTC:
		if (next->behind_tnt)
			return false;
		clock_edge(&drive->clock, drive->feed, next);
		return true;
	case SCAN_TSC:
	case SCAN_CBR:
		return happen_status(drive, next, behind);
	case SCAN_TSX:
	case SCAN_EXEC:
		clock_hand(&drive->clock, drive->feed, next);
		return happen_mode(drive, packet, behind);
	case SCAN_PTW:
		clock_hand(&drive->clock, drive->feed, next);
		happen_ptwrite(drive, packet, behind);
		return true;
	case SCAN_MWAIT:
	case SCAN_PWRE:
	case SCAN_EXSTOP:
		timed = happen_behind(drive, next);
		clock_hand(&drive->clock, drive->feed, &timed);
		happen_power_enter(drive, packet, behind);
		return true;
	case SCAN_EVD:
	case SCAN_CFE:
		if (!(drive->feed->ctl & HAPPEN_CTL_BRANCH_EN) &&
		    (packet->value & 0x1f) != CFE_SHUTDOWN) {
			clock_hand(&drive->clock, drive->feed, next);
			happen_alone(drive, packet, behind);
			return true;
		}
		if ((packet->value & 0x1f) != CFE_SHUTDOWN)
			return false;
		clock_hand(&drive->clock, drive->feed, next);
		at = happen_at(drive, behind, packet->with_ip);
		pt_unit_shutdown_told(drive->feed->unit, &at);
		return true;
	case SCAN_MNT:
		clock_hand(&drive->clock, drive->feed, next);
		pt_unit_maintenance(drive->feed->unit, packet->value);
		return true;
	case SCAN_BBP:
		clock_hand(&drive->clock, drive->feed, next);
		happen_pebs(drive, packet, behind);
		return true;
	default:
		return false;
	}
}

void
happen_told(const struct drive *drive, struct happen_event *event)
{
	struct scan scan = drive->clock.look;
	unsigned pending = happen_pending(drive);
	struct scan_packet packet;

	*event = (struct happen_event){ .type = 0 };
	while (happen_next(&scan, &packet)) {
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
		event->aborts = (packet.value & HAPPEN_TSX_ABORT) != 0;
	if (packet.kind != SCAN_CFE)
		return;
	event->type = packet.value & 0x1f;
	event->vector = (uint8_t)(packet.value >> 8);
	if (packet.with_ip && happen_take(&scan, SCAN_FUP, &packet))
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
		if (!happen_is_told(&next->packet))
			break;
		told = *next;
		if (!happen_tell(drive, &told))
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
