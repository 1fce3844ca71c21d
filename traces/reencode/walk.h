/*
 * Blocks of instructions as Zydis sees them in the image: the check on libipt's
 * decoding, and where the last instruction of each may lead.  A block is walked
 * once; what was found is kept.
 */
#ifndef TOPAZ_TRACES_REENCODE_WALK_H
#define TOPAZ_TRACES_REENCODE_WALK_H

#include "traces/reencode/form.h"
#include "traces/reencode/pieces.h"

/* COUNT instructions from IP on, through direct jumps and calls, to END_IP. */
struct walk_block {
	uint64_t ip, end_ip;
	uint64_t target; /* of the last: COND (if taken), JUMP and CALL */
	uint64_t nlip;   /* address after the last one */
	uint32_t call;   /* index of the first direct call before the last */
	uint16_t calls;  /* how many of them */
	uint16_t count;
	uint8_t kind; /* enum walk_kind */
	uint8_t bits; /* of the mode: 16, 32, 64 */
	/* That came after it last, or NULL; [1]: right behind it in memory. */
	struct walk_block *next[2];
};

/* What tells one block from another. */
struct walk_key {
	uint64_t ip, end_ip;
	uint16_t count;
	uint8_t bits;
};

struct walk;

/* PIECES must outlive the result.  NULL: out of memory. */
struct walk *walk_create(const struct pieces *pieces);
void walk_destroy(struct walk *walk);

/*
 * The block that is WANTED, valid as long as WALK; BEFORE is the one before it, or
 * any.  NULL where the image's instructions say otherwise: *TEXT says how (static
 * text), *AT where.
 */
struct walk_block *walk_block(struct walk *walk, struct walk_block *before,
    const struct walk_key *wanted, const char **text, uint64_t *at);

static inline bool
walk_is(const struct walk_block *block, const struct walk_key *wanted)
{
	return block->ip == wanted->ip && block->count == wanted->count &&
	    block->end_ip == wanted->end_ip && block->bits == wanted->bits;
}

/* The same where it came after BEFORE last, else NULL. */
static inline struct walk_block *
walk_again(const struct walk_block *before, const struct walk_key *wanted)
{
	struct walk_block *next = before->next[wanted->ip == before->nlip];

	return next != NULL && walk_is(next, wanted) ? next : NULL;
}

/* Are there as many bytes at VA as an instruction may have? */
bool walk_is_whole(const struct walk *walk, uint64_t va);

/* Address after the INDEX-th direct call of all (struct walk_block, .call). */
uint64_t walk_call(const struct walk *walk, uint32_t index);

/* Distinct blocks, and instructions in them. */
uint64_t walk_blocks(const struct walk *walk);
uint64_t walk_insns(const struct walk *walk);

#endif
