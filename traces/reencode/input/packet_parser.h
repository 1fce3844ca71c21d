/*
 * Packets of a trace, one after another, with their IPs and payloads as values.
 * A reader of its own: libipt's packet decoder neither keeps the last IP nor is
 * it fast enough to be run beside libipt's block decoder.
 *
 * Source: SDM vol. 3, 33.4.2 "Packet Definitions".
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_PACKET_PARSER_H
#define TOPAZ_TRACES_REENCODE_INPUT_PACKET_PARSER_H

#include "emu/base/base.h"

enum packet_parser_kind {
	PACKET_PARSER_PAD,
	PACKET_PARSER_TNT,
	PACKET_PARSER_TIP,
	PACKET_PARSER_PGE,
	PACKET_PARSER_PGD,
	PACKET_PARSER_FUP,
	PACKET_PARSER_EXEC, /* MODE.Exec */
	PACKET_PARSER_TSX,  /* MODE.TSX */
	PACKET_PARSER_PIP,
	PACKET_PARSER_VMCS,
	PACKET_PARSER_CBR,
	PACKET_PARSER_TSC,
	PACKET_PARSER_TMA,
	PACKET_PARSER_MTC,
	PACKET_PARSER_CYC,
	PACKET_PARSER_PSB,
	PACKET_PARSER_PSBEND,
	PACKET_PARSER_OVF,
	PACKET_PARSER_STOP,
	PACKET_PARSER_MNT,
	PACKET_PARSER_PTW,
	PACKET_PARSER_EXSTOP,
	PACKET_PARSER_MWAIT,
	PACKET_PARSER_PWRE,
	PACKET_PARSER_PWRX,
	PACKET_PARSER_CFE,
	PACKET_PARSER_EVD,
	PACKET_PARSER_BBP,
	PACKET_PARSER_BIP,
	PACKET_PARSER_BEP,
	PACKET_PARSER_BAD, /* no packet: a byte that starts none */
	PACKET_PARSER_CUT, /* the bytes end within it */
	PACKET_PARSER_KINDS
};

struct packet_parser_packet {
	enum packet_parser_kind kind;
	uint8_t bytes;   /* in the trace; 0 for BAD and CUT */
	uint8_t bits;    /* TNT: outcomes; IP packets: IPBytes; BIP: its ID */
	bool with_ip;    /* IP packets: it has one; PTW ...: a FUP follows */
	uint64_t offset; /* in the bytes */
	uint64_t value; /* the IP, expanded; else the payload, 8 bytes at most */
	uint64_t extra; /* EVD: its data; .value is the type */
};

struct packet_parser {
	const uint8_t *bytes;
	uint64_t count;
	uint64_t offset; /* of the next packet */
	uint64_t last_ip;
	bool in_block; /* between BBP and BEP */
	bool narrow;   /* and BIPs are of 4 bytes */
};

/* Starts at OFFSET, which is where a packet begins. */
void packet_parser_begin(struct packet_parser *parser, const uint8_t *bytes,
    uint64_t count, uint64_t offset);

/* The next packet, whatever it is.  False: there are no more bytes, BAD or CUT. */
bool packet_parser_any(
    struct packet_parser *parser, struct packet_parser_packet *packet);

/* Goes past the PADs at SCAN's place. */
static inline void
packet_parser_skip_pads(struct packet_parser *parser)
{
	while (parser->offset < parser->count &&
	    parser->bytes[parser->offset] == 0)
		parser->offset++;
}

/* First byte of a CYC of one byte. */
#define PACKET_PARSER_CYC_MASK   0x07
#define PACKET_PARSER_CYC_OPCODE 0x03

/* The next packet; most are CYC or TNT of one byte.  False: as packet_parser_any(). */
static inline bool
packet_parser_next(
    struct packet_parser *parser, struct packet_parser_packet *packet)
{
	uint8_t first = parser->offset < parser->count
	    ? parser->bytes[parser->offset]
	    : 0;
	bool cyc = (first & PACKET_PARSER_CYC_MASK) == PACKET_PARSER_CYC_OPCODE;
	unsigned stop;

	if (!cyc && (first < 4 || (first & 1) != 0 || parser->in_block))
		return packet_parser_any(parser, packet);
	stop = cyc ? 0 : 30u - (unsigned)__builtin_clz(first);
	*packet = (struct packet_parser_packet){
		.kind = cyc ? PACKET_PARSER_CYC : PACKET_PARSER_TNT,
		.bytes = 1,
		.bits = (uint8_t)stop,
		.offset = parser->offset++,
		.value = cyc ? first >> 3 : first >> 1 & ((1u << stop) - 1)
	};
	return true;
}

/* The next packet that is neither PAD nor CYC. */
bool packet_parser_next_event(
    struct packet_parser *parser, struct packet_parser_packet *packet);

/* Goes past a packet of KIND if that is the next one of these. */
bool packet_parser_take_event(struct packet_parser *parser,
    enum packet_parser_kind kind, struct packet_parser_packet *packet);

/* Payload of MODE.TSX: SDM vol. 3, 33.4.2.8 "MODE Packets". */
#define PACKET_PARSER_TSX_IN    TZ_BIT(0)
#define PACKET_PARSER_TSX_ABORT TZ_BIT(1)

/* Bytes of an IP, by IPBytes; more than 8: reserved. */
extern const uint8_t packet_parser_ip_bytes[8];
/* What may have an IP, by the lower 5 bits of its first byte; else PACKET_PARSER_PAD. */
extern const uint8_t packet_parser_ip_kinds[32];

/*
 * The IP behind LAST of which WHOLE has the lowest bytes, by IPBytes FORM, not 0: SDM
 * vol. 3, 33.4.2.2, table "FUP/TIP IP Reconstruction".
 */
static inline uint64_t
packet_parser_ip_after(uint64_t last, uint64_t whole, unsigned form)
{
	uint64_t mask = ~UINT64_C(0) >> (64 - 8 * packet_parser_ip_bytes[form]);

	return form == 3 ? (uint64_t)((int64_t)(whole << 16) >> 16)
			 : (last & ~mask) | (whole & mask);
}

/* Offset of the first PSB at or after FROM; COUNT if there is none. */
uint64_t packet_parser_find_psb(
    const uint8_t *bytes, uint64_t count, uint64_t from);

#endif
