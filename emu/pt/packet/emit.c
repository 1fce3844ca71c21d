#include "emu/pt/packet/emit.h"

#include "emu/pt/output/layout.h"
#include "emu/pt/packet/cyc.h"
#include "emu/pt/state.h"

enum packet_ip_bytes
emit_ip_bytes(uint64_t ip, uint64_t last, bool valid, bool full8)
{
	/*
	 * SDM vol. 3, 33.4.2.2 "Target IP (TIP) Packet", "IP compression".
	 * Model choice, from captures: the shortest of 16-bit update, 32-bit
	 * update and 48 sign-extended bits, or all 64 bits on processors that
	 * do so; update-48 is never used.
	 */
	if (valid && ip >> 16 == last >> 16)
		return PACKET_IP_UPDATE16;
	if (valid && ip >> 32 == last >> 32)
		return PACKET_IP_UPDATE32;
	return tz_is_canonical(ip) && !full8 ? PACKET_IP_SEXT48
					     : PACKET_IP_FULL;
}

/* Sends PACKET, after a CYC with its time if PACKET is CYC-eligible. */
static void
emit_timed(struct pt_unit *unit, const struct packet *packet)
{
	if (packet->cyc && (unit->msrs.ctl & CTL_CYC_EN) != 0)
		cyc_send(unit);
	layout_emit(unit, packet);
}

void
emit_packet(struct pt_unit *unit, enum packet_kind kind, uint64_t payload)
{
	struct packet packet = packet_fixed(kind, payload);

	emit_timed(unit, &packet);
}

/* Sends MAIN, with MODE.Exec before it if the decoder does not know the mode yet. */
static void
emit_moded(struct pt_unit *unit, const struct packet *main)
{
	struct flow *flow = &unit->flow;
	struct packet mode, joined;

	/*
	 * SDM vol. 3, 33.4.2.8 "MODE Packets": MODE.Exec goes before TIP or
	 * TIP.PGE where CS.L or CS.D has changed, or since PSB was not sent.
	 */
	if (flow->exec_known && flow->exec_sent == flow->exec) {
		emit_timed(unit, main);
		return;
	}
	flow->exec_known = true;
	flow->exec_sent = flow->exec;
	TZ_ASSERT(flow->exec < 8);
	mode = packet_fixed(PACKET_MODE, flow->exec);
	if (main->place == LAYOUT_WIDE) {
		joined = packet_join(&mode, main);
		emit_timed(unit, &joined);
	} else {
		emit_timed(unit, &mode);
		emit_timed(unit, main);
	}
	flow->exec_told = !unit->overflow.on;
}

/*
 * Writes a packet of KIND with 2 or 4 bytes of IP if only its position has to be
 * checked.  False: use the general path.
 */
static bool
emit_short_tip(struct pt_unit *unit, enum packet_ip_kind kind, uint64_t ip)
{
	const struct flow *flow = &unit->flow;
	uint64_t apart = ip ^ flow->last_ip;
	unsigned form = apart >> 16 == 0 ? PACKET_IP_UPDATE16
					 : PACKET_IP_UPDATE32;
	bool plain = kind == PACKET_TIP_PGD ||
	    (flow->exec_known && flow->exec_sent == flow->exec);

	return flow->last_ip_valid && apart >> 32 == 0 && plain &&
	    (unit->msrs.ctl & CTL_CYC_EN) == 0 &&
	    layout_emit_short(
		unit, (uint8_t)(form << 5 | kind), (uint32_t)ip, 2 * form);
}

void
emit_tip(struct pt_unit *unit, enum packet_ip_kind kind, uint64_t ip)
{
	struct flow *flow = &unit->flow;
	struct packet packet;

	TZ_ASSERT(kind != PACKET_FUP);
	TZ_ASSERT(unit_tnt_is_empty(unit));
	if (emit_short_tip(unit, kind, ip)) {
		flow->last_ip = ip;
		return;
	}
	packet = packet_ip(kind,
	    emit_ip_bytes(ip, flow->last_ip, flow->last_ip_valid,
		unit->profile->uarch->ip_full == PACKET_IP_FULL),
	    ip);
	flow->last_ip = ip;
	flow->last_ip_valid = true;
	if (kind == PACKET_TIP_PGD)
		emit_timed(unit, &packet);
	else
		emit_moded(unit, &packet);
}

void
emit_pgd_bare(struct pt_unit *unit)
{
	struct packet packet = packet_ip(PACKET_TIP_PGD, PACKET_IP_NONE, 0);

	TZ_ASSERT(unit_tnt_is_empty(unit));
	emit_timed(unit, &packet);
}

struct packet
emit_make_fup(const struct pt_unit *unit, uint64_t ip)
{
	bool full8 = unit->profile->uarch->ip_full == PACKET_IP_FULL;

	/* Model choice, from captures: a FUP is never compressed. */
	return packet_ip(PACKET_FUP, emit_ip_bytes(ip, 0, false, full8), ip);
}

void
emit_fup(struct pt_unit *unit, uint64_t ip)
{
	struct packet packet = emit_make_fup(unit, ip);

	TZ_ASSERT(unit_tnt_is_empty(unit));
	/*
	 * Every decoder updates its last IP from a FUP, too.  Model choice: the
	 * first TIP after PSB+ is full even if a FUP came in between.
	 */
	unit->flow.last_ip = ip;
	layout_emit(unit, &packet);
}

void
emit_mode_exec(struct pt_unit *unit)
{
	struct flow *flow = &unit->flow;

	TZ_ASSERT(unit_tnt_is_empty(unit));
	flow->exec_known = flow->exec_told = true;
	flow->exec_sent = flow->exec;
	emit_packet(unit, PACKET_MODE, flow->exec);
}

void
emit_cfe(
    struct pt_unit *unit, enum packet_cfe type, bool own_fup, uint8_t vector)
{
	TZ_ASSERT(unit->msrs.ctl & CTL_EVENT_EN);
	emit_packet(unit, PACKET_CFE,
	    (uint64_t)type | (own_fup ? 0x80 : 0) | (uint64_t)vector << 8);
}

void
emit_evd(struct pt_unit *unit, enum packet_evd type, uint64_t data)
{
	struct packet packet = packet_evd((uint8_t)type, data);

	TZ_ASSERT(unit_tnt_is_empty(unit));
	emit_timed(unit, &packet);
}

void
emit_bip(
    struct pt_unit *unit, uint8_t id, unsigned payload_bytes, uint64_t payload)
{
	struct packet packet = packet_bip(id, payload_bytes, payload);

	layout_emit(unit, &packet);
}

void
emit_pip(struct pt_unit *unit)
{
	struct flow *flow = &unit->flow;

	emit_packet(
	    unit, PACKET_PIP, packet_pip_payload(flow->cr3, flow->non_root));
}
