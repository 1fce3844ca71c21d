#define _GNU_SOURCE /* memmem */

#include "traces/reencode/input/packet_parser.h"

#include <endian.h>
#include <string.h>

#define PACKET_PARSER_PSB_BYTES 16

/* Packets whose first byte is 02, by their second: a header and a payload. */
struct packet_parser_extended {
	uint8_t opcode;
	uint8_t kind; /* enum packet_parser_kind */
	uint8_t header_bytes;
	uint8_t payload_bytes;
	bool with_ip;
};

static const struct packet_parser_extended packet_parser_extended[] = {
	{ 0xa3, PACKET_PARSER_TNT, 2, 6, false },
	{ 0x43, PACKET_PARSER_PIP, 2, 6, false },
	{ 0x03, PACKET_PARSER_CBR, 2, 2, false },
	{ 0x23, PACKET_PARSER_PSBEND, 2, 0, false },
	{ 0xf3, PACKET_PARSER_OVF, 2, 0, false },
	{ 0x83, PACKET_PARSER_STOP, 2, 0, false },
	{ 0x73, PACKET_PARSER_TMA, 2, 5, false },
	{ 0xc8, PACKET_PARSER_VMCS, 2, 5, false },
	{ 0xc3, PACKET_PARSER_MNT, 3, 8, false },
	{ 0x12, PACKET_PARSER_PTW, 2, 4, false },
	{ 0x92, PACKET_PARSER_PTW, 2, 4, true },
	{ 0x32, PACKET_PARSER_PTW, 2, 8, false },
	{ 0xb2, PACKET_PARSER_PTW, 2, 8, true },
	{ 0x62, PACKET_PARSER_EXSTOP, 2, 0, false },
	{ 0xe2, PACKET_PARSER_EXSTOP, 2, 0, true },
	{ 0xc2, PACKET_PARSER_MWAIT, 2, 8, false },
	{ 0x22, PACKET_PARSER_PWRE, 2, 2, false },
	{ 0xa2, PACKET_PARSER_PWRX, 2, 5, false },
	{ 0x13, PACKET_PARSER_CFE, 2, 2, false },
	{ 0x53, PACKET_PARSER_EVD, 3, 8, false },
	{ 0x63, PACKET_PARSER_BBP, 2, 1, false },
	{ 0x33, PACKET_PARSER_BEP, 2, 0, false },
	{ 0xb3, PACKET_PARSER_BEP, 2, 0, true },
};

const uint8_t packet_parser_ip_bytes[8] = { 0, 2, 4, 6, 6, 9, 8, 9 };

const uint8_t packet_parser_ip_kinds[32] = {
	[0x01] = PACKET_PARSER_PGD,
	[0x0d] = PACKET_PARSER_TIP,
	[0x11] = PACKET_PARSER_PGE,
	[0x1d] = PACKET_PARSER_FUP,
};

static const uint8_t packet_parser_psb[PACKET_PARSER_PSB_BYTES] = { 0x02, 0x82,
	0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
	0x02, 0x82 };

void
packet_parser_begin(struct packet_parser *parser, const uint8_t *bytes,
    uint64_t count, uint64_t offset)
{
	TZ_ASSERT(offset <= count);
	*parser = (struct packet_parser){
		.bytes = bytes, .count = count, .offset = offset
	};
}

uint64_t
packet_parser_find_psb(const uint8_t *bytes, uint64_t count, uint64_t from)
{
	while (from < count) {
		const uint8_t *found = memmem(bytes + from,
		    (size_t)(count - from), packet_parser_psb,
		    PACKET_PARSER_PSB_BYTES);

		if (found == NULL)
			return count;
		return (uint64_t)(found - bytes);
	}
	return count;
}

