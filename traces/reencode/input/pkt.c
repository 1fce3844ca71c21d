#define _GNU_SOURCE /* memmem */

#include "traces/reencode/input/pkt.h"

#include <string.h>

#define PKT_PSB_BYTES 16

/* Packets of one form: a header and a payload. */
struct pkt_row {
	uint8_t opcode; /* the first byte, or the second if the first is 02 */
	uint8_t kind;   /* enum pkt_kind */
	uint8_t header_bytes;
	uint8_t payload_bytes;
	bool with_ip;
};

static const struct pkt_row pkt_rows[] = {
	{ 0x59, PKT_MTC, 1, 1, false },
	{ 0x19, PKT_TSC, 1, 7, false },
	{ 0x99, PKT_EXEC, 1, 1, false },
	{ 0xa3, PKT_TNT, 2, 6, false },
	{ 0x43, PKT_PIP, 2, 6, false },
	{ 0x03, PKT_CBR, 2, 2, false },
	{ 0x23, PKT_PSBEND, 2, 0, false },
	{ 0xf3, PKT_OVF, 2, 0, false },
	{ 0x83, PKT_STOP, 2, 0, false },
	{ 0x73, PKT_TMA, 2, 5, false },
	{ 0xc8, PKT_VMCS, 2, 5, false },
	{ 0xc3, PKT_MNT, 3, 8, false },
	{ 0x12, PKT_PTW, 2, 4, false },
	{ 0x92, PKT_PTW, 2, 4, true },
	{ 0x32, PKT_PTW, 2, 8, false },
	{ 0xb2, PKT_PTW, 2, 8, true },
	{ 0x62, PKT_EXSTOP, 2, 0, false },
	{ 0xe2, PKT_EXSTOP, 2, 0, true },
	{ 0xc2, PKT_MWAIT, 2, 8, false },
	{ 0x22, PKT_PWRE, 2, 2, false },
	{ 0xa2, PKT_PWRX, 2, 5, false },
	{ 0x13, PKT_CFE, 2, 2, false },
	{ 0x53, PKT_EVD, 3, 8, false },
	{ 0x63, PKT_BBP, 2, 1, false },
	{ 0x33, PKT_BEP, 2, 0, false },
	{ 0xb3, PKT_BEP, 2, 0, true },
};

