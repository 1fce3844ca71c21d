/* Instructions with their costs, by address and bytes: a piece of code is priced often. */
#ifndef TOPAZ_EMU_CPU_COST_CACHE_H
#define TOPAZ_EMU_CPU_COST_CACHE_H

#include "emu/cpu/cost/cost.h"

struct cost_cache;

/* NULL: no memory. */
struct cost_cache *cost_cache_create(const struct profile_cost *model);
void cost_cache_destroy(struct cost_cache *cache);

/*
 * As cost_insn(), which fills what is returned; valid until the next call.  NULL: the
 * bytes are not an instruction, or too few.
 */
const struct cost_insn *cost_cache_insn(
    struct cost_cache *cache, const uint8_t *bytes, size_t count, uint64_t va);

#endif
