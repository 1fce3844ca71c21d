/*
 * Reads the guest kernel's own table of frames.  Not every allocation has an event: the
 * kernel allocates items for itself, so memory that was freed may be in use again.
 */
#include "harness/check/internal.h"
#include "harness/guest/memory/frame.h"

#include <stddef.h>

#define ITEMS_IN_WORD 64

/* Reads a word of the record of PA's frame; false: there is no table. */
static bool
heap_word(const struct check *check, uint64_t pa, size_t offset, uint64_t *word)
{
	const struct check_config *config = &check->config;
	uint64_t at = config->frames_pa +
	    pa / CHECK_PAGE_BYTES * sizeof(struct frame) + offset;

	return config->frames_pa != 0 &&
	    config->reads.word(config->reads.arg, at, word);
}

/* Reads the first two members of struct frame from its first word. */
static bool
heap_kind(
    const struct check *check, uint64_t pa, unsigned *kind, unsigned *bucket)
{
	uint64_t word;

	if (!heap_word(check, pa, 0, &word))
		return false;
	*kind = (unsigned)tz_bits(word, 7, 0);
	*bucket = (unsigned)tz_bits(word, 15, 8);
	return true;
}

bool
heap_holds(const struct check *check, uint64_t pa)
{
	uint64_t item, word;
	unsigned kind, bucket;

	if (!heap_kind(check, pa, &kind, &bucket))
		return false;
	if (kind != FRAME_SLAB)
		return kind != FRAME_FREE;
	item = pa % CHECK_PAGE_BYTES / frame_item_bytes(bucket);
	return heap_word(check, pa,
		   offsetof(struct frame, taken) +
		       item / ITEMS_IN_WORD * sizeof(word),
		   &word) &&
	    (word >> item % ITEMS_IN_WORD & 1) != 0;
}

uint64_t
heap_item_end(const struct check *check, uint64_t pa)
{
	unsigned kind, bucket;
	uint64_t bytes;

	if (!heap_kind(check, pa, &kind, &bucket) || kind != FRAME_SLAB)
		return pa + 1;
	bytes = frame_item_bytes(bucket);
	return (pa / bytes + 1) * bytes;
}
