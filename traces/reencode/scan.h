/*
 * Packets of a trace, one after another, with their IPs and payloads as values.
 * A reader of its own: libipt's packet decoder neither keeps the last IP nor is
 * it fast enough to be run beside libipt's block decoder.
 *
 * Source: SDM vol. 3, 33.4.2 "Packet Definitions".
 */
#ifndef TOPAZ_TRACES_REENCODE_SCAN_H
#define TOPAZ_TRACES_REENCODE_SCAN_H

#include "emu/base/base.h"

enum scan_kind {
	SCAN_PAD,
	SCAN_TNT,
	SCAN_TIP,
	SCAN_PGE,
	SCAN_PGD,
	SCAN_FUP,
	SCAN_EXEC, /* MODE.Exec */
	SCAN_TSX,  /* MODE.TSX */
	SCAN_PIP,
	SCAN_VMCS,
	SCAN_CBR,
	SCAN_TSC,
	SCAN_TMA,
	SCAN_MTC,
	SCAN_CYC,
	SCAN_PSB,
	SCAN_PSBEND,
	SCAN_OVF,
	SCAN_STOP,
	SCAN_MNT,
	SCAN_PTW,
	SCAN_EXSTOP,
	SCAN_MWAIT,
	SCAN_PWRE,
	SCAN_PWRX,
	SCAN_CFE,
	SCAN_EVD,
	SCAN_BBP,
	SCAN_BIP,
	SCAN_BEP,
	SCAN_BAD, /* no packet: a byte that starts none */
	SCAN_CUT, /* the bytes end within it */
	SCAN_KINDS
};

struct scan_packet {
	enum scan_kind kind;
	uint8_t bytes;   /* in the trace; 0 for BAD and CUT */
	uint8_t bits;    /* TNT: outcomes; IP packets: IPBytes; BIP: its ID */
	bool with_ip;    /* IP packets: it has one; PTW ...: a FUP follows */
	uint64_t offset; /* in the bytes */
	uint64_t value; /* the IP, expanded; else the payload, 8 bytes at most */
	uint64_t extra; /* EVD: its data; .value is the type */
};

struct scan {
	const uint8_t *bytes;
	uint64_t count;
	uint64_t offset; /* of the next packet */
	uint64_t last_ip;
	bool in_block; /* between BBP and BEP */
	bool narrow;   /* and BIPs are of 4 bytes */
};

/* Starts at OFFSET, which is where a packet begins. */
void scan_begin(
    struct scan *scan, const uint8_t *bytes, uint64_t count, uint64_t offset);

/* The next packet, whatever it is.  False: there are no more bytes, BAD or CUT. */
bool scan_any(struct scan *scan, struct scan_packet *packet);

/* Goes past the PADs at SCAN's place. */
static inline void
scan_skip_pads(struct scan *scan)
{
	while (scan->offset < scan->count && scan->bytes[scan->offset] == 0)
		scan->offset++;
}

/* First byte of a CYC of one byte. */
#define SCAN_CYC_MASK   0x07
#define SCAN_CYC_OPCODE 0x03

/* The next packet; most are CYC or TNT of one byte.  False: as scan_any(). */
static inline bool
scan_next(struct scan *scan, struct scan_packet *packet)
{
	uint8_t first = scan->offset < scan->count ? scan->bytes[scan->offset]
						   : 0;
	bool cyc = (first & SCAN_CYC_MASK) == SCAN_CYC_OPCODE;
	unsigned stop;

	if (!cyc && (first < 4 || (first & 1) != 0 || scan->in_block))
		return scan_any(scan, packet);
	stop = cyc ? 0 : 30u - (unsigned)__builtin_clz(first);
	*packet = (struct scan_packet){ .kind = cyc ? SCAN_CYC : SCAN_TNT,
		.bytes = 1,
		.bits = (uint8_t)stop,
		.offset = scan->offset++,
		.value = cyc ? first >> 3 : first >> 1 & ((1u << stop) - 1) };
	return true;
}

/* The next packet that is neither PAD nor CYC. */
bool scan_next_event(struct scan *scan, struct scan_packet *packet);

/* Goes past a packet of KIND if that is the next one of these. */
bool scan_take_event(
    struct scan *scan, enum scan_kind kind, struct scan_packet *packet);

/* Payload of MODE.TSX: SDM vol. 3, 33.4.2.8 "MODE Packets". */
#define SCAN_TSX_IN    TZ_BIT(0)
#define SCAN_TSX_ABORT TZ_BIT(1)

/* Bytes of an IP, by IPBytes; more than 8: reserved. */
extern const uint8_t scan_ip_bytes[8];
/* What may have an IP, by the lower 5 bits of its first byte; else SCAN_PAD. */
extern const uint8_t scan_ip_kinds[32];

/*
 * The IP behind LAST of which WHOLE has the lowest bytes, by IPBytes FORM, not 0: SDM
 * vol. 3, 33.4.2.2, table "FUP/TIP IP Reconstruction".
 */
static inline uint64_t
scan_ip_after(uint64_t last, uint64_t whole, unsigned form)
{
	uint64_t mask = ~UINT64_C(0) >> (64 - 8 * scan_ip_bytes[form]);

	return form == 3 ? (uint64_t)((int64_t)(whole << 16) >> 16)
			 : (last & ~mask) | (whole & mask);
}

/* Offset of the first PSB at or after FROM; COUNT if there is none. */
uint64_t scan_find_psb(const uint8_t *bytes, uint64_t count, uint64_t from);

#endif
