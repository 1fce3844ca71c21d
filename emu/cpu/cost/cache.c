#include "emu/cpu/cost/cache.h"

#include <string.h>

#define BITS 12

struct cost_cache {
	const struct profile_cost *model;
	struct {
		uint64_t va;
		uint8_t bytes[INSN_BYTES_MAX]; /* .insn.facts.length of them */
		struct cost_insn insn; /* length 0: the entry is not used */
	} entry[1u << BITS];
};

struct cost_cache *
cost_cache_create(const struct profile_cost *model)
{
	struct cost_cache *cache = tz_map(sizeof(*cache));

	if (cache != NULL)
		cache->model = model;
	return cache;
}

void
cost_cache_destroy(struct cost_cache *cache)
{
	tz_unmap(cache, sizeof(*cache));
}

const struct cost_insn *
cost_cache_insn(
    struct cost_cache *cache, const uint8_t *bytes, size_t count, uint64_t va)
{
	uint64_t slot = va * UINT64_C(0x9e3779b97f4a7c15) >> (64 - BITS);
	struct cost_insn *insn = &cache->entry[slot].insn;
	uint8_t length = insn->facts.length;

	/* Bytes after the instruction are not compared. */
	if (length != 0 && length <= count && cache->entry[slot].va == va &&
	    memcmp(cache->entry[slot].bytes, bytes, length) == 0)
		return insn;
	if (!cost_insn(cache->model, bytes, count, va, insn)) {
		insn->facts.length = 0;
		return NULL;
	}
	cache->entry[slot].va = va;
	memcpy(cache->entry[slot].bytes, bytes, insn->facts.length);
	return insn;
}
