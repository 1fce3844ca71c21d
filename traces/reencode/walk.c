#include "traces/reencode/walk.h"

#include <stdlib.h>
#include <string.h>

#define WALK_SLAB 1024

/* A block is all in one line of the host's cache: it is looked at often. */
#define WALK_LINE_BYTES 64
_Static_assert(sizeof(struct walk_block) == WALK_LINE_BYTES, "one line");

struct walk {
	const struct pieces *pieces;
	struct forms *forms;
	const struct form_table *table; /* of those */
	struct walk_block **slab; /* WALK_SLAB blocks each: they do not move */
	size_t slab_count, block_count;
	uint32_t *slot; /* index of a block plus 1; a power of two of them */
	size_t slot_count;
	uint64_t *call;
	uint32_t call_count, call_room;
	uint64_t insns;
	const uint8_t *span; /* memory that was found last */
	uint64_t span_va, span_bytes;
};

struct walk *
walk_create(const struct pieces *pieces)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	if (walk == NULL)
		return NULL;
	walk->pieces = pieces;
	walk->slot_count = 8192;
	walk->slot = calloc(walk->slot_count, sizeof(*walk->slot));
	walk->forms = forms_create();
	if (walk->slot == NULL || walk->forms == NULL) {
		walk_destroy(walk);
		return NULL;
	}
	walk->table = forms_table(walk->forms);
	return walk;
}

void
walk_destroy(struct walk *walk)
{
	if (walk == NULL)
		return;
	for (size_t i = 0; i < walk->slab_count; i++)
		free(walk->slab[i]);
	free(walk->slab);
	free(walk->slot);
	forms_destroy(walk->forms);
	free(walk->call);
	free(walk);
}

/* Bytes at VA, which may lie in two pieces; returns how many of 15. */
static unsigned
walk_gather(const struct walk *walk, uint64_t va, uint8_t *bytes)
{
	unsigned count = 0;

	while (count < FORM_BYTES_MAX) {
		uint64_t left;
		const uint8_t *at = pieces_at(walk->pieces, va + count, &left);

		if (at == NULL)
			break;
		if (left > FORM_BYTES_MAX - count)
			left = FORM_BYTES_MAX - count;
		memcpy(bytes + count, at, (size_t)left);
		count += (unsigned)left;
	}
	return count;
}

bool
walk_is_whole(const struct walk *walk, uint64_t va)
{
	uint8_t bytes[FORM_BYTES_MAX];

	return walk_gather(walk, va, bytes) == sizeof(bytes);
}

/*
 * The memory at VA, *COUNT bytes of it: 15, unless it ends before; in ROOM where it
 * is in two pieces.
 */
static const uint8_t *
walk_fetch(struct walk *walk, uint64_t va, uint8_t *room, unsigned *count)
{
	*count = FORM_BYTES_MAX;
	if (va - walk->span_va < walk->span_bytes &&
	    walk->span_bytes - (va - walk->span_va) >= FORM_BYTES_MAX)
		return walk->span + (va - walk->span_va);
	walk->span_va = va;
	walk->span = pieces_at(walk->pieces, va, &walk->span_bytes);
	if (walk->span == NULL)
		walk->span_bytes = 0;
	if (walk->span_bytes >= FORM_BYTES_MAX)
		return walk->span;
	*count = walk_gather(walk, va, room);
	return room;
}

/* Makes the instruction at VA the last of BLOCK. */
static inline const char *
walk_insn(struct walk *walk, struct walk_block *block, uint64_t va)
{
	uint8_t room[FORM_BYTES_MAX];
	unsigned count;
	const uint8_t *bytes = walk_fetch(walk, va, room, &count);
	struct form form;

	if (count == 0)
		return "no image has memory there";
	if (!form_of(walk->forms, bytes, count, block->bits, &form))
		return "no instruction";
	block->kind = form.kind;
	block->nlip = va + form.length;
	if (form.distance_bytes != 0) {
		block->target = block->nlip + form_distance(&form, bytes);
		if (block->bits == 32)
			block->target &= UINT32_MAX;
	}
	return NULL;
}

static bool
walk_add_call(struct walk *walk, uint64_t nlip)
{
	if (walk->call_count == walk->call_room) {
		uint32_t room = walk->call_room * 2 + 1024;
		uint64_t *more = realloc(walk->call, room * sizeof(*more));

		if (more == NULL)
			return false;
		walk->call = more;
		walk->call_room = room;
	}
	walk->call[walk->call_count++] = nlip;
	return true;
}

/*
 * Where the last instruction of BLOCK leads if it is one that a block may run
 * through; *TEXT where it is not.
 */
static uint64_t
walk_on(struct walk *walk, struct walk_block *block, const char **text)
{
	switch ((enum walk_kind)block->kind) {
	case WALK_PLAIN:
	case WALK_MOV_CR3:
		return block->nlip;
	case WALK_CALL:
		/* A direct CALL to the next instruction only reads the IP. */
		if (block->target != block->nlip) {
			block->calls++;
			if (!walk_add_call(walk, block->nlip))
				*text = "out of memory";
		}
		return block->target;
	case WALK_JUMP:
		return block->target;
	case WALK_COND:
	case WALK_JUMP_INDIRECT:
	case WALK_CALL_INDIRECT:
	case WALK_RET:
	case WALK_FAR:
		break;
	}
	*text = "a branch that the decoder ran through";
	return 0;
}