/* By enum pkt_kind. */
static const struct pkt_kind_row pkt_kind_rows[PKT_KINDS] = {
	[PKT_PAD] = { "PAD", "output/layout.c", "33.4.2.20 \"PAD Packet\"" },
	[PKT_TNT] = { "TNT", "packet/tnt.c",
	    "33.4.2.1 \"Taken/Not-taken (TNT) Packet\"" },
	[PKT_TIP] = { "TIP", "flow.c", "33.4.2.2 \"Target IP (TIP) Packet\"" },
	[PKT_PGE] = { "TIP.PGE", "trace.c",
	    "33.7 \"Packet Generation Scenarios\"" },
	[PKT_PGD] = { "TIP.PGD", "trace.c",
	    "33.4.2.5 \"Packet Generation Disable (TIP.PGD) Packet\"" },
	[PKT_FUP] = { "FUP", "flow.c", "33.7 \"Packet Generation Scenarios\"" },
	[PKT_EXEC] = { "MODE.Exec", "packet/emit.c",
	    "33.4.2.8 \"MODE Packets\"" },
	[PKT_TSX] = { "MODE.TSX", "packet/nonbranch.c",
	    "33.4.2.8 \"MODE Packets\"" },
	[PKT_PIP] = { "PIP", "packet/emit.c",
	    "33.4.2.7 \"Paging Information Packet (PIP)\"" },
	[PKT_VMCS] = { "VMCS", "vmx.c", "33.4.2.15 \"VMCS Packet\"" },
	[PKT_CBR] = { "CBR", "packet/timing.c",
	    "33.4.2.10 \"Core:Bus Ratio (CBR) Packet\"" },
	[PKT_TSC] = { "TSC", "packet/timing.c",
	    "33.4.2.11 \"Timestamp Counter (TSC) Packet\"" },
	[PKT_TMA] = { "TMA", "packet/timing.c",
	    "33.4.2.12 \"TSC/MTC Alignment (TMA) Packet\"" },
	[PKT_MTC] = { "MTC", "packet/timing.c",
	    "33.4.2.13 \"Mini Time Counter (MTC) Packet\"" },
	[PKT_CYC] = { "CYC", "packet/cyc.c",
	    "33.4.2.14 \"Cycle Count (CYC) Packet\"" },
	[PKT_PSB] = { "PSB", "packet/psb.c",
	    "33.3.7 \"Decoder Synchronization (PSB+)\"" },
	[PKT_PSBEND] = { "PSBEND", "packet/psb.c",
	    "33.3.7 \"Decoder Synchronization (PSB+)\"" },
	[PKT_OVF] = { "OVF", "overflow.c",
	    "33.4.2.16 \"Overflow (OVF) Packet\"" },
	[PKT_STOP] = { "TraceStop", "trace.c",
	    "33.4.2.9 \"TraceStop Packet\"" },
	[PKT_MNT] = { "MNT", "packet/nonbranch.c",
	    "33.4.2.19 \"Maintenance (MNT) Packet\"" },
	[PKT_PTW] = { "PTW", "packet/nonbranch.c", "33.4.2.21 \"PTW Packet\"" },
	[PKT_EXSTOP] = { "EXSTOP", "packet/nonbranch.c",
	    "33.2.3 \"Power Event Tracing\"" },
	[PKT_MWAIT] = { "MWAIT", "packet/nonbranch.c",
	    "33.4.2.23 \"MWAIT Packet\"" },
	[PKT_PWRE] = { "PWRE", "packet/nonbranch.c",
	    "33.2.3 \"Power Event Tracing\"" },
	[PKT_PWRX] = { "PWRX", "packet/nonbranch.c",
	    "33.4.2.25 \"PWRX Packet\"" },
	[PKT_CFE] = { "CFE", "packet/nonbranch.c",
	    "33.4.2.29 \"Control Flow Event (CFE) Packet\"" },
	[PKT_EVD] = { "EVD", "packet/nonbranch.c",
	    "33.4.2.30 \"Event Data (EVD) Packet\"" },
	[PKT_BBP] = { "BBP", "packet/nonbranch.c",
	    "33.4.2.26 \"Block Begin Packet\"" },
	[PKT_BIP] = { "BIP", "packet/nonbranch.c",
	    "33.4.2.27 \"Block Item Packet\"" },
	[PKT_BEP] = { "BEP", "packet/nonbranch.c",
	    "33.4.2.28 \"Block End Packet\"" },
	[PKT_BAD] = { "none", "output/layout.c",
	    "33.4.2 \"Packet Definitions\"" },
	[PKT_CUT] = { "none", "output/layout.c",
	    "33.4.2 \"Packet Definitions\"" },
};

const struct pkt_kind_row *
pkt_kind_row(enum pkt_kind kind)
{
	return &pkt_kind_rows[kind];
}

/* Bytes of an IP, by IPBytes; more than 8: reserved. */
static const uint8_t pkt_ip_bytes[8] = { 0, 2, 4, 6, 6, 9, 8, 9 };

/* Packets that may have an IP, by bits 4:0 of the first byte; else PKT_PAD. */
static const uint8_t pkt_ip_kinds[32] = {
	[0x01] = PKT_PGD,
	[0x0d] = PKT_TIP,
	[0x11] = PKT_PGE,
	[0x1d] = PKT_FUP,
};

static const uint8_t pkt_psb[PKT_PSB_BYTES] = { 0x02, 0x82, 0x02, 0x82, 0x02,
	0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82 };

void
pkt_begin(struct pkt_parser *parser, const uint8_t *bytes, uint64_t count,
    uint64_t offset)
{
	TZ_ASSERT(offset <= count);
	*parser = (struct pkt_parser){
		.bytes = bytes, .count = count, .offset = offset
	};
}

uint64_t
pkt_find_psb(const uint8_t *bytes, uint64_t count, uint64_t from)
{
	const uint8_t *found = from < count
	    ? memmem(
		  bytes + from, (size_t)(count - from), pkt_psb, PKT_PSB_BYTES)
	    : NULL;

	return found != NULL ? (uint64_t)(found - bytes) : count;
}

void
pkt_begin_psb(struct pkt_parser *parser, const uint8_t *bytes, uint64_t count,
    uint64_t from)
{
	pkt_begin(parser, bytes, count, pkt_find_psb(bytes, count, from));
}

