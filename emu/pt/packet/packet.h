/*
 * Encodes trace packets: values to bytes.  flow.c decides whether and when a packet
 * is due, ../output/layout.c where its bytes go.
 */
#ifndef TOPAZ_EMU_PT_PACKET_PACKET_H
#define TOPAZ_EMU_PT_PACKET_PACKET_H

#include "emu/base/base.h"

/* How a packet is placed in the 8-byte words of the output (../output/layout.c). */
enum layout_class {
	LAYOUT_SMALL, /* lies within one word */
	LAYOUT_WIDE,  /* its header ends a word, its payload starts the next */
	LAYOUT_WORD,  /* starts a word */
};

#define PACKET_BYTES_MAX 32

struct packet {
	enum layout_class place;
	bool cyc; /* a CYC packet may precede it */
	uint8_t header_bytes;
	uint8_t bytes; /* header and payload */
	uint8_t data[PACKET_BYTES_MAX];
};

/* Packets of fixed layout, one a row of packet.def. */
enum packet_kind {
#define PACKET(                                                          \
    name, opcode, opcode_bytes, repeat, payload_bytes, place, cyc, cite) \
 PACKET_##name,
#include "emu/pt/packet/packet.def"
#undef PACKET
	PACKET_KINDS
};

/* Their sizes: PACKET_OVF_BYTES and so on. */
enum {
#define PACKET(                                                          \
    name, opcode, opcode_bytes, repeat, payload_bytes, place, cyc, cite) \
 PACKET_##name##_BYTES = (opcode_bytes) * (repeat) + (payload_bytes),
#include "emu/pt/packet/packet.def"
#undef PACKET
};

/* SDM vol. 3, 33.4.2.2 "Target IP (TIP) Packet": bits 4:0 of the header. */
enum packet_ip_kind {
	PACKET_TIP_PGD = 0x01,
	PACKET_TIP = 0x0d,
	PACKET_TIP_PGE = 0x11,
	PACKET_FUP = 0x1d,
};

/* SDM vol. 3, table "FUP/TIP IP Reconstruction": the IPBytes field. */
enum packet_ip_bytes {
	PACKET_IP_NONE = 0,     /* suppressed */
	PACKET_IP_UPDATE16 = 1, /* 2 bytes */
	PACKET_IP_UPDATE32 = 2, /* 4 bytes */
	PACKET_IP_SEXT48 = 3,   /* 6 bytes, sign-extended */
	PACKET_IP_UPDATE48 = 4, /* 6 bytes */
	PACKET_IP_FULL = 6,     /* 8 bytes */
};

#define PACKET_TNT_BITS_MAX   6
#define PACKET_TNT64_BITS_MAX 47
#define PACKET_MODE_EXEC_CS_L TZ_BIT(0)
#define PACKET_MODE_EXEC_CS_D TZ_BIT(1)
#define PACKET_MODE_EXEC_IF   TZ_BIT(2) /* with Event Trace only */
#define PACKET_MODE_TSX       0x20      /* leaf ID 1 */
#define PACKET_MODE_TSX_IN    TZ_BIT(0)
#define PACKET_MODE_TSX_ABORT TZ_BIT(1)

/* SDM vol. 3, 33.4.2.29 "Control Flow Event (CFE) Packet": types. */
enum packet_cfe {
	CFE_NONE,
	CFE_INTR,
	CFE_IRET,
	CFE_SMI,
	CFE_RSM,
	CFE_SIPI,
	CFE_INIT,
	CFE_VMENTRY,
	CFE_VMEXIT,
	CFE_VMEXIT_INTR,
	CFE_SHUTDOWN,
};

/* SDM vol. 3, 33.4.2.30 "Event Data (EVD) Packet": types. */
enum packet_evd {
	EVD_CR2,
	EVD_EXIT_QUALIFICATION,
	EVD_EXIT_REASON,
};

/* A packet of fixed layout; PAYLOAD's excess bits must be 0. */
struct packet packet_fixed(enum packet_kind kind, uint64_t payload);

/*
 * A TNT from STACK: a stop bit, then 1 to 47 outcomes, oldest first (an empty STACK
 * would be 1).  Up to 6 outcomes make a short TNT.
 */
struct packet packet_tnt(uint64_t stack);

/* TIP, TIP.PGE, TIP.PGD or FUP with the part of IP that BYTES selects. */
struct packet packet_ip(
    enum packet_ip_kind kind, enum packet_ip_bytes bytes, uint64_t ip);

/* The most cycles that a CYC of one byte holds. */
#define PACKET_CYC_BYTE_MAX 31

/* The first byte of a CYC: 5 bits of the count, Exp if more follow, and the opcode. */
static inline uint8_t
packet_cyc_first(uint64_t cycles)
{
	return (uint8_t)((cycles & PACKET_CYC_BYTE_MAX) << 3 |
	    (uint64_t)(cycles > PACKET_CYC_BYTE_MAX) << 2 | 3);
}

/* A CYC of the shortest form that holds CYCLES. */
struct packet packet_cyc(uint64_t cycles);

/* An event data packet: type 0..63 and its 8 bytes of data. */
struct packet packet_evd(uint8_t type, uint64_t data);

/* A block item: identifier 0..31 and a payload of 4 or 8 bytes. */
struct packet packet_bip(uint8_t id, unsigned payload_bytes, uint64_t payload);

/* Makes PREFIX a part of MAIN's header: both are placed as one packet. */
struct packet packet_join(
    const struct packet *prefix, const struct packet *main);

struct pt_context;

/* The payload of MODE.Exec for the context AT and IA32_RTIT_CTL = CTL. */
uint8_t packet_exec_payload(uint64_t ctl, const struct pt_context *at);

/*
 * SDM vol. 3, 33.4.2.7 "Paging Information Packet (PIP)": CR3[51:5] above the
 * NonRoot bit.  Outside PAE paging CR3[11:5] is sent as 0.
 */
static inline uint64_t
packet_pip_payload(uint64_t cr3, bool non_root)
{
	return tz_bits(cr3, 51, 12) << 8 | non_root;
}

#endif
