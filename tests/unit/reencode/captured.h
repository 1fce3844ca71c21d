/*
 * A trace as a processor writes it, by nothing of topaz: libipt's encoder makes the
 * packets, and the layout, IP compression and PSB counter of the captures are written
 * here a second time, slowly.
 */
#ifndef TOPAZ_TESTS_UNIT_REENCODE_CAPTURED_H
#define TOPAZ_TESTS_UNIT_REENCODE_CAPTURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURED_BYTES_MAX   (1u << 20)
#define CAPTURED_PACKETS_MAX (1u << 18)

/* Where the program lies, of which the range that is traced is 4 KiB. */
#define CAPTURED_CODE    UINT64_C(0x400000)
#define CAPTURED_OUTSIDE UINT64_C(0x500000)

/* Habits of the processor. */
struct captured_habit {
	bool fup_is_last; /* the FUP of a PSB+ is the last IP of what follows */
	bool compress;    /* RETs */
	unsigned lines, in; /* IN looks at the counter in LINES lines of 64 */
};

struct captured {
	struct captured_habit habit;
	bool code32, ranges, timed;
	uint8_t bytes[CAPTURED_BYTES_MAX];
	size_t count;
	size_t
	    packet[CAPTURED_PACKETS_MAX]; /* where each begins, PADs left out */
	int type[CAPTURED_PACKETS_MAX];   /* enum pt_packet_type */
	size_t packets;
	bool close_word, mode_sent, last_valid;
	uint64_t last_ip;
	unsigned tnt, tnt_bits;
	uint64_t base,
	    zero;        /* of the counter: where it is looked at from, and 0 */
	size_t due_at;   /* its look */
	uint64_t looks;  /* so often since .base */
	bool due, holds; /* a PSB; it may wait */
	uint64_t ip;     /* of the walk */
	uint64_t stack[64];
	unsigned depth, known; /* frames, and those since the last PSB */
	uint64_t seed, tsc;
	size_t cond_packet
	    [CAPTURED_PACKETS_MAX]; /* of each branch of the walk: its */
	uint64_t cond_ip[CAPTURED_PACKETS_MAX]; /* TNT, and where it is */
	size_t conds;
};

struct captured *captured_create(
    const struct captured_habit *habit, uint64_t seed);

/* TraceEn rises where the next instruction is at .ip; EARLY: as BDM70 shows. */
void captured_enable(struct captured *captured, bool early);
/* It falls there. */
void captured_disable(struct captured *captured);

/* The ranges are left by a jump to CAPTURED_OUTSIDE, and entered at .ip. */
void captured_leave(struct captured *captured);
void captured_enter(struct captured *captured);

/* An interrupt at .ip, of which nothing but its place is traced. */
void captured_interrupt(struct captured *captured);

/* PSB+; FUP: at .ip. */
void captured_psb(struct captured *captured, bool fup);

/* Walks COUNT branches on; sends PSBs that are due, later if .holds.  False: there is no room. */
bool captured_walk(struct captured *captured, unsigned count);
/* Walks up to the indirect jump. */
void captured_walk_to_jump(struct captured *captured);

/* The program, which lies at CAPTURED_CODE. */
const uint8_t *captured_code(size_t *bytes);

#endif
