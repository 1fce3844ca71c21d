/*
 * Blocks of instructions as Zydis sees them in the image: the check on libipt's
 * decoding, and where the last instruction of each may lead.  A block is walked
 * once; what was found is kept.
 */
#ifndef TOPAZ_TRACES_REENCODE_WALK_H
#define TOPAZ_TRACES_REENCODE_WALK_H

#include "traces/reencode/form.h"
#include "traces/reencode/pieces.h"

/*
 * Instructions from IP on, through direct jumps and calls: from its lowest bit, .rest is
 * how far the last of them is from the first (40 bits, signed), how many they are (16)
 * and the bits of the mode.
 */
struct walk_key {
	uint64_t ip, rest; /* .rest is 0 where there are none */
};

#define WALK_REACH_BITS 40
#define WALK_BITS_SHIFT 56

/* Small, since there are many and they are looked at often: see walk_kind() and so on. */
struct walk_block {
	struct walk_key key;
	/*
	 * Index of what came after it last, 0: nothing; [1]: right behind it in memory.
	 * Of a conditional branch: where it may lead, see walk_block().
	 */
	uint32_t next[2];
	int32_t distance; /* from behind the last instruction to its target */
	uint32_t last;    /* kind (4 bits), length (4); then for walk_calls() */
};

struct walk;

/* PIECES must outlive the result.  NULL: out of memory. */
struct walk *walk_create(const struct pieces *pieces);
void walk_destroy(struct walk *walk);

/* A block without instructions. */
struct walk_block *walk_none(struct walk *walk);

/*
 * The block that is WANTED, valid up to the next call that returns one; BEFORE is the
 * one before it, or walk_none() where it is not known to lead there: the two are linked,
 * and the link is trusted.  NULL where the image's instructions say otherwise: *TEXT says how
 * (static text), *AT where; BEFORE is then still valid.
 */
struct walk_block *walk_block(struct walk *walk, struct walk_block *before,
    const struct walk_key *wanted, const char **text, uint64_t *at);

/* The COUNT instructions from IP to END_IP; of those that are farther, no block. */
static inline struct walk_key
walk_key(uint64_t ip, uint64_t end_ip, uint16_t count, uint8_t bits)
{
	uint64_t reach = (end_ip - ip) & (TZ_BIT(WALK_REACH_BITS) - 1);

	return (struct walk_key){ .ip = ip,
		.rest = reach | (uint64_t)count << WALK_REACH_BITS |
		    (uint64_t)bits << WALK_BITS_SHIFT };
}

static inline uint16_t
walk_count(const struct walk_key *key)
{
	return (uint16_t)(key->rest >> WALK_REACH_BITS);
}

static inline uint8_t
walk_bits(const struct walk_key *key)
{
	return (uint8_t)(key->rest >> WALK_BITS_SHIFT);
}

/* Room in struct walk_block, .last, for walk_calls(). */
#define WALK_CALLS_SHIFT 8
#define WALK_CALLS_MAX   (UINT32_MAX >> WALK_CALLS_SHIFT)

/* What the last instruction of BLOCK is. */
static inline enum walk_kind
walk_kind(const struct walk_block *block)
{
	return (enum walk_kind)(block->last & 15);
}

/* Its address. */
static inline uint64_t
walk_end(const struct walk_key *key)
{
	return key->ip +
	    (uint64_t)((int64_t)(key->rest << (64 - WALK_REACH_BITS)) >>
		(64 - WALK_REACH_BITS));
}

/* The address after it. */
static inline uint64_t
walk_nlip(const struct walk_block *block)
{
	return walk_end(&block->key) + (block->last >> 4 & 15);
}

/* Where it leads, if it is COND (then if taken), JUMP or CALL. */
static inline uint64_t
walk_target(const struct walk_block *block)
{
	uint64_t target = walk_nlip(block) + (uint64_t)(int64_t)block->distance;

	return walk_bits(&block->key) == 32 ? target & UINT32_MAX : target;
}

/* Has it direct calls before that? */
static inline bool
walk_has_calls(const struct walk_block *block)
{
	return block->last >> WALK_CALLS_SHIFT != 0;
}

static inline bool
walk_is(const struct walk_block *block, const struct walk_key *wanted)
{
	return ((block->key.ip ^ wanted->ip) |
		   (block->key.rest ^ wanted->rest)) == 0;
}

/* The first member of struct walk: what walk_again() needs of it. */
struct walk_blocks {
	struct walk_block *block; /* [0] is none */
};

static inline struct walk_block *
walk_at(const struct walk *walk, uint32_t index)
{
	return &((const struct walk_blocks *)walk)->block[index];
}

/* The same as walk_block() where it came after BEFORE last, else NULL. */
static inline struct walk_block *
walk_again(const struct walk *walk, const struct walk_block *before,
    const struct walk_key *wanted)
{
	bool behind = wanted->ip == walk_nlip(before);
	struct walk_block *block = walk_at(walk, before->next[behind]);

	return walk_is(block, wanted) ? block : NULL;
}

/* Are there as many bytes at VA as an instruction may have? */
bool walk_is_whole(const struct walk *walk, uint64_t va);

/* The addresses after BLOCK's direct calls before the last instruction, *COUNT. */
const uint64_t *walk_calls(
    const struct walk *walk, const struct walk_block *block, size_t *count);

/* Distinct blocks, and instructions in them. */
uint64_t walk_blocks(const struct walk *walk);
uint64_t walk_insns(const struct walk *walk);

#endif
