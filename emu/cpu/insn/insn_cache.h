/*
 * Decoded instructions by address and bytes.  Code that is written again with the
 * same bytes, as when a module is loaded again, need not be decoded again.
 */
#ifndef TOPAZ_EMU_CPU_INSN_INSN_CACHE_H
#define TOPAZ_EMU_CPU_INSN_INSN_CACHE_H

#include "emu/cpu/insn/insn.h"

#define INSN_CACHE_BITS 13

/* Empty if all its bytes are 0. */
struct insn_cache {
	struct {
		uint64_t va;
		uint8_t bytes[INSN_BYTES_MAX]; /* .insn.length of them */
		struct insn insn; /* length 0: the entry is not used */
	} entry[1u << INSN_CACHE_BITS];
};

/* The same as insn_decode(). */
bool insn_cache_decode(struct insn_cache *cache, const uint8_t *bytes,
    size_t count, uint64_t va, struct insn *insn);

#endif
