/*
 * Writes a trace as the processors of the captures do, without code of topaz: libipt's
 * encoder makes the packets; layout, IP compression and PSB counter are implemented here
 * again, in the simplest way.
 */
#ifndef TOPAZ_TESTS_UNIT_REENCODE_CAPTURED_H
#define TOPAZ_TESTS_UNIT_REENCODE_CAPTURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURED_BYTES_MAX   (1u << 20)
#define CAPTURED_PACKETS_MAX (1u << 18)

/* The program's address; the filter range, if any, is the 4 KiB from there on. */
#define CAPTURED_CODE    UINT64_C(0x400000)
#define CAPTURED_OUTSIDE UINT64_C(0x500000)

/* What differs between processors. */
struct captured_habit {
	bool fup_is_last; /* the FUP of a PSB+ is the last IP for later packets */
	bool compress;    /* RETs are compressed */
	unsigned lines,
	    in; /* the counter is checked IN times in LINES lines of 64 */
};

struct captured {
	struct captured_habit habit;
	bool code32, ranges, timed;
	uint8_t bytes[CAPTURED_BYTES_MAX];
	size_t count;
	/* Packets but PADs: the offset and enum pt_packet_type of each. */
	size_t packet[CAPTURED_PACKETS_MAX];
	int type[CAPTURED_PACKETS_MAX];
	size_t packets;
	bool close_word, mode_sent, last_valid;
	uint64_t last_ip;
	unsigned tnt, tnt_bits;
	/* The PSB counter: checked .looks times since offset .base, 0 at .zero. */
	uint64_t base, zero, looks;
	bool due;   /* a PSB is due, since the check at .due_at */
	bool holds; /* a PSB that is due may be sent later */
	size_t due_at;
	uint64_t ip; /* of the next instruction */
	uint64_t stack[64];
	unsigned depth, known; /* frames, and those since the last PSB */
	uint64_t seed, tsc;
	/* Conditional branches: the index of the TNT packet and the IP of each. */
	size_t cond_packet[CAPTURED_PACKETS_MAX];
	uint64_t cond_ip[CAPTURED_PACKETS_MAX];
	size_t conds;
};

struct captured *captured_create(
    const struct captured_habit *habit, uint64_t seed);

/* Sets TraceEn at .ip; EARLY: as with BDM70. */
void captured_enable(struct captured *captured, bool early);
/* Clears TraceEn at .ip. */
void captured_disable(struct captured *captured);

/* A jump leaves the range to CAPTURED_OUTSIDE; the range is entered at .ip. */
void captured_leave(struct captured *captured);
void captured_enter(struct captured *captured);

/* An interrupt at .ip, whose handler is not traced. */
void captured_interrupt(struct captured *captured);

/* Sends PSB+; FUP: with the FUP of .ip. */
void captured_psb(struct captured *captured, bool fup);

/*
 * Executes COUNT branches; sends PSBs that are due, later if .holds.  False: there is no
 * room for more packets.
 */
bool captured_walk(struct captured *captured, unsigned count);
/* Executes up to the indirect jump. */
void captured_walk_to_jump(struct captured *captured);

/* The program at CAPTURED_CODE, and its size. */
const uint8_t *captured_code(size_t *bytes);

#endif
