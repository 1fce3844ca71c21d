#define _GNU_SOURCE /* memmem */

#include "traces/reencode/scan.h"

#include <endian.h>
#include <string.h>

#define SCAN_PSB_BYTES 16

/* Packets whose first byte is 02, by their second: a header and a payload. */
struct scan_extended {
	uint8_t opcode;
	uint8_t kind; /* enum scan_kind */
	uint8_t header_bytes;
	uint8_t payload_bytes;
	bool with_ip;
};

static const struct scan_extended scan_extended[] = {
	{ 0xa3, SCAN_TNT, 2, 6, false },
	{ 0x43, SCAN_PIP, 2, 6, false },
	{ 0x03, SCAN_CBR, 2, 2, false },
	{ 0x23, SCAN_PSBEND, 2, 0, false },
	{ 0xf3, SCAN_OVF, 2, 0, false },
	{ 0x83, SCAN_STOP, 2, 0, false },
	{ 0x73, SCAN_TMA, 2, 5, false },
	{ 0xc8, SCAN_VMCS, 2, 5, false },
	{ 0xc3, SCAN_MNT, 3, 8, false },
	{ 0x12, SCAN_PTW, 2, 4, false },
	{ 0x92, SCAN_PTW, 2, 4, true },
	{ 0x32, SCAN_PTW, 2, 8, false },
	{ 0xb2, SCAN_PTW, 2, 8, true },
	{ 0x62, SCAN_EXSTOP, 2, 0, false },
	{ 0xe2, SCAN_EXSTOP, 2, 0, true },
	{ 0xc2, SCAN_MWAIT, 2, 8, false },
	{ 0x22, SCAN_PWRE, 2, 2, false },
	{ 0xa2, SCAN_PWRX, 2, 5, false },
	{ 0x13, SCAN_CFE, 2, 2, false },
	{ 0x53, SCAN_EVD, 3, 8, false },
	{ 0x63, SCAN_BBP, 2, 1, false },
	{ 0x33, SCAN_BEP, 2, 0, false },
	{ 0xb3, SCAN_BEP, 2, 0, true },
};

const uint8_t scan_ip_bytes[8] = { 0, 2, 4, 6, 6, 9, 8, 9 };

const uint8_t scan_ip_kinds[32] = {
	[0x01] = SCAN_PGD,
	[0x0d] = SCAN_TIP,
	[0x11] = SCAN_PGE,
	[0x1d] = SCAN_FUP,
};

static const uint8_t scan_psb[SCAN_PSB_BYTES] = { 0x02, 0x82, 0x02, 0x82, 0x02,
	0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82 };

void
scan_begin(
    struct scan *scan, const uint8_t *bytes, uint64_t count, uint64_t offset)
{
	TZ_ASSERT(offset <= count);
	*scan =
	    (struct scan){ .bytes = bytes, .count = count, .offset = offset };
}

uint64_t
scan_find_psb(const uint8_t *bytes, uint64_t count, uint64_t from)
{
	while (from < count) {
		const uint8_t *found = memmem(bytes + from,
		    (size_t)(count - from), scan_psb, SCAN_PSB_BYTES);

		if (found == NULL)
			return count;
		return (uint64_t)(found - bytes);
	}
	return count;
}

