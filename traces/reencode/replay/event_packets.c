/*
 * Packets that are no transfers, each told of to the unit as what happened.
 */
#include "emu/pt/packet/nonbranch.h"
#include "emu/pt/packet/packet.h"
#include "traces/reencode/replay/replay_internal.h"

/* As emu/pt/msr.h has it; SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define TELL_CTL_BRANCH_EN TZ_BIT(13)
/* Of MODE.Exec; SDM vol. 3, 33.4.2.8 "MODE Packets". */
#define TELL_IF     TZ_BIT(2)
#define TELL_ITEMS  64
#define TELL_BLOCKS 8

/* Where the CPU stands: at the FUP that is next, if one is. */
static struct pt_context
event_packets_at(
    const struct replay *replay, struct pkt_parser *parser, bool with_ip)
{
	struct pt_context at = replay->at;
	struct pkt fup;

	if (with_ip && pkt_take_event(parser, PKT_FUP, &fup))
		at.ip = fup.value;
	return at;
}

static void
event_packets_ptwrite(
    struct replay *replay, const struct pkt *ptw, struct pkt_parser *behind)
{
	struct pt_context at = event_packets_at(replay, behind, ptw->with_ip);

	pt_unit_ptwrite(
	    replay->feed->unit, &at, ptw->value, ptw->bytes == 10 ? 8 : 4);
}

/*
 * Does an OVF come next behind what is there of an event?  Then the rest of it is lost.
 */
static bool
event_packets_lose(struct replay *replay, struct pkt_parser behind)
{
	uint64_t end = behind.offset;
	struct pkt ovf;

	if (!pkt_next_event(&behind, &ovf) || ovf.kind != PKT_OVF ||
	    compare_is_apart(replay->config.compare) ||
	    end <= replay->feed->offset)
		return false;
	pt_unit_lose(replay->feed->unit, end - replay->feed->offset);
	return true;
}

/* MWAIT, PWRE and EXSTOP, of which FIRST is the first. */
static void
event_packets_power_enter(
    struct replay *replay, const struct pkt *first, struct pkt_parser *behind)
{
	struct pt_power power = { .mwait = first->kind == PKT_MWAIT };
	struct pkt packet = *first;
	struct pt_context at;
	bool enters = first->kind != PKT_EXSTOP;

	if (power.mwait) {
		power.hints = (uint8_t)packet.value;
		power.ext = (uint8_t)(packet.value >> 32 & 3);
		(void)pkt_take_event(behind, PKT_PWRE, &packet);
	}
	if (packet.kind == PKT_PWRE) {
		power.hw = (packet.value >> 7 & 1) != 0;
		power.sub = (uint8_t)(packet.value >> 8 & 0xf);
		power.cstate = (uint8_t)(packet.value >> 12 & 0xf);
		(void)pkt_take_event(behind, PKT_EXSTOP, &packet);
	}
	at = event_packets_at(
	    replay, behind, packet.kind == PKT_EXSTOP && packet.with_ip);
	(void)event_packets_lose(replay, *behind);
	if (enters)
		pt_unit_power_enter(replay->feed->unit, &at, &power);
	else
		pt_unit_exstop(replay->feed->unit, &at);
}

/*
 * TSC, TMA and CBR outside of PSB+: of a wake, or of a change of frequency.  False:
 * of an enable, maybe.
 */
static bool
event_packets_status(struct replay *replay, const struct clock_next *next,
    struct pkt_parser *behind)
{
	struct pkt cbr = next->packet, other;
	struct pkt_parser before = *behind;
	bool wakes;

	if (cbr.kind == PKT_TSC) {
		(void)pkt_take_event(behind, PKT_TMA, &other);
		if (!pkt_take_event(behind, PKT_CBR, &cbr)) {
			if (!replay->traced ||
			    !event_packets_lose(replay, *behind))
				return false;
			clock_status(
			    &replay->clock, replay->feed, replay->clock.look);
			pt_unit_power_exit(
			    replay->feed->unit, &replay->at, 0, 0, 0);
			return true;
		}
	}
	wakes = pkt_take_event(behind, PKT_PWRX, &other);
	if (!wakes && !replay->traced) {
		*behind = before;
		return false;
	}
	if ((cbr.value & 0xff) == 0)
		return true;
	clock_status(&replay->clock, replay->feed, replay->clock.look);
	if (wakes) {
		pt_unit_set_cbr(replay->feed->unit, cbr.value & 0xff);
		pt_unit_power_exit(replay->feed->unit, &replay->at,
		    (uint8_t)(other.value >> 4 & 0xf),
		    (uint8_t)(other.value & 0xf),
		    (uint8_t)(other.value >> 8 & 0xf));
	} else {
		pt_unit_frequency(replay->feed->unit, cbr.value & 0xff);
	}
	return true;
}

/* MODE.TSX or MODE.Exec and a FUP.  False: they belong to a transfer. */
static bool
event_packets_mode(
    struct replay *replay, const struct pkt *mode, struct pkt_parser *behind)
{
	struct pkt fup;
	struct pt_context at = replay->at;
	struct pkt_parser parser = *behind;
	bool with_ip = pkt_take_event(&parser, PKT_FUP, &fup);

