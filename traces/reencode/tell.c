/*
 * Packets that are no transfers, each told of to the unit as what happened.
 */
#include "emu/pt/packet/nonbranch.h"
#include "emu/pt/packet/packet.h"
#include "traces/reencode/drive_work.h"

/* As emu/pt/msr.h has it; SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define TELL_CTL_BRANCH_EN TZ_BIT(13)
/* Of MODE.Exec; SDM vol. 3, 33.4.2.8 "MODE Packets". */
#define TELL_IF     TZ_BIT(2)
#define TELL_ITEMS  64
#define TELL_BLOCKS 8

/* Where the CPU stands: at the FUP that is next, if one is. */
static struct pt_context
tell_at(const struct drive *drive, struct scan *scan, bool with_ip)
{
	struct pt_context at = drive->at;
	struct scan_packet fup;

	if (with_ip && scan_take_event(scan, SCAN_FUP, &fup))
		at.ip = fup.value;
	return at;
}

static void
tell_ptwrite(
    struct drive *drive, const struct scan_packet *ptw, struct scan *behind)
{
	struct pt_context at = tell_at(drive, behind, ptw->with_ip);

	pt_unit_ptwrite(
	    drive->feed->unit, &at, ptw->value, ptw->bytes == 10 ? 8 : 4);
}

/*
 * Does an OVF come next behind what is there of an event?  Then the rest of it is lost.
 */
static bool
tell_lose(struct drive *drive, struct scan behind)
{
	uint64_t end = behind.offset;
	struct scan_packet ovf;

	if (!scan_next_event(&behind, &ovf) || ovf.kind != SCAN_OVF ||
	    compare_is_apart(drive->config.compare) ||
	    end <= drive->feed->offset)
		return false;
	pt_unit_lose(drive->feed->unit, end - drive->feed->offset);
	return true;
}

/* MWAIT, PWRE and EXSTOP, of which FIRST is the first. */
static void
tell_power_enter(
    struct drive *drive, const struct scan_packet *first, struct scan *behind)
{
	struct pt_power power = { .mwait = first->kind == SCAN_MWAIT };
	struct scan_packet packet = *first;
	struct pt_context at;
	bool enters = first->kind != SCAN_EXSTOP;

	if (power.mwait) {
		power.hints = (uint8_t)packet.value;
		power.ext = (uint8_t)(packet.value >> 32 & 3);
		(void)scan_take_event(behind, SCAN_PWRE, &packet);
	}
	if (packet.kind == SCAN_PWRE) {
		power.hw = (packet.value >> 7 & 1) != 0;
		power.sub = (uint8_t)(packet.value >> 8 & 0xf);
		power.cstate = (uint8_t)(packet.value >> 12 & 0xf);
		(void)scan_take_event(behind, SCAN_EXSTOP, &packet);
	}
	at = tell_at(
	    drive, behind, packet.kind == SCAN_EXSTOP && packet.with_ip);
	(void)tell_lose(drive, *behind);
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
tell_status(
    struct drive *drive, const struct clock_next *next, struct scan *behind)
{
	struct scan_packet cbr = next->packet, other;
	struct scan before = *behind;
	bool wakes;

	if (cbr.kind == SCAN_TSC) {
		(void)scan_take_event(behind, SCAN_TMA, &other);
		if (!scan_take_event(behind, SCAN_CBR, &cbr)) {
			if (!drive->traced || !tell_lose(drive, *behind))
				return false;
			clock_status(
			    &drive->clock, drive->feed, drive->clock.look);
			pt_unit_power_exit(
			    drive->feed->unit, &drive->at, 0, 0, 0);
			return true;
		}
	}
	wakes = scan_take_event(behind, SCAN_PWRX, &other);
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
tell_mode(
    struct drive *drive, const struct scan_packet *mode, struct scan *behind)
{
	struct scan_packet fup;
	struct pt_context at = drive->at;
	struct scan scan = *behind;
	bool with_ip = scan_take_event(&scan, SCAN_FUP, &fup);

	if (mode->kind == SCAN_TSX) {
		if (mode->value & SCAN_TSX_ABORT)
			return false;
		if (with_ip && drive->traced) {
			*behind = scan;
			at.ip = fup.value;
		}
		drive->vmx.in_tsx = (mode->value & SCAN_TSX_IN) != 0;
		pt_unit_tsx(
		    drive->feed->unit, &at, (mode->value & SCAN_TSX_IN) != 0);
		return true;
	}
	if (!with_ip || !drive->told)
		return false;
	*behind = scan;
	at.ip = fup.value;
	at.if_flag = (mode->value & TELL_IF) != 0;
	drive->at.if_flag = at.if_flag;
	pt_unit_if_changed(drive->feed->unit, &at);
	return true;
}

/* The blocks of a PEBS record, from a BBP on. */
static void
tell_pebs(
    struct drive *drive, const struct scan_packet *bbp, struct scan *behind)
{
	struct pt_block_item items[TELL_ITEMS];
	struct pt_block blocks[TELL_BLOCKS];
	struct scan_packet packet = *bbp;
	size_t count = 0, used = 0;
	struct pt_context at;

