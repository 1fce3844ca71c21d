/*
 * Events between two transfers.  If the trace has the packet of such an event at the
 * offset that the unit's output has reached, the event happened before the next transfer:
 * it is reported to the unit first.
 */
#include "emu/base/rtit.h"
#include "emu/pt/packet/nonbranch.h"
#include "traces/reencode/replay/replay_internal.h"

/* Packets of events that are no transfers. */
#define PENDING_PACKETS_EVENTS                                                \
 (PKT_BIT(MTC) | PKT_BIT(TSC) | PKT_BIT(CBR) | PKT_BIT(TSX) | PKT_BIT(EXEC) | \
     PKT_BIT(PTW) | PKT_BIT(MWAIT) | PKT_BIT(PWRE) | PKT_BIT(EXSTOP) |        \
     PKT_BIT(PWRX) | PKT_BIT(MNT) | PKT_BIT(BBP) | PKT_BIT(CFE) |             \
     PKT_BIT(EVD))

#define PENDING_PACKETS_ITEMS  64
#define PENDING_PACKETS_BLOCKS 8

/* Outcomes that the unit has not sent. */
static unsigned
pending_packets_pending(const struct replay *replay)
{
	return pt_unit_tnt_pending(replay->driver.unit);
}

/*
 * NEXT with its CYC.  If its packet cannot have one, the CYC is that of the next packet of
 * the same event.
 */
static struct clock_next
pending_packets_behind(
    const struct replay *replay, const struct clock_next *next)
{
	struct clock ahead = replay->clock;
	struct clock_next found = *next;
	enum pkt_kind kind = found.packet.kind;

	while ((!found.cyc || found.wraps) &&
	    (kind == PKT_FUP || kind == PKT_EVD || kind == PKT_PWRE)) {
		uint64_t before = found.cycles;

		ahead.look = found.after;
		found = *clock_look(&ahead, 0);
		found.cycles += before;
		found.cyc |= before != 0;
		if (kind == PKT_PWRE && found.packet.kind != PKT_EXSTOP)
			return *next;
		kind = found.packet.kind;
	}
	return found;
}

/* The CPU's place: that of the next FUP, if WITH_IP. */
static struct pt_context
pending_packets_at(
    const struct replay *replay, struct pkt_parser *parser, bool with_ip)
{
	struct pt_context at = replay->at;
	struct pkt fup;

	if (with_ip && pkt_take_event(parser, PKT_FUP, &fup))
		at.ip = fup.value;
	return at;
}

/* If an OVF follows the packets of an event, the unit loses the rest of them. */
static bool
pending_packets_lose(struct replay *replay, struct pkt_parser behind)
{
	uint64_t end = behind.offset;
	struct pkt ovf;

	if (!pkt_next_event(&behind, &ovf) || ovf.kind != PKT_OVF ||
	    replay->driver.compare->apart || end <= replay->driver.offset)
		return false;
	pt_unit_lose(replay->driver.unit, end - replay->driver.offset);
	return true;
}

/* MWAIT, PWRE and EXSTOP, of which FIRST is the first. */
static void
pending_packets_power_enter(
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
	at = pending_packets_at(
	    replay, behind, packet.kind == PKT_EXSTOP && packet.with_ip);
	(void)pending_packets_lose(replay, *behind);
	if (enters)
		pt_unit_power_enter(replay->driver.unit, &at, &power);
	else
		pt_unit_exstop(replay->driver.unit, &at);
}

static void
pending_packets_wake(struct replay *replay, const struct pkt *pwrx)
{
	pt_unit_power_exit(replay->driver.unit, &replay->at,
	    (uint8_t)(pwrx->value >> 4 & 0xf), (uint8_t)(pwrx->value & 0xf),
	    (uint8_t)(pwrx->value >> 8 & 0xf));
}

/*
 * TSC, TMA and CBR outside of PSB+: of a wake, or of a change of frequency.  False: they
 * may be those of an enable.
 */
static bool
pending_packets_status(
    struct replay *replay, const struct pkt *first, struct pkt_parser *behind)
{
	struct pkt cbr = *first, other;
	struct pkt_parser before = *behind;
	bool wakes;

