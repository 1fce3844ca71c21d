#define _GNU_SOURCE /* memmem */

#include "traces/reencode/input/pkt.h"

#include <endian.h>
#include <string.h>

#define PKT_PSB_BYTES 16

/* Packets whose first byte is 02, by their second: a header and a payload. */
struct pkt_extended {
	uint8_t opcode;
	uint8_t kind; /* enum pkt_kind */
	uint8_t header_bytes;
	uint8_t payload_bytes;
	bool with_ip;
};

static const struct pkt_extended pkt_extended[] = {
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

const uint8_t pkt_ip_bytes[8] = { 0, 2, 4, 6, 6, 9, 8, 9 };

const uint8_t pkt_ip_kinds[32] = {
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

/* BYTES bytes at AT, least significant first. */
static uint64_t
pkt_value(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

/* The same for an IP, or with more than BYTES where there are 8 of them. */
static uint64_t
pkt_ip_value(const uint8_t *at, unsigned bytes, uint64_t left)
{
	uint64_t whole;

	if (left < sizeof(whole))
		return pkt_value(at, bytes);
	memcpy(&whole, at, sizeof(whole));
	return le64toh(whole);
}

/* Makes PACKET one of BYTES bytes, if there are so many. */
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
		parser->last_ip = pkt_ip_after(parser->last_ip,
		    pkt_ip_value(
			at + 1, bytes, parser->count - packet->offset - 1),
		    form);
	packet->value = parser->last_ip;
	return true;
}

/* Outcomes of a TNT payload: what stands below its highest bit. */
static void
pkt_tnt(struct pkt *packet, uint64_t payload)
{
	unsigned stop = 63u - (unsigned)__builtin_clzll(payload | 1);

	packet->bits = (uint8_t)stop;
	packet->value = payload & (TZ_BIT(stop) - 1);
	if (stop == 0)
		packet->kind = PKT_BAD;
}

static bool
pkt_two(struct pkt_parser *parser, struct pkt *packet)
{
	const uint8_t *at = parser->bytes + parser->offset;
	uint64_t left = parser->count - parser->offset;

	packet->kind = PKT_BAD;
	if (left < 2) {
		packet->kind = PKT_CUT;
		return false;
	}
	if (at[1] == 0x82) {
		uint64_t known = left < PKT_PSB_BYTES ? left : PKT_PSB_BYTES;

		if (memcmp(at, pkt_psb, (size_t)known) != 0)
			return false;
		if (!pkt_take(parser, packet, PKT_PSB, PKT_PSB_BYTES))
			return false;
		parser->last_ip = 0;
		parser->in_block = false;
		return true;
	}
	if (at[1] == 0xf3)
		parser->in_block = false;
	for (size_t i = 0; i < TZ_ARRAY_LEN(pkt_extended); i++) {
		const struct pkt_extended *row = &pkt_extended[i];

		if (row->opcode != at[1])
			continue;
		if (row->kind == PKT_MNT && left >= 3 && at[2] != 0x88)
			return false;
		if (!pkt_take(parser, packet, (enum pkt_kind)row->kind,
			(unsigned)row->header_bytes + row->payload_bytes))
			return false;
		packet->value = pkt_value(
		    at + row->header_bytes, row->payload_bytes);
		packet->with_ip = row->with_ip;
		if (row->kind == PKT_CFE)
			packet->with_ip = (packet->value & 0x80) != 0;
		if (row->kind == PKT_TNT)
			pkt_tnt(packet, packet->value);
		if (row->kind == PKT_EVD) {
			packet->extra = packet->value;
			packet->value = at[2];
		}
		if (row->kind == PKT_BBP || row->kind == PKT_BEP)
			parser->in_block = row->kind == PKT_BBP;
		parser->narrow = parser->in_block &&
		    (packet->value & 0x80) != 0;
		return packet->kind != PKT_BAD;
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

static bool
pkt_payload(struct pkt_parser *parser, struct pkt *packet, enum pkt_kind kind,
    unsigned bytes)
{
	const uint8_t *at = parser->bytes + parser->offset;

	if (!pkt_take(parser, packet, kind, 1 + bytes))
		return false;
	packet->value = pkt_value(at + 1, bytes);
	return true;
}

static bool
pkt_odd(struct pkt_parser *parser, struct pkt *packet, uint8_t first)
{
	if ((first & 3) == 3)
		return pkt_cyc(parser, packet);
	if (pkt_ip_kinds[first & 0x1f] != 0)
		return pkt_ip(
		    parser, packet, (enum pkt_kind)pkt_ip_kinds[first & 0x1f]);
	switch (first) {
	case 0x99:
		if (!pkt_payload(parser, packet, PKT_EXEC, 1))
			return false;
		if (packet->value >> 5 == 1)
			packet->kind = PKT_TSX;
		return true;
	case 0x19:
		return pkt_payload(parser, packet, PKT_TSC, 7);
	case 0x59:
		return pkt_payload(parser, packet, PKT_MTC, 1);
	default:
		packet->kind = PKT_BAD;
		return false;
	}
}

bool
pkt_any(struct pkt_parser *parser, struct pkt *packet)
{
	uint8_t first;

	packet->kind = PKT_CUT;
	packet->bytes = 0;
	packet->bits = 0;
	packet->with_ip = false;
	packet->offset = parser->offset;
	packet->value = 0;
	if (parser->offset >= parser->count)
		return false;
	first = parser->bytes[parser->offset];
	if (first & 1)
		return pkt_odd(parser, packet, first);
	if (first == 0)
		return pkt_take(parser, packet, PKT_PAD, 1);
	if (first == 2)
		return pkt_two(parser, packet);
	if (parser->in_block && (first & 7) == 4) {
		if (!pkt_payload(
			parser, packet, PKT_BIP, parser->narrow ? 4 : 8))
			return false;
		packet->bits = first >> 3;
		return true;
	}
	if (!pkt_take(parser, packet, PKT_TNT, 1))
		return false;
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