/* BYTES bytes at AT, least significant first. */
static uint64_t
scan_value(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

/* The same for an IP, or with more than BYTES where there are 8 of them. */
static uint64_t
scan_ip_value(const uint8_t *at, unsigned bytes, uint64_t left)
{
	uint64_t whole;

	if (left < sizeof(whole))
		return scan_value(at, bytes);
	memcpy(&whole, at, sizeof(whole));
	return le64toh(whole);
}

/* Makes PACKET one of BYTES bytes, if there are so many. */
static bool
scan_take(struct scan *scan, struct scan_packet *packet, enum scan_kind kind,
    unsigned bytes)
{
	if (scan->count - scan->offset < bytes) {
		packet->kind = SCAN_CUT;
		return false;
	}
	packet->kind = kind;
	packet->bytes = (uint8_t)bytes;
	scan->offset += bytes;
	return true;
}

static bool
scan_ip(struct scan *scan, struct scan_packet *packet, enum scan_kind kind)
{
	const uint8_t *at = scan->bytes + scan->offset;
	unsigned form = at[0] >> 5;
	unsigned bytes = scan_ip_bytes[form];

	if (bytes > 8) {
		packet->kind = SCAN_BAD;
		return false;
	}
	if (!scan_take(scan, packet, kind, 1 + bytes))
		return false;
	packet->bits = (uint8_t)form;
	packet->with_ip = form != 0;
	if (form != 0)
		scan->last_ip = scan_ip_after(scan->last_ip,
		    scan_ip_value(
			at + 1, bytes, scan->count - packet->offset - 1),
		    form);
	packet->value = scan->last_ip;
	return true;
}

/* Outcomes of a TNT payload: what stands below its highest bit. */
static void
scan_tnt(struct scan_packet *packet, uint64_t payload)
{
	unsigned stop = 63u - (unsigned)__builtin_clzll(payload | 1);

	packet->bits = (uint8_t)stop;
	packet->value = payload & (TZ_BIT(stop) - 1);
	if (stop == 0)
		packet->kind = SCAN_BAD;
}

static bool
scan_two(struct scan *scan, struct scan_packet *packet)
{
	const uint8_t *at = scan->bytes + scan->offset;
	uint64_t left = scan->count - scan->offset;

	packet->kind = SCAN_BAD;
	if (left < 2) {
		packet->kind = SCAN_CUT;
		return false;
	}
	if (at[1] == 0x82) {
		uint64_t known = left < SCAN_PSB_BYTES ? left : SCAN_PSB_BYTES;

		if (memcmp(at, scan_psb, (size_t)known) != 0)
			return false;
		if (!scan_take(scan, packet, SCAN_PSB, SCAN_PSB_BYTES))
			return false;
		scan->last_ip = 0;
		scan->in_block = false;
		return true;
	}
	if (at[1] == 0xf3)
		scan->in_block = false;
	for (size_t i = 0; i < TZ_ARRAY_LEN(scan_extended); i++) {
		const struct scan_extended *row = &scan_extended[i];

		if (row->opcode != at[1])
			continue;
		if (row->kind == SCAN_MNT && left >= 3 && at[2] != 0x88)
			return false;
		if (!scan_take(scan, packet, (enum scan_kind)row->kind,
			(unsigned)row->header_bytes + row->payload_bytes))
			return false;
		packet->value = scan_value(
		    at + row->header_bytes, row->payload_bytes);
		packet->with_ip = row->with_ip;
		if (row->kind == SCAN_CFE)
			packet->with_ip = (packet->value & 0x80) != 0;
		if (row->kind == SCAN_TNT)
			scan_tnt(packet, packet->value);
		if (row->kind == SCAN_EVD) {
			packet->extra = packet->value;
			packet->value = at[2];
		}
		if (row->kind == SCAN_BBP || row->kind == SCAN_BEP)
			scan->in_block = row->kind == SCAN_BBP;
		scan->narrow = scan->in_block && (packet->value & 0x80) != 0;
		return packet->kind != SCAN_BAD;
	}
	return false;
}

/* SDM vol. 3, 33.4.2.14 "Cycle Count (CYC) Packet". */
static bool
scan_cyc(struct scan *scan, struct scan_packet *packet)
{
	const uint8_t *at = scan->bytes + scan->offset;
	uint64_t left = scan->count - scan->offset;
	uint64_t value = at[0] >> 3;
	bool more = (at[0] & 4) != 0;
	unsigned bytes = 1, shift = 5;

	while (more) {
		if (bytes == left) {
			packet->kind = SCAN_CUT;
			return false;
		}
		if (bytes > 15) {
			packet->kind = SCAN_BAD;
			return false;
		}
		more = (at[bytes] & 1) != 0;
		if (shift < 64)
			value |= (uint64_t)(at[bytes] >> 1) << shift;
		shift += 7;
		bytes++;
	}
	packet->value = value;
	return scan_take(scan, packet, SCAN_CYC, bytes);
}

static bool
scan_payload(struct scan *scan, struct scan_packet *packet, enum scan_kind kind,
    unsigned bytes)
{
	const uint8_t *at = scan->bytes + scan->offset;

	if (!scan_take(scan, packet, kind, 1 + bytes))
		return false;
	packet->value = scan_value(at + 1, bytes);
	return true;
}

static bool
scan_odd(struct scan *scan, struct scan_packet *packet, uint8_t first)
{
	if ((first & 3) == 3)
		return scan_cyc(scan, packet);
	if (scan_ip_kinds[first & 0x1f] != 0)
		return scan_ip(
		    scan, packet, (enum scan_kind)scan_ip_kinds[first & 0x1f]);
	switch (first) {
	case 0x99:
		if (!scan_payload(scan, packet, SCAN_EXEC, 1))
			return false;
		if (packet->value >> 5 == 1)
			packet->kind = SCAN_TSX;
		return true;
	case 0x19:
		return scan_payload(scan, packet, SCAN_TSC, 7);
	case 0x59:
		return scan_payload(scan, packet, SCAN_MTC, 1);
	default:
		packet->kind = SCAN_BAD;
		return false;
	}
}

bool
scan_any(struct scan *scan, struct scan_packet *packet)
{
	uint8_t first;

	packet->kind = SCAN_CUT;
	packet->bytes = 0;
	packet->bits = 0;
	packet->with_ip = false;
	packet->offset = scan->offset;
	packet->value = 0;
	if (scan->offset >= scan->count)
		return false;
	first = scan->bytes[scan->offset];
	if (first & 1)
		return scan_odd(scan, packet, first);
	if (first == 0)
		return scan_take(scan, packet, SCAN_PAD, 1);
	if (first == 2)
		return scan_two(scan, packet);
	if (scan->in_block && (first & 7) == 4) {
		if (!scan_payload(scan, packet, SCAN_BIP, scan->narrow ? 4 : 8))
			return false;
		packet->bits = first >> 3;
		return true;
	}
	if (!scan_take(scan, packet, SCAN_TNT, 1))
		return false;
	scan_tnt(packet, first >> 1);
	return true;
}

bool
scan_next_event(struct scan *scan, struct scan_packet *packet)
{
	do {
		if (!scan_next(scan, packet))
			return false;
	} while (packet->kind == SCAN_PAD || packet->kind == SCAN_CYC);
	return true;
}

bool
scan_take_event(
    struct scan *scan, enum scan_kind kind, struct scan_packet *packet)
{
	struct scan behind = *scan;

	if (!scan_next_event(&behind, packet) || packet->kind != kind)
		return false;
	*scan = behind;
	return true;
}