/* BYTES bytes at AT, least significant first. */
static uint64_t
packet_parser_value(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

/* The same for an IP, or with more than BYTES where there are 8 of them. */
static uint64_t
packet_parser_ip_value(const uint8_t *at, unsigned bytes, uint64_t left)
{
	uint64_t whole;

	if (left < sizeof(whole))
		return packet_parser_value(at, bytes);
	memcpy(&whole, at, sizeof(whole));
	return le64toh(whole);
}

/* Makes PACKET one of BYTES bytes, if there are so many. */
static bool
packet_parser_take(struct packet_parser *parser,
    struct packet_parser_packet *packet, enum packet_parser_kind kind,
    unsigned bytes)
{
	if (parser->count - parser->offset < bytes) {
		packet->kind = PACKET_PARSER_CUT;
		return false;
	}
	packet->kind = kind;
	packet->bytes = (uint8_t)bytes;
	parser->offset += bytes;
	return true;
}

static bool
packet_parser_ip(struct packet_parser *parser,
    struct packet_parser_packet *packet, enum packet_parser_kind kind)
{
	const uint8_t *at = parser->bytes + parser->offset;
	unsigned form = at[0] >> 5;
	unsigned bytes = packet_parser_ip_bytes[form];

	if (bytes > 8) {
		packet->kind = PACKET_PARSER_BAD;
		return false;
	}
	if (!packet_parser_take(parser, packet, kind, 1 + bytes))
		return false;
	packet->bits = (uint8_t)form;
	packet->with_ip = form != 0;
	if (form != 0)
		parser->last_ip = packet_parser_ip_after(parser->last_ip,
		    packet_parser_ip_value(
			at + 1, bytes, parser->count - packet->offset - 1),
		    form);
	packet->value = parser->last_ip;
	return true;
}

/* Outcomes of a TNT payload: what stands below its highest bit. */
static void
packet_parser_tnt(struct packet_parser_packet *packet, uint64_t payload)
{
	unsigned stop = 63u - (unsigned)__builtin_clzll(payload | 1);

	packet->bits = (uint8_t)stop;
	packet->value = payload & (TZ_BIT(stop) - 1);
	if (stop == 0)
		packet->kind = PACKET_PARSER_BAD;
}

static bool
packet_parser_two(
    struct packet_parser *parser, struct packet_parser_packet *packet)
{
	const uint8_t *at = parser->bytes + parser->offset;
	uint64_t left = parser->count - parser->offset;

	packet->kind = PACKET_PARSER_BAD;
	if (left < 2) {
		packet->kind = PACKET_PARSER_CUT;
		return false;
	}
	if (at[1] == 0x82) {
		uint64_t known = left < PACKET_PARSER_PSB_BYTES
		    ? left
		    : PACKET_PARSER_PSB_BYTES;

		if (memcmp(at, packet_parser_psb, (size_t)known) != 0)
			return false;
		if (!packet_parser_take(parser, packet, PACKET_PARSER_PSB,
			PACKET_PARSER_PSB_BYTES))
			return false;
		parser->last_ip = 0;
		parser->in_block = false;
		return true;
	}
	if (at[1] == 0xf3)
		parser->in_block = false;
	for (size_t i = 0; i < TZ_ARRAY_LEN(packet_parser_extended); i++) {
		const struct packet_parser_extended *row =
		    &packet_parser_extended[i];

		if (row->opcode != at[1])
			continue;
		if (row->kind == PACKET_PARSER_MNT && left >= 3 &&
		    at[2] != 0x88)
			return false;
		if (!packet_parser_take(parser, packet,
			(enum packet_parser_kind)row->kind,
			(unsigned)row->header_bytes + row->payload_bytes))
			return false;
		packet->value = packet_parser_value(
		    at + row->header_bytes, row->payload_bytes);
		packet->with_ip = row->with_ip;
		if (row->kind == PACKET_PARSER_CFE)
			packet->with_ip = (packet->value & 0x80) != 0;
		if (row->kind == PACKET_PARSER_TNT)
			packet_parser_tnt(packet, packet->value);
		if (row->kind == PACKET_PARSER_EVD) {
			packet->extra = packet->value;
			packet->value = at[2];
		}
		if (row->kind == PACKET_PARSER_BBP ||
		    row->kind == PACKET_PARSER_BEP)
			parser->in_block = row->kind == PACKET_PARSER_BBP;
		parser->narrow = parser->in_block &&
		    (packet->value & 0x80) != 0;
		return packet->kind != PACKET_PARSER_BAD;
	}
	return false;
}

/* SDM vol. 3, 33.4.2.14 "Cycle Count (CYC) Packet". */
static bool
packet_parser_cyc(
    struct packet_parser *parser, struct packet_parser_packet *packet)
{
	const uint8_t *at = parser->bytes + parser->offset;
	uint64_t left = parser->count - parser->offset;
	uint64_t value = at[0] >> 3;
	bool more = (at[0] & 4) != 0;
	unsigned bytes = 1, shift = 5;

	while (more) {
		if (bytes == left) {
			packet->kind = PACKET_PARSER_CUT;
			return false;
		}
		if (bytes > 15) {
			packet->kind = PACKET_PARSER_BAD;
			return false;
		}
		more = (at[bytes] & 1) != 0;
		if (shift < 64)
			value |= (uint64_t)(at[bytes] >> 1) << shift;
		shift += 7;
		bytes++;
	}
	packet->value = value;
	return packet_parser_take(parser, packet, PACKET_PARSER_CYC, bytes);
}

static bool
packet_parser_payload(struct packet_parser *parser,
    struct packet_parser_packet *packet, enum packet_parser_kind kind,
    unsigned bytes)
{
	const uint8_t *at = parser->bytes + parser->offset;

	if (!packet_parser_take(parser, packet, kind, 1 + bytes))
		return false;
	packet->value = packet_parser_value(at + 1, bytes);
	return true;
}

static bool
packet_parser_odd(struct packet_parser *parser,
    struct packet_parser_packet *packet, uint8_t first)
{
	if ((first & 3) == 3)
		return packet_parser_cyc(parser, packet);
	if (packet_parser_ip_kinds[first & 0x1f] != 0)
		return packet_parser_ip(parser, packet,
		    (enum packet_parser_kind)
			packet_parser_ip_kinds[first & 0x1f]);
	switch (first) {
	case 0x99:
		if (!packet_parser_payload(
			parser, packet, PACKET_PARSER_EXEC, 1))
			return false;
		if (packet->value >> 5 == 1)
			packet->kind = PACKET_PARSER_TSX;
		return true;
	case 0x19:
		return packet_parser_payload(
		    parser, packet, PACKET_PARSER_TSC, 7);
	case 0x59:
		return packet_parser_payload(
		    parser, packet, PACKET_PARSER_MTC, 1);
	default:
		packet->kind = PACKET_PARSER_BAD;
		return false;
	}
}

bool
packet_parser_any(
    struct packet_parser *parser, struct packet_parser_packet *packet)
{
	uint8_t first;

	packet->kind = PACKET_PARSER_CUT;
	packet->bytes = 0;
	packet->bits = 0;
	packet->with_ip = false;
	packet->offset = parser->offset;
	packet->value = 0;
	if (parser->offset >= parser->count)
		return false;
	first = parser->bytes[parser->offset];
	if (first & 1)
		return packet_parser_odd(parser, packet, first);
	if (first == 0)
		return packet_parser_take(parser, packet, PACKET_PARSER_PAD, 1);
	if (first == 2)
		return packet_parser_two(parser, packet);
	if (parser->in_block && (first & 7) == 4) {
		if (!packet_parser_payload(parser, packet, PACKET_PARSER_BIP,
			parser->narrow ? 4 : 8))
			return false;
		packet->bits = first >> 3;
		return true;
	}
	if (!packet_parser_take(parser, packet, PACKET_PARSER_TNT, 1))
		return false;
	packet_parser_tnt(packet, first >> 1);
	return true;
}

bool
packet_parser_next_event(
    struct packet_parser *parser, struct packet_parser_packet *packet)
{
	do {
		if (!packet_parser_next(parser, packet))
			return false;
	} while (packet->kind == PACKET_PARSER_PAD ||
	    packet->kind == PACKET_PARSER_CYC);
	return true;
}

bool
packet_parser_take_event(struct packet_parser *parser,
    enum packet_parser_kind kind, struct packet_parser_packet *packet)
{
	struct packet_parser behind = *parser;

	if (!packet_parser_next_event(&behind, packet) || packet->kind != kind)
		return false;
	*parser = behind;
	return true;
}
