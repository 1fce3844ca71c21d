#include "traces/reencode/input/code_blocks.h"

#include "traces/decode/vector.h"

#include <stdlib.h>
#include <string.h>

/* Room for blocks at first and at most; slots at first. */
#define CODE_BLOCKS_BLOCKS     (UINT32_C(1) << 15)
#define CODE_BLOCKS_BLOCKS_MAX (UINT32_C(1) << 31)
#define CODE_BLOCKS_SLOTS      8192

_Static_assert(
    sizeof(struct code_block) == 32, "two in a line of the host's cache");

struct code_blocks *
code_blocks_create(const struct memory_image *image)
{
	struct code_blocks *blocks = calloc(1, sizeof(*blocks));

	if (blocks == NULL)
		return NULL;
	blocks->image = image;
	blocks->slot_count = CODE_BLOCKS_SLOTS;
	blocks->slot = calloc(blocks->slot_count, sizeof(*blocks->slot));
	/* The host gives memory only to pages that are used. */
	blocks->block = malloc(CODE_BLOCKS_BLOCKS * sizeof(struct code_block));
	blocks->block_room = CODE_BLOCKS_BLOCKS;
	blocks->block_count = 1;
	if (blocks->block == NULL || blocks->slot == NULL) {
		code_blocks_destroy(blocks);
		return NULL;
	}
	*code_blocks_none(
	    blocks) = (struct code_block){ .last = INSN_CLASS_PLAIN };
	return blocks;
}

void
code_blocks_destroy(struct code_blocks *blocks)
{
	if (blocks == NULL)
		return;
	free(blocks->block);
	free(blocks->slot);
	free(blocks->call);
	free(blocks);
}

/* Copies up to 15 bytes at VA, which may be in two pieces; returns how many. */
static unsigned
code_blocks_gather(
    const struct code_blocks *blocks, uint64_t va, uint8_t *bytes)
{
	unsigned count = 0;

	while (count < INSN_CLASS_BYTES_MAX) {
		uint64_t left;
		const uint8_t *at = memory_image_at(
		    blocks->image, va + count, &left);

		if (at == NULL)
			break;
		if (left > INSN_CLASS_BYTES_MAX - count)
			left = INSN_CLASS_BYTES_MAX - count;
		memcpy(bytes + count, at, (size_t)left);
		count += (unsigned)left;
	}
	return count;
}

bool
code_blocks_is_whole(const struct code_blocks *blocks, uint64_t va)
{
	uint8_t bytes[INSN_CLASS_BYTES_MAX];

	return code_blocks_gather(blocks, va, bytes) == sizeof(bytes);
}

/* Makes the instruction at VA the last of BLOCK. */
static const char *
code_blocks_insn(
    struct code_blocks *blocks, struct code_block *block, uint64_t va)
{
	uint8_t bits = code_blocks_bits(&block->key);
	uint8_t bytes[INSN_CLASS_BYTES_MAX];
	unsigned count = code_blocks_gather(blocks, va, bytes);
	struct insn_class class;

	if (count == 0)
		return "no image has memory there";
	if (!insn_class_decode(bytes, count, bits, &class))
		return "no instruction";
	block->key = code_blocks_key(
	    block->key.ip, va, code_blocks_count(&block->key), bits);
	if (code_blocks_end(&block->key) != va)
		return "a block with jumps over 512 GiB";
	block->last &= CODE_BLOCKS_CALLS_MAX << CODE_BLOCKS_CALLS_SHIFT;
	block->last |= (uint32_t) class.kind | class.length << 4;
	block->distance = class.distance;
	return NULL;
}

static bool
code_blocks_add_call(struct code_blocks *blocks, uint64_t value)
{
	if (!GROW(blocks->call, blocks->call_room, blocks->call_count + 1))
		return false;
	blocks->call[blocks->call_count++] = value;
	return true;
}

/* BLOCK goes on after a direct call, whose return address is NLIP. */
static const char *
code_blocks_call(
    struct code_blocks *blocks, struct code_block *block, uint64_t nlip)
{
	if (!code_blocks_has_calls(block)) {
		if (blocks->call_count >= CODE_BLOCKS_CALLS_MAX)
			return "more direct calls than there is room for";
		if (!code_blocks_add_call(blocks, 0))
			return "out of memory";
		block->last |= (uint32_t)blocks->call_count
		    << CODE_BLOCKS_CALLS_SHIFT;
	}
	blocks->call[(block->last >> CODE_BLOCKS_CALLS_SHIFT) - 1]++;
	return code_blocks_add_call(blocks, nlip) ? NULL : "out of memory";
}

/*
 * The instruction after BLOCK's last one, if a block may continue there; else sets *TEXT.
 */
static uint64_t
code_blocks_on(
    struct code_blocks *blocks, struct code_block *block, const char **text)
{
	enum insn_class_kind kind = code_blocks_kind(block);
	uint64_t nlip = code_blocks_nlip(block);
	uint64_t target = code_blocks_target(block);

