/*
 * Whether the guest has overwritten a writable block since it was decoded: asked at each
 * of its entries.
 */
#ifndef TOPAZ_EMU_CPU_ENGINE_STALE_H
#define TOPAZ_EMU_CPU_ENGINE_STALE_H

#include "emu/cpu/engine/block.h"

static inline bool
block_words_differ(const uint8_t *a, const uint8_t *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x != y;
}

/* memcmp() != 0, without a call: blocks are short, and compared at each entry. */
static inline bool
block_bytes_differ(const uint8_t *a, const uint8_t *b, uint32_t count)
{
	const uint32_t word = sizeof(uint64_t);

	if (count >= word) {
		/* The last word may overlap the one before. */
		for (uint32_t i = 0; i < count - word; i += word) {
			if (block_words_differ(a + i, b + i))
				return true;
		}
		return block_words_differ(a + count - word, b + count - word);
	}
	while (count > 0 && *a == *b) {
		a++;
		b++;
		count--;
	}
	return count > 0;
}

/* True if the guest has overwritten BLOCK since it was decoded.  Writable blocks only. */
static inline bool
block_is_stale(const struct block *block)
{
	uint32_t split = block->split;

	if (block->bytes == NULL)
		return false;
	return block_bytes_differ(block->code[0], block->bytes, split) ||
	    (split < block->size &&
		block_bytes_differ(
		    block->code[1], block->bytes + split, block->size - split));
}

/* The same for its bytes [begin, end). */
static inline bool
block_is_part_stale(const struct block *block, uint32_t begin, uint32_t end)
{
	uint32_t split = block->split;
	uint32_t first = begin < split ? split - begin : 0;

	TZ_ASSERT(begin < end);
	if (block->bytes == NULL)
		return false;
	if (end > block->size)
		end = block->size;
	if (first > end - begin)
		first = end - begin;
	return (first > 0 &&
		   memcmp(block->code[0] + begin, block->bytes + begin,
		       first) != 0) ||
	    (first < end - begin &&
		memcmp(block->code[1] + (begin + first - split),
		    block->bytes + begin + first, end - begin - first) != 0);
}

#endif