	if (mode->kind == PKT_TSX) {
		if (mode->value & PKT_TSX_ABORT)
			return false;
		if (with_ip && replay->traced) {
			*behind = parser;
			at.ip = fup.value;
		}
		replay->vmx.in_tsx = (mode->value & PKT_TSX_IN) != 0;
		pt_unit_tsx(
		    replay->feed->unit, &at, (mode->value & PKT_TSX_IN) != 0);
		return true;
	}
	if (!with_ip || !replay->told)
		return false;
	*behind = parser;
	at.ip = fup.value;
	at.if_flag = (mode->value & TELL_IF) != 0;
	replay->at.if_flag = at.if_flag;
	pt_unit_if_changed(replay->feed->unit, &at);
	return true;
}

/* The blocks of a PEBS record, from a BBP on. */
static void
event_packets_pebs(
    struct replay *replay, const struct pkt *bbp, struct pkt_parser *behind)
{
	struct pt_block_item items[TELL_ITEMS];
	struct pt_block blocks[TELL_BLOCKS];
	struct pkt packet = *bbp;
	size_t count = 0, used = 0;
	struct pt_context at;

	do {
		struct pt_block *block;

		if (packet.kind == PKT_BBP && count < TELL_BLOCKS) {
			blocks[count++] =
			    (struct pt_block){ .type = packet.value & 0x1f,
				    .narrow = (packet.value & 0x80) != 0,
				    .items = &items[used] };
		} else if (packet.kind == PKT_BIP && used < TELL_ITEMS) {
			block = &blocks[count - 1];
			block->count++;
			items[used++] = (struct pt_block_item){
				.id = packet.bits, .value = packet.value
			};
		} else {
			break;
		}
	} while (pkt_next_event(behind, &packet));
	at = event_packets_at(
	    replay, behind, packet.kind == PKT_BEP && packet.with_ip);
	pt_unit_pebs(replay->feed->unit, &at, blocks, count, packet.with_ip);
}

/*
 * Without branches in the trace CFE, the EVDs before it and its FUP are all there is of
 * a transfer, whose first packet is FIRST.
 */
static void
event_packets_alone(
    struct replay *replay, const struct pkt *first, struct pkt_parser *behind)
{
	const struct pt_context at = replay->at;
	bool cr3_written = replay->cr3_written;
	struct pkt packet = *first;

	while (packet.kind == PKT_EVD && pkt_next_event(behind, &packet))
		continue;
	(void)event_packets_at(replay, behind, packet.with_ip);
	/* A PIP is reported by itself. */
	replay->cr3_written = false;
	replay_report(replay, PT_TRANSFER_INTERRUPT, 0, &at);
	replay->cr3_written = cr3_written;
}

bool
event_packets_is_event(const struct pkt *packet)
{
	const uint64_t kinds = TZ_BIT(PKT_MTC) | TZ_BIT(PKT_TSC) |
	    TZ_BIT(PKT_CBR) | TZ_BIT(PKT_TSX) | TZ_BIT(PKT_EXEC) |
	    TZ_BIT(PKT_PTW) | TZ_BIT(PKT_MWAIT) | TZ_BIT(PKT_PWRE) |
	    TZ_BIT(PKT_EXSTOP) | TZ_BIT(PKT_MNT) | TZ_BIT(PKT_BBP) |
	    TZ_BIT(PKT_CFE) | TZ_BIT(PKT_EVD);

	return (kinds >> packet->kind & 1) != 0;
}

bool
event_packets_event(struct replay *replay, struct clock_next *next)
{
	const struct pkt *packet = &next->packet;
	struct pkt_parser *behind = &next->behind;
	struct clock_next timed;
	struct pt_context at;

	switch ((int)packet->kind) {
	case PKT_MTC:
		if (next->behind_tnt)
			return false;
		clock_edge(&replay->clock, replay->feed, next);
		return true;
	case PKT_TSC:
	case PKT_CBR:
		return event_packets_status(replay, next, behind);
	case PKT_TSX:
	case PKT_EXEC:
		clock_hand(&replay->clock, replay->feed, next);
		return event_packets_mode(replay, packet, behind);
	case PKT_PTW:
		clock_hand(&replay->clock, replay->feed, next);
		event_packets_ptwrite(replay, packet, behind);
		return true;
	case PKT_MWAIT:
	case PKT_PWRE:
	case PKT_EXSTOP:
		timed = pending_packets_behind(replay, next);
		clock_hand(&replay->clock, replay->feed, &timed);
		event_packets_power_enter(replay, packet, behind);
		return true;
	case PKT_EVD:
	case PKT_CFE:
		if (!(replay->feed->ctl & TELL_CTL_BRANCH_EN) &&
		    (packet->value & 0x1f) != CFE_SHUTDOWN) {
			clock_hand(&replay->clock, replay->feed, next);
			event_packets_alone(replay, packet, behind);
			return true;
		}
		if ((packet->value & 0x1f) != CFE_SHUTDOWN)
			return false;
		clock_hand(&replay->clock, replay->feed, next);
		at = event_packets_at(replay, behind, packet->with_ip);
		pt_unit_shutdown_cfe(replay->feed->unit, &at);
		return true;
	case PKT_MNT:
		clock_hand(&replay->clock, replay->feed, next);
		pt_unit_maintenance(replay->feed->unit, packet->value);
		return true;
	case PKT_BBP:
		clock_hand(&replay->clock, replay->feed, next);
		event_packets_pebs(replay, packet, behind);
		return true;
	default:
		return false;
	}
}
