#include "traces/reencode/walk.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

#define WALK_INSN_BYTES 15
#define WALK_SLAB       1024
/* Instructions that are kept; a later one takes the place of an earlier. */
#define WALK_KEPT 8192

/* An instruction that was decoded once. */
struct walk_insn {
	uint64_t va, target;
	uint8_t bytes; /* 0: nothing is kept here */
	uint8_t kind;
	uint8_t bits;
};

struct walk {
	const struct pieces *pieces;
	ZydisDecoder decoder[3];  /* 16, 32, 64 bits */
	struct walk_block **slab; /* WALK_SLAB blocks each: they do not move */
	size_t slab_count, block_count;
	uint32_t *slot; /* index of a block plus 1; a power of two of them */
	size_t slot_count;
	uint64_t *call;
	uint32_t call_count, call_room;
	uint64_t insns;
	struct walk_insn *kept; /* WALK_KEPT, by their low address bits */
};

struct walk *
walk_create(const struct pieces *pieces)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	if (walk == NULL)
		return NULL;
	walk->pieces = pieces;
	walk->slot_count = 4096;
	walk->slot = calloc(walk->slot_count, sizeof(*walk->slot));
	walk->kept = calloc(WALK_KEPT, sizeof(*walk->kept));
	if (walk->slot == NULL || walk->kept == NULL) {
		walk_destroy(walk);
		return NULL;
	}
	ZydisDecoderInit(&walk->decoder[0], ZYDIS_MACHINE_MODE_LEGACY_16,
	    ZYDIS_STACK_WIDTH_16);
	ZydisDecoderInit(&walk->decoder[1], ZYDIS_MACHINE_MODE_LEGACY_32,
	    ZYDIS_STACK_WIDTH_32);
	ZydisDecoderInit(&walk->decoder[2], ZYDIS_MACHINE_MODE_LONG_64,
	    ZYDIS_STACK_WIDTH_64);
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
	free(walk->kept);
	free(walk->call);
	free(walk);
}

/* What INSN is where no rule of a near branch says it. */
static enum walk_kind
walk_kind_far(const ZydisDecodedInstruction *insn)
{
	switch ((int)insn->mnemonic) {
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INTO:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_VMLAUNCH:
	case ZYDIS_MNEMONIC_VMRESUME:
	case ZYDIS_MNEMONIC_UIRET:
		return WALK_FAR;
	default:
		break;
	}
	/* SDM vol. 2, "MOV--Move to/from Control Registers": 0F 22 /3. */
	if (insn->opcode_map == ZYDIS_OPCODE_MAP_0F && insn->opcode == 0x22 &&
	    insn->raw.modrm.reg == 3)
		return WALK_MOV_CR3;
	return WALK_PLAIN;
}

/* SDM vol. 3, table "COFI Type for Branch Instructions". */
static enum walk_kind
walk_kind(const ZydisDecodedInstruction *insn)
{
	bool relative = insn->raw.imm[0].is_relative;

	if (insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return WALK_FAR;
	switch ((int)insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		/* XBEGIN counts as one for Zydis; it transfers nothing. */
		return insn->mnemonic == ZYDIS_MNEMONIC_XBEGIN ? WALK_PLAIN
							       : WALK_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return relative ? WALK_JUMP : WALK_JUMP_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		return relative ? WALK_CALL : WALK_CALL_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		if (insn->mnemonic == ZYDIS_MNEMONIC_RET)
			return WALK_RET;
		break;
	default:
		break;
	}
	return walk_kind_far(insn);
}

/* Bytes at VA, which may lie in two pieces; returns how many of 15. */
static unsigned
walk_fetch(const struct walk *walk, uint64_t va, uint8_t *bytes)
{
	unsigned count = 0;

	while (count < WALK_INSN_BYTES) {
		uint64_t left;
		const uint8_t *at = pieces_at(walk->pieces, va + count, &left);

		if (at == NULL)
			break;
		if (left > WALK_INSN_BYTES - count)
			left = WALK_INSN_BYTES - count;
		memcpy(bytes + count, at, (size_t)left);
		count += (unsigned)left;
	}
	return count;
}

/* Decodes the instruction at VA as the last of BLOCK. */
static const char *
walk_decode(const struct walk *walk, struct walk_block *block, uint64_t va)
{
	unsigned mode = block->bits == 64 ? 2 : block->bits == 32 ? 1 : 0;
	uint8_t bytes[WALK_INSN_BYTES];
	unsigned count = walk_fetch(walk, va, bytes);
	ZydisDecodedInstruction insn;

	if (count == 0)
		return "no image has memory there";
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
		&walk->decoder[mode], ZYAN_NULL, bytes, count, &insn)))
		return "no instruction";
	block->kind = (uint8_t)walk_kind(&insn);
	block->nlip = va + insn.length;
	block->target = block->nlip;
	if (insn.raw.imm[0].is_relative)
		block->target += (uint64_t)insn.raw.imm[0].value.s;
	if (block->bits == 32)
		block->target &= UINT32_MAX;
	return NULL;
}

/* The same, out of what is kept where it is there. */
static const char *
walk_insn(const struct walk *walk, struct walk_block *block, uint64_t va)
{
	struct walk_insn *kept = &walk->kept[va % WALK_KEPT];
	const char *text;

	if (kept->bytes == 0 || kept->va != va || kept->bits != block->bits) {
		text = walk_decode(walk, block, va);
		if (text != NULL)
			return text;
		*kept = (struct walk_insn){ .va = va,
			.target = block->target,
			.bytes = (uint8_t)(block->nlip - va),
			.kind = block->kind,
			.bits = block->bits };
		return NULL;
	}
	block->kind = kept->kind;
	block->nlip = va + kept->bytes;
	block->target = kept->target;
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

/* Walks BLOCK from its first instruction to its last. */
static const char *
walk_through(struct walk *walk, struct walk_block *block, uint64_t *at)
{
	uint64_t va = block->ip;

	block->call = walk->call_count;
	block->calls = 0;
	for (unsigned n = 0;; n++) {
		const char *text = walk_insn(walk, block, va);

		*at = va;
		if (text != NULL)
			return text;
		if (n + 1 == block->count)
			break;
		if (block->kind != WALK_PLAIN && block->kind != WALK_JUMP &&
		    block->kind != WALK_CALL && block->kind != WALK_MOV_CR3)
			return "a branch that the decoder ran through";
		/* A direct CALL to the next instruction only reads the IP. */
		if (block->kind == WALK_CALL && block->target != block->nlip) {
			block->calls++;
			if (!walk_add_call(walk, block->nlip))
				return "out of memory";
		}
		va = block->kind == WALK_JUMP || block->kind == WALK_CALL
		    ? block->target
		    : block->nlip;
	}
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
		more[walk->slab_count] = calloc(WALK_SLAB, sizeof(**more));
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
