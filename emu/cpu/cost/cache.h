/*
 * Code with its cost, by address and bytes: the same code is priced often.  What is found
 * here is what cost.h and run.h would say.
 */
#ifndef TOPAZ_EMU_CPU_COST_CACHE_H
#define TOPAZ_EMU_CPU_COST_CACHE_H

#include "emu/cpu/cost/run.h"

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

/*
 * The same for an instruction of LENGTH bytes, and for its cost alone: addresses in its
 * facts may be those of the same bytes elsewhere.
 */
const struct cost_insn *cost_cache_bytes(
    struct cost_cache *cache, const uint8_t *bytes, size_t length, uint64_t va);

/* A piece of code: COUNT instructions, SIZE bytes, at VA. */
struct cost_code {
	uint64_t va;
	const uint8_t *bytes;
	size_t size, count;
};

/*
 * The piece CODE was added to RUN and charged before, in the same state of RUN: adds it
 * again, and sets UNITS to what is charged.  False: it was not, or is forgotten.
 */
bool cost_cache_find_run(struct cost_cache *cache, struct cost_run *run,
    const struct cost_code *code, uint64_t *units);

/* CODE was added to BEFORE, which became AFTER; UNITS are charged. */
void cost_cache_keep_run(struct cost_cache *cache,
    const struct cost_run *before, const struct cost_code *code,
    const struct cost_run *after, uint64_t units);

/* cost_chain() of the run CODE.  False: it was not kept, or is forgotten. */
bool cost_cache_find_chain(
    struct cost_cache *cache, const struct cost_code *code, uint64_t *units);
void cost_cache_keep_chain(
    struct cost_cache *cache, const struct cost_code *code, uint64_t units);

#endif
