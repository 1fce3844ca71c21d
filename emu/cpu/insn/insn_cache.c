#include "emu/cpu/insn/insn_cache.h"

#include <string.h>

bool
insn_cache_decode(struct insn_cache *cache, const uint8_t *bytes, size_t count,
    uint64_t va, struct insn *insn)
{
	uint64_t slot = va * UINT64_C(0x9e3779b97f4a7c15) >>
	    (64 - INSN_CACHE_BITS);
	uint8_t length = cache->entry[slot].insn.length;

	/* Bytes after the instruction are not compared. */
	if (length != 0 && length <= count && cache->entry[slot].va == va &&
	    memcmp(cache->entry[slot].bytes, bytes, length) == 0) {
		*insn = cache->entry[slot].insn;
		return true;
	}
	if (!insn_decode(bytes, count, va, insn))
		return false;
	cache->entry[slot].va = va;
	cache->entry[slot].insn = *insn;
	memcpy(cache->entry[slot].bytes, bytes, insn->length);
	return true;
}