	do {
		struct pt_block *block;

		if (packet.kind == SCAN_BBP && count < TELL_BLOCKS) {
			blocks[count++] =
			    (struct pt_block){ .type = packet.value & 0x1f,
				    .narrow = (packet.value & 0x80) != 0,
				    .items = &items[used] };
		} else if (packet.kind == SCAN_BIP && used < TELL_ITEMS) {
			block = &blocks[count - 1];
			block->count++;
			items[used++] = (struct pt_block_item){
				.id = packet.bits, .value = packet.value
			};
		} else {
			break;
		}
	} while (scan_next_event(behind, &packet));
	at = tell_at(drive, behind, packet.kind == SCAN_BEP && packet.with_ip);
	pt_unit_pebs(drive->feed->unit, &at, blocks, count, packet.with_ip);
}

/*
 * Without branches in the trace CFE, the EVDs before it and its FUP are all there is of
 * a transfer, whose first packet is FIRST.
 */
static void
tell_alone(
    struct drive *drive, const struct scan_packet *first, struct scan *behind)
{
	const struct pt_context at = drive->at;
	bool cr3_written = drive->cr3_written;
	struct scan_packet packet = *first;

	while (packet.kind == SCAN_EVD && scan_next_event(behind, &packet))
		continue;
	(void)tell_at(drive, behind, packet.with_ip);
	/* A PIP is reported by itself. */
	drive->cr3_written = false;
	drive_report(drive, PT_TRANSFER_INTERRUPT, 0, &at);
	drive->cr3_written = cr3_written;
}

bool
tell_is_event(const struct scan_packet *packet)
{
	const uint64_t kinds = TZ_BIT(SCAN_MTC) | TZ_BIT(SCAN_TSC) |
	    TZ_BIT(SCAN_CBR) | TZ_BIT(SCAN_TSX) | TZ_BIT(SCAN_EXEC) |
	    TZ_BIT(SCAN_PTW) | TZ_BIT(SCAN_MWAIT) | TZ_BIT(SCAN_PWRE) |
	    TZ_BIT(SCAN_EXSTOP) | TZ_BIT(SCAN_MNT) | TZ_BIT(SCAN_BBP) |
	    TZ_BIT(SCAN_CFE) | TZ_BIT(SCAN_EVD);

	return (kinds >> packet->kind & 1) != 0;
}

bool
tell_event(struct drive *drive, struct clock_next *next)
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
		return tell_status(drive, next, behind);
	case SCAN_TSX:
	case SCAN_EXEC:
		clock_hand(&drive->clock, drive->feed, next);
		return tell_mode(drive, packet, behind);
	case SCAN_PTW:
		clock_hand(&drive->clock, drive->feed, next);
		tell_ptwrite(drive, packet, behind);
		return true;
	case SCAN_MWAIT:
	case SCAN_PWRE:
	case SCAN_EXSTOP:
		timed = happen_behind(drive, next);
		clock_hand(&drive->clock, drive->feed, &timed);
		tell_power_enter(drive, packet, behind);
		return true;
	case SCAN_EVD:
	case SCAN_CFE:
		if (!(drive->feed->ctl & TELL_CTL_BRANCH_EN) &&
		    (packet->value & 0x1f) != CFE_SHUTDOWN) {
			clock_hand(&drive->clock, drive->feed, next);
			tell_alone(drive, packet, behind);
			return true;
		}
		if ((packet->value & 0x1f) != CFE_SHUTDOWN)
			return false;
		clock_hand(&drive->clock, drive->feed, next);
		at = tell_at(drive, behind, packet->with_ip);
		pt_unit_shutdown_cfe(drive->feed->unit, &at);
		return true;
	case SCAN_MNT:
		clock_hand(&drive->clock, drive->feed, next);
		pt_unit_maintenance(drive->feed->unit, packet->value);
		return true;
	case SCAN_BBP:
		clock_hand(&drive->clock, drive->feed, next);
		tell_pebs(drive, packet, behind);
		return true;
	default:
		return false;
	}
}
