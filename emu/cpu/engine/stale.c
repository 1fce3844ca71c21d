/*
 * Blocks that overwrite themselves: looked for at their entry, and after they have run.
 */
#include "emu/cpu/engine/stale.h"

/* A block that is checked at its entry. */
struct look {
	struct block *block;
	const struct insn_regs *regs;
};

static bool
stores_into_itself(void *arg, uint64_t va, unsigned index,
    const struct insn *insn, const uint8_t *bytes)
{
	const struct look *look = arg;
	struct block *block = look->block;
	struct insn_extent extent;
	struct insn_uses uses;

	(void)index;
	if (!insn->stores)
		return true;
	insn_uses(bytes, insn->length, va, &uses);
	for (unsigned i = 0; i < uses.access_count; i++) {
		if (!uses.access[i].write)
			continue;
		insn_access_extent(&uses.access[i], look->regs, &extent);
		block->wary |= extent.va < block->va + block->size &&
		    extent.va + extent.bytes > block->va;
	}
	return !block->wary;
}

void
block_look_at(struct block *block, const struct walk_space *space,
    const struct insn_regs *regs)
{
	struct look look = { block, regs };

	TZ_ASSERT(block_is_risky(block));
	block->looked_at = true;
	for (unsigned i = 0; i < 16; i++)
		block->wary |= regs->gpr[i] > block->va &&
		    regs->gpr[i] < block->va + block->size;
	block_visit(block, space, NULL, stores_into_itself, &look);
}

/* The current byte at AT of a writable block. */
static uint8_t
byte_at(const struct block *block, uint32_t at)
{
	return at < block->split ? block->code[0][at]
				 : block->code[1][at - block->split];
}

bool
block_wrote_itself(const struct block *block, uint32_t end)
{
	uint32_t at = end;

	TZ_ASSERT(end <= block->size);
	if (!block_is_risky(block) || !block_is_stale(block))
		return false;
	while (at > 0 && byte_at(block, at - 1) == block->bytes[at - 1])
		at--;
	/* Instructions up to the first store have run before it. */
	return at > block->insn[block->first_store + 1].at;
}

bool
block_wrote_jump(const struct block *block)
{
	return block->last.class == INSN_JMP_DIRECT &&
	    block_wrote_itself(block, block->size) &&
	    !block_wrote_itself(block, (uint32_t)(block->last_va - block->va));
}
