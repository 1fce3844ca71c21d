#include "emu/pt/packet/packet.h"

#include "emu/base/rtit.h"
#include "emu/pt/unit.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

struct packet_layout {
	uint32_t opcode;
	uint8_t opcode_bytes;
	uint8_t repeat;
	uint8_t payload_bytes;
	uint8_t place;
	uint8_t cyc;
};

static const struct packet_layout packet_layouts[] = {
#define PACKET(                                                          \
    name, opcode, opcode_bytes, repeat, payload_bytes, place, cyc, cite) \
 { opcode, opcode_bytes, repeat, payload_bytes, place, cyc },
#include "emu/pt/packet/packet.def"
#undef PACKET
};

static_assert(
    TZ_ARRAY_LEN(packet_layouts) == PACKET_KINDS, "one layout a packet kind");

/*
 * Appends the low BYTES bytes of VALUE, least significant first.  May overwrite
 * .data beyond them, which is not part of the packet.
 */
static inline void
packet_append(struct packet *packet, uint64_t value, unsigned bytes)
{
	TZ_ASSERT(bytes <= sizeof(value));
	TZ_ASSERT(packet->bytes + sizeof(value) <= PACKET_BYTES_MAX);
	value = htole64(value);
	memcpy(packet->data + packet->bytes, &value, sizeof(value));
	packet->bytes = (uint8_t)(packet->bytes + bytes);
}

struct packet
packet_fixed(enum packet_kind kind, uint64_t payload)
{
	struct packet packet = { 0 };
	const struct packet_layout *layout;

	TZ_ASSERT(kind < PACKET_KINDS);
	layout = &packet_layouts[kind];
	TZ_ASSERT(layout->payload_bytes >= 8 ||
	    payload >> (8 * layout->payload_bytes) == 0);
	packet.place = (enum layout_class)layout->place;
	packet.cyc = layout->cyc;
	for (unsigned i = 0; i < layout->repeat; i++)
		packet_append(&packet, layout->opcode, layout->opcode_bytes);
	packet.header_bytes = packet.bytes;
	packet_append(&packet, payload, layout->payload_bytes);
	return packet;
}

struct packet
packet_tnt(uint64_t stack)
{
	struct packet packet = { .place = LAYOUT_SMALL, .header_bytes = 1 };

	/* SDM vol. 3, 33.4.2.1 "Taken/Not-taken (TNT) Packet": bit 0 is 0. */
	TZ_ASSERT(stack > 1);
	TZ_ASSERT(stack >> (PACKET_TNT64_BITS_MAX + 1) == 0);
	if (stack >> (PACKET_TNT_BITS_MAX + 1) == 0) {
		packet_append(&packet, stack << 1, 1);
		return packet;
	}
	/* The long TNT: "TNT Packet Definition".  Model choice: it is small. */
	packet_append(&packet, 0xa302, 2);
	packet.header_bytes = packet.bytes;
	packet_append(&packet, stack, 6);
	return packet;
}

struct packet
packet_ip(enum packet_ip_kind kind, enum packet_ip_bytes bytes, uint64_t ip)
{
	static const uint8_t payload_bytes[8] = { 0, 2, 4, 6, 6, 0, 8, 0 };
	struct packet packet = { 0 };

	TZ_ASSERT(bytes <= PACKET_IP_UPDATE48 || bytes == PACKET_IP_FULL);
	TZ_ASSERT(bytes != PACKET_IP_SEXT48 || tz_is_canonical(ip));
	packet_append(&packet, (uint64_t)bytes << 5 | (uint64_t)kind, 1);
	packet.header_bytes = 1;
	packet_append(&packet, ip, payload_bytes[bytes]);
	packet.place = payload_bytes[bytes] > 4 ? LAYOUT_WIDE : LAYOUT_SMALL;
	packet.cyc = kind != PACKET_FUP;
	return packet;
}

struct packet
packet_cyc(uint64_t cycles)
{
	struct packet packet = { .place = LAYOUT_SMALL };
	uint64_t rest = cycles >> 5;

	/* SDM vol. 3, 33.4.2.14 "Cycle Count (CYC) Packet": 5 bits, then 7s. */
	packet_append(&packet, packet_cyc_first(cycles), 1);
	while (rest != 0) {
		uint64_t low = rest & 0x7f;

		rest >>= 7;
		packet_append(&packet, low << 1 | (rest != 0), 1);
	}
	packet.header_bytes = packet.bytes;
	TZ_ASSERT(packet.bytes >= 1);
	TZ_ASSERT(packet.bytes <= 10);
	return packet;
}

struct packet
packet_evd(uint8_t type, uint64_t data)
{
	struct packet packet = { .place = LAYOUT_SMALL };

	/* SDM vol. 3, 33.4.2.30 "Event Data (EVD) Packet". */
	TZ_ASSERT(type < 64);
	packet.cyc = true;
	packet_append(&packet, 0x5302, 2);
	packet_append(&packet, type, 1);
	packet.header_bytes = packet.bytes;
	packet_append(&packet, data, 8);
	TZ_ASSERT(packet.bytes == 11);
	return packet;
}

struct packet
packet_bip(uint8_t id, unsigned payload_bytes, uint64_t payload)
{
	struct packet packet = { .place = LAYOUT_SMALL, .header_bytes = 1 };

	/* SDM vol. 3, 33.4.2.27 "Block Item Packet (BIP)". */
	TZ_ASSERT(id < 32);
	TZ_ASSERT(payload_bytes == 4 || payload_bytes == 8);
	packet_append(&packet, (uint64_t)id << 3 | 4, 1);
	packet_append(&packet, payload, payload_bytes);
	return packet;
}

struct packet
packet_join(const struct packet *prefix, const struct packet *main)
{
	struct packet packet = *prefix;

	TZ_ASSERT(main->place == LAYOUT_WIDE || main->place == LAYOUT_WORD);
	TZ_ASSERT(prefix->bytes + main->bytes <= PACKET_BYTES_MAX);
	memcpy(packet.data + prefix->bytes, main->data, main->bytes);
	packet.place = LAYOUT_WIDE;
	packet.cyc |= main->cyc;
	packet.header_bytes = (uint8_t)(prefix->bytes + main->header_bytes);
	packet.bytes = (uint8_t)(prefix->bytes + main->bytes);
	return packet;
}

uint8_t
packet_exec_payload(uint64_t ctl, const struct pt_context *at)
{
	/* SDM vol. 3, 33.2.4 "Event Trace": the IF bit is 0 without it. */
	uint8_t flag = (ctl & CTL_EVENT_EN) != 0 && at->if_flag
	    ? PACKET_MODE_EXEC_IF
	    : 0;

	/* SDM vol. 3, 33.4.2.8 "MODE Packets": with CS.L, CS.D reads as 0. */
	if (at->cs_l)
		return PACKET_MODE_EXEC_CS_L | flag;
	return (at->cs_d ? PACKET_MODE_EXEC_CS_D : 0) | flag;
}
