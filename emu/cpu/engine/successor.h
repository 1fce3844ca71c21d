/*
 * A successor is a cached exit of a block: the block that followed, the number of
 * instructions retired, and what to report to the PT unit, in a form that needs no
 * decision.  A block has two; those of returns and indirect branches beyond these are in
 * a table of all blocks, where a later one may take their place.
 */
#ifndef TOPAZ_EMU_CPU_ENGINE_SUCCESSOR_H
#define TOPAZ_EMU_CPU_ENGINE_SUCCESSOR_H

#include "emu/base/base.h"

struct block;

enum successor_kind {
	EDGE_BIT,      /* nothing, or one TNT bit: see .shift, .bit */
	EDGE_CALL,     /* near direct CALL */
	EDGE_CALL_TIP, /* near indirect CALL */
	EDGE_RET,
	EDGE_TIP, /* near indirect JMP */
};

struct successor {
	uint64_t key; /* successor_key() of .to, or EDGE_UNUSED */
	struct block *to;
	uint16_t insns;      /* retired when this exit is taken */
	uint16_t need;       /* .insns and the instructions of .to */
	uint16_t units;      /* the cost of .insns */
	uint16_t need_units; /* .units and the most that .to can cost */
	uint32_t word;       /* block.word of .to */
	uint8_t kind;
	uint8_t shift; /* EDGE_BIT: TNT bits, 0 or 1 */
	uint8_t bit;   /* EDGE_BIT: the bit; else EDGE_PACKET */
};

/* The stop bit of a full TNT: the successor generates a packet now. */
#define EDGE_PACKET 0x40

/*
 * Set in the key of a successor from or to code that the guest may write or that is
 * audited: that code is checked before the successor is followed.  No other key has
 * the same value, because bits 63:62 of successor_key() equal each other.
 */
#define EDGE_CHECKED TZ_BIT(63)

/* The key of no successor: no block has size 0. */
#define EDGE_UNUSED 0

/* One number for a stretch: bits 63:48 of a canonical address carry no information. */
static inline uint64_t
successor_key(uint64_t va, uint32_t size)
{
	return va ^ (uint64_t)size << 48;
}

/* Successors of indirect exits beyond the two of their block. */
#define FAR_SUCCESSORS 4096
struct far_successors {
	uint32_t generation; /* others are of blocks or code that may be gone */
	struct far_successor {
		const struct block *from;
		uint32_t generation;
		struct successor successor;
	} at[FAR_SUCCESSORS];
};

/* Where the successor with KEY of a block at VA is, if the table has it. */
static inline struct far_successor *
far_successor_at(struct far_successors *far, uint64_t va, uint64_t key)
{
	uint64_t hash = (key ^ va << 7) * UINT64_C(0x9e3779b97f4a7c15);

	return &far->at[hash >> 52];
}

#endif
