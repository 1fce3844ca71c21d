#include "emu/cpu/cost/cache.h"

#include <string.h>

#define INSN_BITS  12
#define BYTES_BITS 13
#define RUN_BITS   13
#define CHAIN_BITS 8
#define CODE_BYTES 192 /* of a piece that is kept */

/* The code that an entry is of; size 0: the entry is not used. */
struct key {
	uint64_t va;
	size_t size, count;
	uint8_t bytes[CODE_BYTES];
};

struct cost_cache {
	const struct profile_cost *model;
	struct cost_entry {
		uint64_t va;
		uint8_t bytes[INSN_BYTES_MAX]; /* .insn.facts.length of them */
		struct cost_insn insn; /* length 0: the entry is not used */
	} entry[1u << INSN_BITS], by_bytes[1u << BYTES_BITS];
	struct {
		struct key code;
		struct cost_run before, after;
		uint64_t units;
	} run[1u << RUN_BITS];
	struct {
		struct key code;
		uint64_t units;
	} chain[1u << CHAIN_BITS];
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

static size_t
slot_of(uint64_t number, unsigned bits)
{
	return number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits);
}

/* True if BYTES begin with the instruction of ENTRY. */
static bool
entry_is_of(const struct cost_entry *entry, const uint8_t *bytes, size_t count)
{
	uint8_t length = entry->insn.facts.length;

	return length != 0 && length <= count &&
	    memcmp(entry->bytes, bytes, length) == 0;
}

static const struct cost_insn *
entry_fill(struct cost_cache *cache, struct cost_entry *entry,
    const uint8_t *bytes, size_t count, uint64_t va)
{
	struct cost_insn *insn = &entry->insn;

	if (!cost_insn(cache->model, bytes, count, va, insn)) {
		insn->facts.length = 0;
		return NULL;
	}
	entry->va = va;
	memcpy(entry->bytes, bytes, insn->facts.length);
	return insn;
}

const struct cost_insn *
cost_cache_insn(
    struct cost_cache *cache, const uint8_t *bytes, size_t count, uint64_t va)
{
	struct cost_entry *entry = &cache->entry[slot_of(va, INSN_BITS)];

	return entry->va == va && entry_is_of(entry, bytes, count)
	    ? &entry->insn
	    : entry_fill(cache, entry, bytes, count, va);
}

const struct cost_insn *
cost_cache_bytes(
    struct cost_cache *cache, const uint8_t *bytes, size_t length, uint64_t va)
{
	uint64_t words[2] = { 0 };
	struct cost_entry *entry;

	TZ_ASSERT(length <= sizeof(words));
	memcpy(words, bytes, length);
	entry = &cache->by_bytes[slot_of(
	    words[0] ^ words[1] * 31 ^ length << 56, BYTES_BITS)];
	return entry->insn.facts.length == length &&
		entry_is_of(entry, bytes, length)
	    ? &entry->insn
	    : entry_fill(cache, entry, bytes, length, va);
}

static bool
is_of(const struct key *key, const struct cost_code *code)
{
	return key->size != 0 && key->va == code->va &&
	    key->size == code->size && key->count == code->count &&
	    memcmp(key->bytes, code->bytes, code->size) == 0;
}

/* False: CODE is too long. */
static bool
key_set(struct key *key, const struct cost_code *code)
{
	if (code->size > sizeof(key->bytes))
		return false;
	key->va = code->va;
	key->size = code->size;
	key->count = code->count;
	memcpy(key->bytes, code->bytes, code->size);
	return true;
}

/* One block is continued, or left early, by few pieces: each has its own place. */
static size_t
slot_of_run(const struct cost_run *run, const struct cost_code *code)
{
	return slot_of(
	    code->va + run->begin * 3 + ((uint64_t)code->size << 56), RUN_BITS);
}

bool
cost_cache_find_run(struct cost_cache *cache, struct cost_run *run,
    const struct cost_code *code, uint64_t *units)
{
	size_t slot = slot_of_run(run, code);

	if (!is_of(&cache->run[slot].code, code) ||
	    !cost_run_same(&cache->run[slot].before, run))
		return false;
	*run = cache->run[slot].after;
	*units = cache->run[slot].units;
	return true;
}

void
cost_cache_keep_run(struct cost_cache *cache, const struct cost_run *before,
    const struct cost_code *code, const struct cost_run *after, uint64_t units)
{
	size_t slot = slot_of_run(before, code);

	if (!key_set(&cache->run[slot].code, code))
		return;
	cache->run[slot].before = *before;
	cache->run[slot].after = *after;
	cache->run[slot].units = units;
}

bool
cost_cache_find_chain(
    struct cost_cache *cache, const struct cost_code *code, uint64_t *units)
{
	size_t slot = slot_of(code->va, CHAIN_BITS);

	if (!is_of(&cache->chain[slot].code, code))
		return false;
	*units = cache->chain[slot].units;
	return true;
}

void
cost_cache_keep_chain(
    struct cost_cache *cache, const struct cost_code *code, uint64_t units)
{
	size_t slot = slot_of(code->va, CHAIN_BITS);

	if (key_set(&cache->chain[slot].code, code))
		cache->chain[slot].units = units;
}