/* The little-endian number of BYTES bytes at AT. */
static uint64_t
pkt_value(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes-- != 0)
		value = value << 8 | at[bytes];
	return value;
}

/* Makes PACKET one of KIND and BYTES bytes.  False, and CUT: there are fewer bytes. */
static bool
pkt_take(struct pkt_parser *parser, struct pkt *packet, enum pkt_kind kind,
    unsigned bytes)
{
	if (parser->count - parser->offset < bytes) {
		packet->kind = PKT_CUT;
		return false;
	}
	packet->kind = kind;
	packet->bytes = (uint8_t)bytes;
	parser->offset += bytes;
	return true;
}

/*
 * The IP of payload VALUE with IPBytes FORM, not 0, where LAST is the last IP: SDM vol. 3,
 * 33.4.2.2, table "FUP/TIP IP Reconstruction".
 */
static uint64_t
pkt_ip_after(uint64_t last, uint64_t value, unsigned form)
{
	uint64_t mask = ~UINT64_C(0) >> (64 - 8 * pkt_ip_bytes[form]);

	return form == 3 ? (uint64_t)((int64_t)(value << 16) >> 16)
			 : (last & ~mask) | value;
}

static bool
pkt_ip(struct pkt_parser *parser, struct pkt *packet, enum pkt_kind kind)
{
	const uint8_t *at = parser->bytes + parser->offset;
	unsigned form = at[0] >> 5;
	unsigned bytes = pkt_ip_bytes[form];

	if (bytes > 8) {
		packet->kind = PKT_BAD;
		return false;
	}
	if (!pkt_take(parser, packet, kind, 1 + bytes))
		return false;
	packet->bits = (uint8_t)form;
	packet->with_ip = form != 0;
	if (form != 0)
		parser->last_ip = pkt_ip_after(
		    parser->last_ip, pkt_value(at + 1, bytes), form);
	packet->value = parser->last_ip;
	return true;
}

/* Outcomes of a TNT payload: the bits below its highest one. */
static void
pkt_tnt(struct pkt *packet, uint64_t payload)
{
	unsigned stop = 63u - (unsigned)__builtin_clzll(payload | 1);

	packet->bits = (uint8_t)stop;
	packet->value = payload & (TZ_BIT(stop) - 1);
	if (stop == 0)
		packet->kind = PKT_BAD;
}

/* A PSB, of which LEFT bytes are there. */
static bool
pkt_psb_at(struct pkt_parser *parser, struct pkt *packet, uint64_t left)
{
	size_t known = left < PKT_PSB_BYTES ? (size_t)left : PKT_PSB_BYTES;

	packet->kind = PKT_BAD;
	if (memcmp(parser->bytes + parser->offset, pkt_psb, known) != 0 ||
	    !pkt_take(parser, packet, PKT_PSB, PKT_PSB_BYTES))
		return false;
	parser->last_ip = 0;
	parser->in_psb = true;
	parser->in_block = false;
	return true;
}

/* Completes PACKET, of ROW, with bytes at AT. */
static bool
pkt_finish(struct pkt_parser *parser, struct pkt *packet,
    const struct pkt_row *row, const uint8_t *at)
{
	packet->with_ip = row->with_ip;
	if (row->kind == PKT_EXEC && packet->value >> 5 == 1)
		packet->kind = PKT_TSX;
	if (row->kind == PKT_CFE)
		packet->with_ip = (packet->value & 0x80) != 0;
	if (row->kind == PKT_TNT)
		pkt_tnt(packet, packet->value);
	if (row->kind == PKT_EVD) {
		packet->extra = packet->value;
		packet->value = at[2];
	}
	if (pkt_is(packet, PKT_BIT(PSBEND) | PKT_BIT(OVF)))
		parser->in_psb = false;
	if (pkt_is(packet, PKT_BIT(BBP) | PKT_BIT(BEP) | PKT_BIT(OVF)))
		parser->in_block = row->kind == PKT_BBP;
	if (row->header_bytes != 1)
		parser->narrow = parser->in_block &&
		    (packet->value & 0x80) != 0;
	return packet->kind != PKT_BAD;
}

