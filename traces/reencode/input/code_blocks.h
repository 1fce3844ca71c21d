/*
 * Blocks of instructions as Zydis decodes them: a check of libipt's decoding, and the
 * targets of the last instruction of each block.  Each block is decoded once.
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_CODE_BLOCKS_H
#define TOPAZ_TRACES_REENCODE_INPUT_CODE_BLOCKS_H

#include "traces/memory/memory_image.h"
#include "traces/reencode/input/insn_class.h"

/*
 * What identifies a block: instructions from IP on, through direct jumps and calls.  .rest
 * has, from bit 0 on, the signed distance from the first to the last of them (40 bits),
 * their number (16 bits) and the bits of the mode (16, 32 or 64).
 */
struct code_blocks_key {
	uint64_t ip, rest; /* .rest is 0 where there are none */
};

#define CODE_BLOCKS_REACH_BITS 40
#define CODE_BLOCKS_BITS_SHIFT 56

/* 32 bytes, since there are many: read it with the functions below. */
struct code_block {
	struct code_blocks_key key;
	/* Index of the block that came after it last: [1] at the next address, or [0]. */
	uint32_t next[2];
	int32_t distance; /* from the end of the last instruction to its target */
	/* Kind (4 bits), length (4); then for code_blocks_calls(). */
	uint32_t last;
};

struct code_blocks {
	struct code_block *block;         /* [0] has no instructions */
	uint32_t block_count, block_room; /* [0] counts */
	const struct memory_image *image;
	uint32_t *slot; /* hash table: index of a block, 0: none */
	size_t slot_count;
	/* For each block with direct calls: their number, then their return addresses. */
	uint64_t *call;
	size_t call_count, call_room;
	uint64_t insns; /* in all blocks */
};

static inline struct code_block *
code_blocks_at(const struct code_blocks *blocks, uint32_t index)
{
	return &blocks->block[index];
}

/* A block without instructions. */
static inline struct code_block *
code_blocks_none(const struct code_blocks *blocks)
{
	return code_blocks_at(blocks, 0);
}

/* IMAGE must outlive the result.  NULL: out of memory. */
struct code_blocks *code_blocks_create(const struct memory_image *image);
void code_blocks_destroy(struct code_blocks *blocks);

/* The key of COUNT instructions from IP to the one at END_IP, less than 512 GiB away. */
static inline struct code_blocks_key
code_blocks_key(uint64_t ip, uint64_t end_ip, uint16_t count, uint8_t bits)
{
	uint64_t reach = (end_ip - ip) & (TZ_BIT(CODE_BLOCKS_REACH_BITS) - 1);

	return (struct code_blocks_key){ .ip = ip,
		.rest = reach | (uint64_t)count << CODE_BLOCKS_REACH_BITS |
		    (uint64_t)bits << CODE_BLOCKS_BITS_SHIFT };
}

static inline uint16_t
code_blocks_count(const struct code_blocks_key *key)
{
	return (uint16_t)(key->rest >> CODE_BLOCKS_REACH_BITS);
}

static inline uint8_t
code_blocks_bits(const struct code_blocks_key *key)
{
	return (uint8_t)(key->rest >> CODE_BLOCKS_BITS_SHIFT);
}

/* Room in struct code_block, .last, for code_blocks_calls(). */
#define CODE_BLOCKS_CALLS_SHIFT 8
#define CODE_BLOCKS_CALLS_MAX   (UINT32_MAX >> CODE_BLOCKS_CALLS_SHIFT)

/* The kind of BLOCK's last instruction. */
static inline enum insn_class_kind
code_blocks_kind(const struct code_block *block)
{
	return (enum insn_class_kind)(block->last & 15);
}

/* Its address. */
static inline uint64_t
code_blocks_end(const struct code_blocks_key *key)
{
	return key->ip +
	    (uint64_t)((int64_t)(key->rest << (64 - CODE_BLOCKS_REACH_BITS)) >>
		(64 - CODE_BLOCKS_REACH_BITS));
}

/* The address after it. */
static inline uint64_t
code_blocks_nlip(const struct code_block *block)
{
	return code_blocks_end(&block->key) + (block->last >> 4 & 15);
}

/* Its target, if it is COND (where taken), JUMP or CALL. */
static inline uint64_t
code_blocks_target(const struct code_block *block)
{
	uint64_t target = code_blocks_nlip(block) +
	    (uint64_t)(int64_t)block->distance;

	return code_blocks_bits(&block->key) == 32 ? target & UINT32_MAX
						   : target;
}

/* Does BLOCK have direct calls before its last instruction? */
static inline bool
code_blocks_has_calls(const struct code_block *block)
{
	return block->last >> CODE_BLOCKS_CALLS_SHIFT != 0;
}

static inline bool
code_blocks_is(
    const struct code_block *block, const struct code_blocks_key *wanted)
{
	return ((block->key.ip ^ wanted->ip) |
		   (block->key.rest ^ wanted->rest)) == 0;
}

/* code_block(), where BEFORE does not show it. */
struct code_block *code_blocks_find(struct code_blocks *blocks,
    struct code_block *before, const struct code_blocks_key *wanted,
    const char **text, uint64_t *at);

/*
 * The block that is WANTED, valid up to the next call; BEFORE, which only makes it faster,
 * is the block returned last.  NULL where the image's instructions say otherwise: *TEXT
 * says how (static text), *AT where; BEFORE is then still valid.
 */
static inline struct code_block *
code_block(struct code_blocks *blocks, struct code_block *before,
    const struct code_blocks_key *wanted, const char **text, uint64_t *at)
{
	bool next = wanted->ip == code_blocks_nlip(before);
	struct code_block *block = code_blocks_at(blocks, before->next[next]);

	return code_blocks_is(block, wanted)
	    ? block
	    : code_blocks_find(blocks, before, wanted, text, at);
}

/* Does the image have the 15 bytes at VA that an instruction may have? */
bool code_blocks_is_whole(const struct code_blocks *blocks, uint64_t va);

/* The *COUNT return addresses of the direct calls before BLOCK's last instruction. */
const uint64_t *code_blocks_calls(const struct code_blocks *blocks,
    const struct code_block *block, size_t *count);

#endif