	if (cbr.kind == PKT_TSC) {
		(void)pkt_take_event(behind, PKT_TMA, &other);
		if (!pkt_take_event(behind, PKT_CBR, &cbr)) {
			if (!replay->traced ||
			    !pending_packets_lose(replay, *behind))
				return false;
			clock_status(&replay->clock, replay->clock.look);
			pt_unit_power_exit(
			    replay->driver.unit, &replay->at, 0, 0, 0);
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
	clock_status(&replay->clock, replay->clock.look);
	if (wakes) {
		pt_unit_set_cbr(replay->driver.unit, cbr.value & 0xff);
		pending_packets_wake(replay, &other);
	} else {
		pt_unit_frequency(replay->driver.unit, cbr.value & 0xff);
	}
	return true;
}

/* MODE.TSX or MODE.Exec and a FUP.  False: they belong to a transfer. */
static bool
pending_packets_mode(
    struct replay *replay, const struct pkt *mode, struct pkt_parser *behind)
{
	bool tsx = mode->kind == PKT_TSX;
	bool begins = (mode->value & PACKET_MODE_TSX_IN) != 0;
	struct pt_context at = replay->at;
	struct pkt_parser parser = *behind;
	struct pkt fup;
	bool with_ip = pkt_take_event(&parser, PKT_FUP, &fup);

	if (tsx ? (mode->value & PACKET_MODE_TSX_ABORT) != 0
		: !with_ip || !report_has_event_trace(replay))
		return false;
	if (with_ip && (!tsx || replay->traced)) {
		*behind = parser;
		at.ip = fup.value;
	}
	if (tsx) {
		replay->vmx.in_tsx = begins;
		pt_unit_tsx(replay->driver.unit, &at, begins);
	} else {
		at.if_flag = (mode->value & PACKET_MODE_EXEC_IF) != 0;
		replay->at.if_flag = at.if_flag;
		pt_unit_if_changed(replay->driver.unit, &at);
	}
	return true;
}

/* The blocks of a PEBS record, from a BBP on. */
static void
pending_packets_pebs(
    struct replay *replay, const struct pkt *bbp, struct pkt_parser *behind)
{
	struct pt_block_item items[PENDING_PACKETS_ITEMS];
	struct pt_block blocks[PENDING_PACKETS_BLOCKS];
	struct pkt packet = *bbp;
	size_t count = 0, used = 0;
	struct pt_context at;

	do {
		if (packet.kind == PKT_BBP && count < PENDING_PACKETS_BLOCKS) {
			blocks[count++] =
			    (struct pt_block){ .type = packet.value & 0x1f,
				    .narrow = (packet.value & 0x80) != 0,
				    .items = &items[used] };
		} else if (packet.kind == PKT_BIP &&
		    used < PENDING_PACKETS_ITEMS) {
			blocks[count - 1].count++;
			items[used++] = (struct pt_block_item){
				.id = packet.bits, .value = packet.value
			};
		} else {
			break;
		}
	} while (pkt_next_event(behind, &packet));
	at = pending_packets_at(
	    replay, behind, packet.kind == PKT_BEP && packet.with_ip);
	pt_unit_pebs(replay->driver.unit, &at, blocks, count, packet.with_ip);
}

/*
 * A transfer in a trace without branches: CFE, the EVDs before it and its FUP are its only
 * packets.  FIRST is the first of them.
 */
static void
pending_packets_alone(
    struct replay *replay, const struct pkt *first, struct pkt_parser *behind)
{
	const struct pt_context at = replay->at;
	bool cr3_written = replay->cr3_written;
	struct pkt packet = *first;

	while (packet.kind == PKT_EVD && pkt_next_event(behind, &packet))
		continue;
	(void)pending_packets_at(replay, behind, packet.with_ip);
	/* A PIP is reported by itself. */
	replay->cr3_written = false;
	report_event(replay, PT_TRANSFER_INTERRUPT, 0, &at);
	replay->cr3_written = cr3_written;
}

/* Reports the event of NEXT.  False: NEXT belongs to a transfer. */
static bool
pending_packets_event(struct replay *replay, struct clock_next *next)
{
	struct pt_unit *unit = replay->driver.unit;
	const struct pkt *packet = &next->packet;
	struct pkt_parser *behind = &next->after;
	bool shuts = (packet->value & 0x1f) == CFE_SHUTDOWN;
	struct clock_next timed = *next;
	struct pt_context at;

	if (pkt_is(packet, PKT_BIT(CFE) | PKT_BIT(EVD)) && !shuts &&
	    (replay->driver.ctl & CTL_BRANCH_EN))
		return false;
	if (packet->kind == PKT_MTC && next->after_tnt)
		return false;
	if (packet->kind == PKT_PWRE)
		timed = pending_packets_behind(replay, next);
	if (!pkt_is(packet, PKT_BIT(MTC) | PKT_BIT(TSC) | PKT_BIT(CBR)))
		clock_apply(&replay->clock, &timed);
	switch ((int)packet->kind) {
	case PKT_MTC:
		clock_edge(&replay->clock, next);
		return true;
	case PKT_TSC:
	case PKT_CBR:
		return pending_packets_status(replay, packet, behind);
	case PKT_TSX:
	case PKT_EXEC:
		return pending_packets_mode(replay, packet, behind);
	case PKT_PTW:
		at = pending_packets_at(replay, behind, packet->with_ip);
		pt_unit_ptwrite(
		    unit, &at, packet->value, packet->bytes == 10 ? 8 : 4);
		return true;
	case PKT_MWAIT:
	case PKT_PWRE:
	case PKT_EXSTOP:
		pending_packets_power_enter(replay, packet, behind);
		return true;
	case PKT_PWRX:
		pending_packets_wake(replay, packet);
		return true;
	case PKT_EVD:
	case PKT_CFE:
		if (!shuts) {
			pending_packets_alone(replay, packet, behind);
			return true;
		}
		at = pending_packets_at(replay, behind, packet->with_ip);
		pt_unit_shutdown_cfe(unit, &at);
		return true;
	case PKT_MNT:
		pt_unit_maintenance(unit, packet->value);
		return true;
	case PKT_BBP:
		pending_packets_pebs(replay, packet, behind);
		return true;
	default:
		return false;
	}
}

/* Lets the time before NEXT, a packet of no event, go by. */
static void
pending_packets_time(
    struct replay *replay, const struct clock_next *next, bool sends)
{
	struct clock_next behind;

	if (sends && (!next->cyc || next->wraps)) {
		behind = pending_packets_behind(replay, next);
		clock_apply(&replay->clock, &behind);
	} else if (sends || !next->after_tnt) {
		clock_apply(&replay->clock, next);
	}
}

/*
 * Behind a PSB+ that the unit has sent and the canonical form does not compare: the
 * comparison still stands before it.  False: NEXT begins none.
 */
static bool
pending_packets_skip_psb(struct replay *replay, const struct clock_next *next)
{
	struct pkt_parser parser = next->after;
	struct pkt packet = next->packet;

	if (packet.kind != PKT_PSB ||
	    !unit_driver_ignores_psbs(&replay->driver) ||
	    pt_unit_psb_due(replay->driver.unit) ||
	    !pkt_next_of(&parser, &packet, PKT_BIT(PSBEND)))
		return false;
	clock_move(&replay->clock, parser.offset);
	return true;
}

void
pending_packets_before(struct replay *replay, bool sends)
{
	struct clock *clock = &replay->clock;
	const struct clock_next *next;
	struct clock_next told;
	unsigned pending;

	replay->quiet = 0;
	if (!replay->config.watched || replay->ended)
		return;
	for (;;) {
		report_take(replay);
		if (replay->ended)
			return;
		clock_move(clock, replay_offset(replay));
		pending = pending_packets_pending(replay);
		next = clock_look(clock, pending);
		if (pending_packets_skip_psb(replay, next))
			continue;
		if (!pkt_is(&next->packet, PENDING_PACKETS_EVENTS))
			break;
		told = *next;
		if (!pending_packets_event(replay, &told))
			break;
		replay->result->other_events += told.packet.kind != PKT_MTC;
		clock_move(clock, told.after.offset);
	}
	pending_packets_time(replay, next, sends);
	if (!sends && next->packet.kind == PKT_TNT && !next->after_tnt &&
	    !(next->cyc && pending != 0) && next->packet.bits > pending)
		replay->quiet = next->packet.bits - pending;
}

void
pending_packets_frequency(struct replay *replay, uint32_t ratio)
{
	pending_packets_before(replay, true);
	if (replay->ended || ratio == 0)
		return;
	clock_status(&replay->clock, replay->clock.look);
	pt_unit_frequency(replay->driver.unit, ratio & 0xff);
}

void
pending_packets_psb(struct replay *replay)
{
	struct clock_next next;

	if (!replay->config.watched)
		return;
	pending_packets_before(replay, false);
	next = *clock_look(&replay->clock, pending_packets_pending(replay));
	/* The counter reached its end before the PSB forced outcomes out. */
	if (!replay->ended && next.wraps) {
		clock_apply(&replay->clock, &next);
		report_take(replay);
		clock_move(&replay->clock, replay_offset(replay));
		next = *clock_look(
		    &replay->clock, pending_packets_pending(replay));
	}
	if (!replay->ended && next.packet.kind == PKT_PSB) {
		next.after.offset = next.packet.offset;
		clock_status(&replay->clock, next.after);
	}
}