	if (kind == INSN_CLASS_PLAIN || kind == INSN_CLASS_MOV_CR3)
		return nlip;
	if (kind != INSN_CLASS_CALL && kind != INSN_CLASS_JUMP)
		*text = "a branch that the decoder ran through";
	/* A direct CALL to the next instruction only reads the IP. */
	else if (kind == INSN_CLASS_CALL && target != nlip)
		*text = code_blocks_call(blocks, block, nlip);
	return target;
}

/* Decodes BLOCK; *AT is the address of the instruction that *TEXT, the result, is about. */
static const char *
code_blocks_through(
    struct code_blocks *blocks, struct code_block *block, uint64_t *at)
{
	const char *text = NULL;
	uint64_t va = block->key.ip;

	for (unsigned left = code_blocks_count(&block->key);; left--) {
		text = code_blocks_insn(blocks, block, va);
		*at = va;
		if (text != NULL || left <= 1)
			return text;
		va = code_blocks_on(blocks, block, &text);
		if (text != NULL)
			return text;
	}
}

/* The slot of KEY's block, or the free one for it. */
static size_t
code_blocks_slot(
    const struct code_blocks *blocks, const struct code_blocks_key *key)
{
	uint64_t hash = (key->ip ^ (uint64_t)code_blocks_count(key) << 48) *
	    UINT64_C(0x9e3779b97f4a7c15);
	size_t slot = (size_t)(hash >> 20) & (blocks->slot_count - 1);

	while (blocks->slot[slot] != 0 &&
	    !code_blocks_is(code_blocks_at(blocks, blocks->slot[slot]), key))
		slot = (slot + 1) & (blocks->slot_count - 1);
	return slot;
}

static bool
code_blocks_grow(struct code_blocks *blocks)
{
	size_t count = blocks->slot_count * 2;
	uint32_t *slot = calloc(count, sizeof(*slot));

	if (slot == NULL)
		return false;
	free(blocks->slot);
	blocks->slot = slot;
	blocks->slot_count = count;
	for (uint32_t i = 1; i < blocks->block_count; i++) {
		size_t at = code_blocks_slot(
		    blocks, &code_blocks_at(blocks, i)->key);

		blocks->slot[at] = i;
	}
	return true;
}

/* Makes room for one block more.  False: there is none, and nothing has moved. */
static bool
code_blocks_extend(struct code_blocks *blocks)
{
	struct code_block *block = blocks->block;

	if (blocks->block_count < blocks->block_room)
		return true;
	if (blocks->block_room == CODE_BLOCKS_BLOCKS_MAX)
		return false;
	block = realloc(block, blocks->block_room * 2 * sizeof(*block));
	if (block == NULL)
		return false;
	blocks->block = block;
	blocks->block_room *= 2;
	return true;
}

/*
 * Decodes a new block and puts it into SLOT; returns its index, 0: see code_block().
 * Blocks move only in the last step, which cannot fail.
 */
static uint32_t
code_blocks_add(struct code_blocks *blocks,
    const struct code_blocks_key *wanted, size_t slot, const char **text,
    uint64_t *at)
{
	struct code_block block = { .key = *wanted };
	size_t call_count = blocks->call_count;
	uint32_t index;

	*text = code_blocks_through(blocks, &block, at);
	if (*text == NULL && block.key.rest != wanted->rest)
		*text = "the decoder's block ends elsewhere";
	if (*text != NULL) {
		blocks->call_count = call_count;
		return 0;
	}
	*text = "out of memory";
	if (blocks->block_count * UINT64_C(2) >= blocks->slot_count) {
		if (!code_blocks_grow(blocks))
			return 0;
		slot = code_blocks_slot(blocks, wanted);
	}
	if (!code_blocks_extend(blocks))
		return 0;
	index = blocks->block_count++;
	*code_blocks_at(blocks, index) = block;
	blocks->insns += code_blocks_count(&block.key);
	blocks->slot[slot] = index;
	return index;
}

struct code_block *
code_blocks_find(struct code_blocks *blocks, struct code_block *before,
    const struct code_blocks_key *wanted, const char **text, uint64_t *at)
{
	uint32_t from = (uint32_t)(before - code_blocks_at(blocks, 0));
	size_t slot = code_blocks_slot(blocks, wanted);
	uint32_t index = blocks->slot[slot];

	if (index == 0)
		index = code_blocks_add(blocks, wanted, slot, text, at);
	if (index == 0)
		return NULL;
	before = code_blocks_at(blocks, from);
	before->next[wanted->ip == code_blocks_nlip(before)] = index;
	return code_blocks_at(blocks, index);
}

const uint64_t *
code_blocks_calls(const struct code_blocks *blocks,
    const struct code_block *block, size_t *count)
{
	uint32_t behind = block->last >> CODE_BLOCKS_CALLS_SHIFT;

	*count = behind != 0 ? (size_t)blocks->call[behind - 1] : 0;
	return blocks->call + behind;
}
