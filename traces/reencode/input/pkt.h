/*
 * Reads the packets of a trace, one after another, with IPs and payloads as values.
 * libipt's packet decoder is not used: it does not expand IPs, and is too slow to run
 * beside its block decoder.
 *
 * Source: SDM vol. 3, 33.4.2 "Packet Definitions".
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_PKT_H
#define TOPAZ_TRACES_REENCODE_INPUT_PKT_H

#include "emu/base/base.h"

enum pkt_kind {
	PKT_PAD,
	PKT_TNT,
	PKT_TIP,
	PKT_PGE,
	PKT_PGD,
	PKT_FUP,
	PKT_EXEC, /* MODE.Exec */
	PKT_TSX,  /* MODE.TSX */
	PKT_PIP,
	PKT_VMCS,
	PKT_CBR,
	PKT_TSC,
	PKT_TMA,
	PKT_MTC,
	PKT_CYC,
	PKT_PSB,
	PKT_PSBEND,
	PKT_OVF,
	PKT_STOP,
	PKT_MNT,
	PKT_PTW,
	PKT_EXSTOP,
	PKT_MWAIT,
	PKT_PWRE,
	PKT_PWRX,
	PKT_CFE,
	PKT_EVD,
	PKT_BBP,
	PKT_BIP,
	PKT_BEP,
	PKT_BAD, /* a byte that starts no packet */
	PKT_CUT, /* the bytes end within a packet */
	PKT_KINDS
};

/* A set of them. */
#define PKT_BIT(kind) TZ_BIT(PKT_##kind)
/* Packets that may have an IP. */
#define PKT_IPS (PKT_BIT(TIP) | PKT_BIT(PGE) | PKT_BIT(PGD) | PKT_BIT(FUP))

struct pkt_kind_row {
	const char *name; /* as in the SDM: "TIP.PGE" */
	/* Where the unit (emu/pt) decides on it, and what says so. */
	const char *file, *citation;
};

/* The row of KIND. */
const struct pkt_kind_row *pkt_kind_row(enum pkt_kind kind);

struct pkt {
	enum pkt_kind kind;
	uint8_t bytes;   /* its size; 0 for BAD and CUT */
	uint8_t bits;    /* TNT: outcomes; IP packets: IPBytes; BIP: its ID */
	bool with_ip;    /* IP packets: it has an IP; PTW ...: a FUP follows */
	uint64_t offset; /* of its first byte */
	uint64_t value; /* the IP, expanded; else the payload, 8 bytes at most */
	uint64_t extra; /* EVD: its data; .value is the type */
};

/* Is PACKET of one of KINDS, a set? */
static inline bool
pkt_is(const struct pkt *packet, uint64_t kinds)
{
	return (kinds >> packet->kind & 1) != 0;
}

struct pkt_parser {
	const uint8_t *bytes;
	uint64_t count;
	uint64_t offset; /* of the next packet */
	uint64_t last_ip;
	bool in_psb;   /* between PSB and PSBEND or OVF */
	bool in_block; /* between BBP and BEP */
	bool narrow;   /* in a block: BIPs have 4 bytes, not 8 */
};

/* Starts at OFFSET, where a packet must begin. */
void pkt_begin(struct pkt_parser *parser, const uint8_t *bytes, uint64_t count,
    uint64_t offset);

/* The next packet, whatever it is.  False: there are no more bytes, BAD or CUT. */
bool pkt_any(struct pkt_parser *parser, struct pkt *packet);

/* Skips PADs. */
static inline void
pkt_skip_pads(struct pkt_parser *parser)
{
	while (parser->offset < parser->count &&
	    parser->bytes[parser->offset] == 0)
		parser->offset++;
}

/* First byte of a CYC of one byte. */
#define PKT_CYC_MASK   0x07
#define PKT_CYC_OPCODE 0x03

/* The next packet; most are CYC or TNT of one byte.  False: as pkt_any(). */
static inline bool
pkt_next(struct pkt_parser *parser, struct pkt *packet)
{
	uint8_t first = parser->offset < parser->count
	    ? parser->bytes[parser->offset]
	    : 0;
	bool cyc = (first & PKT_CYC_MASK) == PKT_CYC_OPCODE;
	unsigned stop;

	if (!cyc && (first < 4 || (first & 1) != 0 || parser->in_block))
		return pkt_any(parser, packet);
	stop = cyc ? 0 : 30u - (unsigned)__builtin_clz(first);
	*packet = (struct pkt){ .kind = cyc ? PKT_CYC : PKT_TNT,
		.bytes = 1,
		.bits = (uint8_t)stop,
		.offset = parser->offset++,
		.value = cyc ? first >> 3 : first >> 1 & ((1u << stop) - 1) };
	return true;
}

/* The next packet that is no PAD.  False: as pkt_any(), before there is one. */
static inline bool
pkt_next_full(struct pkt_parser *parser, struct pkt *packet)
{
	pkt_skip_pads(parser);
	return pkt_next(parser, packet);
}

/* The next packet of KINDS, a set.  False: as pkt_any(), before there is one. */
bool pkt_next_of(struct pkt_parser *parser, struct pkt *packet, uint64_t kinds);

/* The next packet that is neither PAD nor CYC.  False: as pkt_next_of(). */
bool pkt_next_event(struct pkt_parser *parser, struct pkt *packet);

/* Reads the next packet that is neither PAD nor CYC if it is of KIND; else false. */
bool pkt_take_event(
    struct pkt_parser *parser, enum pkt_kind kind, struct pkt *packet);

/* Offset of the first PSB at or after FROM; COUNT if there is none. */
uint64_t pkt_find_psb(const uint8_t *bytes, uint64_t count, uint64_t from);

/* Starts at the first PSB at or after FROM. */
void pkt_begin_psb(struct pkt_parser *parser, const uint8_t *bytes,
    uint64_t count, uint64_t from);

/* The next packet; at PKT_BAD, continues at the next PSB.  False: there are no more. */
bool pkt_next_good(struct pkt_parser *parser, struct pkt *packet);

#endif