/* A packet of pkt_rows, or a PSB. */
static bool
pkt_fixed(struct pkt_parser *parser, struct pkt *packet)
{
	uint64_t left = parser->count - parser->offset;
	const uint8_t *at = parser->bytes + parser->offset;
	bool two = at[0] == 2;

	if (left <= two) {
		packet->kind = PKT_CUT;
		return false;
	}
	if (two && at[1] == 0x82)
		return pkt_psb_at(parser, packet, left);
	packet->kind = PKT_BAD;
	for (size_t i = 0; i < TZ_ARRAY_LEN(pkt_rows); i++) {
		const struct pkt_row *row = &pkt_rows[i];

		if (row->opcode != at[two] || (row->header_bytes != 1) != two)
			continue;
		if (row->kind == PKT_MNT && left >= 3 && at[2] != 0x88)
			return false;
		if (!pkt_take(parser, packet, (enum pkt_kind)row->kind,
			(unsigned)row->header_bytes + row->payload_bytes))
			return false;
		packet->value = pkt_value(
		    at + row->header_bytes, row->payload_bytes);
		return pkt_finish(parser, packet, row, at);
	}
	return false;
}

/* SDM vol. 3, 33.4.2.14 "Cycle Count (CYC) Packet". */
static bool
pkt_cyc(struct pkt_parser *parser, struct pkt *packet)
{
	const uint8_t *at = parser->bytes + parser->offset;
	uint64_t left = parser->count - parser->offset;
	uint64_t value = at[0] >> 3;
	bool more = (at[0] & 4) != 0;
	unsigned bytes = 1, shift = 5;

	while (more) {
		if (bytes == left) {
			packet->kind = PKT_CUT;
			return false;
		}
		if (bytes > 15) {
			packet->kind = PKT_BAD;
			return false;
		}
		more = (at[bytes] & 1) != 0;
		if (shift < 64)
			value |= (uint64_t)(at[bytes] >> 1) << shift;
		shift += 7;
		bytes++;
	}
	packet->value = value;
	return pkt_take(parser, packet, PKT_CYC, bytes);
}

/* A BIP. */
static bool
pkt_bip(struct pkt_parser *parser, struct pkt *packet)
{
	const uint8_t *at = parser->bytes + parser->offset;
	unsigned bytes = parser->narrow ? 4 : 8;

	if (!pkt_take(parser, packet, PKT_BIP, 1 + bytes))
		return false;
	packet->value = pkt_value(at + 1, bytes);
	packet->bits = at[0] >> 3;
	return true;
}

bool
pkt_any(struct pkt_parser *parser, struct pkt *packet)
{
	uint8_t first;

	*packet = (struct pkt){ .kind = PKT_CUT, .offset = parser->offset };
	if (parser->offset >= parser->count)
		return false;
	first = parser->bytes[parser->offset];
	if (pkt_ip_kinds[first & 0x1f] != 0)
		return pkt_ip(
		    parser, packet, (enum pkt_kind)pkt_ip_kinds[first & 0x1f]);
	if (first == 0)
		return pkt_take(parser, packet, PKT_PAD, 1);
	if ((first & 3) == 3)
		return pkt_cyc(parser, packet);
	if ((first & 1) != 0 || first == 2)
		return pkt_fixed(parser, packet);
	if (parser->in_block && (first & 7) == 4)
		return pkt_bip(parser, packet);
	(void)pkt_take(parser, packet, PKT_TNT, 1);
	pkt_tnt(packet, first >> 1);
	return true;
}

bool
pkt_next_of(struct pkt_parser *parser, struct pkt *packet, uint64_t kinds)
{
	do
		if (!pkt_next(parser, packet))
			return false;
	while (!pkt_is(packet, kinds));
	return true;
}

bool
pkt_next_event(struct pkt_parser *parser, struct pkt *packet)
{
	return pkt_next_of(parser, packet, ~(PKT_BIT(PAD) | PKT_BIT(CYC)));
}

bool
pkt_take_event(
    struct pkt_parser *parser, enum pkt_kind kind, struct pkt *packet)
{
	struct pkt_parser behind = *parser;

	if (!pkt_next_event(&behind, packet) || packet->kind != kind)
		return false;
	*parser = behind;
	return true;
}

bool
pkt_next_good(struct pkt_parser *parser, struct pkt *packet)
{
	while (!pkt_next(parser, packet)) {
		if (packet->kind != PKT_BAD)
			return false;
		pkt_begin_psb(
		    parser, parser->bytes, parser->count, packet->offset + 1);
	}
	return true;
}