/*
 * How many plain instructions of known form follow at VA, COUNT at most, in the
 * memory that was found last; *END is the address behind them.
 */
static unsigned
walk_plain(const struct walk *walk, uint64_t va, uint8_t bits, unsigned count,
    uint64_t *end)
{
	const struct form_table *table = walk->table;
	uint64_t at = va - walk->span_va;
	unsigned n = 0;

	while (n < count && at < walk->span_bytes &&
	    walk->span_bytes - at >= FORM_BYTES_MAX) {
		uint64_t form = form_kept(
		    table, form_first(walk->span + at), bits);

		if (form == 0 || form_kind(form) != WALK_PLAIN)
			break;
		at += form_length(form);
		n++;
	}
	*end = walk->span_va + at;
	return n;
}

/* Walks BLOCK from its first instruction to its last. */
static const char *
walk_through(struct walk *walk, struct walk_block *block, uint64_t *at)
{
	const char *text = NULL;
	uint64_t va = block->ip;

	block->call = walk->call_count;
	block->calls = 0;
	for (unsigned left = block->count;; left--) {
		left -= walk_plain(walk, va, block->bits, left - 1, &va);
		text = walk_insn(walk, block, va);
		*at = va;
		if (text != NULL || left <= 1)
			break;
		va = block->kind == WALK_PLAIN ? block->nlip
					       : walk_on(walk, block, &text);
		if (text != NULL)
			break;
	}
	if (text != NULL)
		return text;
	return va == block->end_ip ? NULL
				   : "the decoder's block ends elsewhere";
}

static struct walk_block *
walk_at(const struct walk *walk, size_t index)
{
	return &walk->slab[index / WALK_SLAB][index % WALK_SLAB];
}

static size_t
walk_hash(const struct walk *walk, uint64_t ip, uint16_t count)
{
	uint64_t hash = (ip ^ (uint64_t)count << 48) *
	    UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash >> 20) & (walk->slot_count - 1);
}

static bool
walk_grow(struct walk *walk)
{
	size_t count = walk->slot_count * 2;
	uint32_t *slot = calloc(count, sizeof(*slot));

	if (slot == NULL)
		return false;
	free(walk->slot);
	walk->slot = slot;
	walk->slot_count = count;
	for (size_t i = 0; i < walk->block_count; i++) {
		const struct walk_block *block = walk_at(walk, i);
		size_t at = walk_hash(walk, block->ip, block->count);

		while (walk->slot[at] != 0)
			at = (at + 1) & (count - 1);
		walk->slot[at] = (uint32_t)i + 1;
	}
	return true;
}

static struct walk_block *
walk_add(struct walk *walk, const struct walk_key *wanted, size_t slot,
    const char **text, uint64_t *at)
{
	struct walk_block block = { .ip = wanted->ip,
		.end_ip = wanted->end_ip,
		.count = wanted->count,
		.bits = wanted->bits };

	*text = walk_through(walk, &block, at);
	if (*text != NULL)
		return NULL;
	*text = "out of memory";
	if (walk->block_count == walk->slab_count * WALK_SLAB) {
		struct walk_block **more = realloc(
		    walk->slab, (walk->slab_count + 1) * sizeof(*more));

		if (more == NULL)
			return NULL;
		walk->slab = more;
		more[walk->slab_count] = aligned_alloc(
		    WALK_LINE_BYTES, WALK_SLAB * sizeof(**more));
		if (more[walk->slab_count] == NULL)
			return NULL;
		walk->slab_count++;
	}
	*walk_at(walk, walk->block_count++) = block;
	walk->insns += block.count;
	walk->slot[slot] = (uint32_t)walk->block_count;
	if (walk->block_count * 2 > walk->slot_count && !walk_grow(walk))
		return NULL;
	return walk_at(walk, walk->block_count - 1);
}

static struct walk_block *
walk_find(struct walk *walk, const struct walk_key *wanted, const char **text,
    uint64_t *at)
{
	size_t slot = walk_hash(walk, wanted->ip, wanted->count);

	while (walk->slot[slot] != 0) {
		struct walk_block *block = walk_at(walk, walk->slot[slot] - 1);

		if (walk_is(block, wanted))
			return block;
		slot = (slot + 1) & (walk->slot_count - 1);
	}
	return walk_add(walk, wanted, slot, text, at);
}

struct walk_block *
walk_block(struct walk *walk, struct walk_block *before,
    const struct walk_key *wanted, const char **text, uint64_t *at)
{
	struct walk_block *block = walk_find(walk, wanted, text, at);

	before->next[wanted->ip == before->nlip] = block;
	return block;
}

uint64_t
walk_call(const struct walk *walk, uint32_t index)
{
	TZ_ASSERT(index < walk->call_count);
	return walk->call[index];
}

uint64_t
walk_blocks(const struct walk *walk)
{
	return walk->block_count;
}

uint64_t
walk_insns(const struct walk *walk)
{
	return walk->insns;
}
