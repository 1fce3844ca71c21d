#include "emu/cpu/block.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define BLOCKS_MAX   32768
#define BUCKETS      65536
#define INSNS_MAX    262144  /* of all blocks */
#define BYTES_MAX    1048576 /* of the writable ones */
#define ACCESSES_MAX 65536   /* of the audited ones */
#define STEPS        4096
#define SPACES_MAX   64
#define PAGES_MAX    1024
#define FRAMES_MAX   4096
#define PAGE_BYTES   4096
#define KERNEL_SPACE 0

/* A page whose code has been decoded, as it was then. */
struct code_page {
	uint64_t va, pa, hash;
	uint32_t epoch; /* of .hash: see struct code_written */
	uint8_t space;
	bool writable;
};

/* A frame from which code was decoded, and maybe translated by the engine. */
struct code_frame {
	uint64_t pa, hash;
};

struct block_cache {
	struct block block[BLOCKS_MAX];
	struct block *bucket[BUCKETS];
	struct code_page page[PAGES_MAX];
	uint64_t cr3[SPACES_MAX]; /* of user halves; 0 is the kernel's half */
	struct code_frame frame[FRAMES_MAX];
	unsigned frame_count; /* FRAMES_MAX: there may be others */
	unsigned block_count, page_count, space_count;
	uint8_t user_space;
	bool rewritten; /* see block_cache_take_rewritten() */
	uint32_t age, epoch;
	struct block *step[STEPS]; /* of one instruction each, by address */
	unsigned insn_count, byte_count;
	struct block_insn insn[INSNS_MAX];
	uint8_t bytes[BYTES_MAX];
	struct audit audit;
	unsigned access_count;
	struct block_access access[ACCESSES_MAX];
};

struct block_cache *
block_cache_create(void)
{
	struct block_cache *cache;
	void *memory = NULL;

	if (posix_memalign(&memory, _Alignof(struct block_cache),
		sizeof(struct block_cache)) != 0)
		return NULL;
	/* What counts say is not used is never read. */
	cache = memory;
	cache->user_space = 1;
	cache->rewritten = false;
	cache->age = cache->epoch = 0;
	cache->audit = (struct audit){ 0 };
	memset(cache->cr3, 0, sizeof(cache->cr3));
	block_cache_forget_code(cache);
	return cache;
}

void
block_cache_destroy(struct block_cache *cache)
{
	free(cache);
}

void
block_cache_flush(struct block_cache *cache)
{
	memset(cache->bucket, 0, sizeof(cache->bucket));
	memset(cache->step, 0, sizeof(cache->step));
	cache->age++;
	cache->insn_count = cache->byte_count = cache->access_count = 0;
	cache->cr3[1] = cache->cr3[cache->user_space];
	cache->user_space = 1;
	cache->space_count = 2;
	cache->block_count = 0;
	cache->page_count = 0;
}

void
block_cache_set_audit(struct block_cache *cache, const struct audit *audit)
{
	cache->audit = *audit;
	block_cache_flush(cache);
}

uint32_t
block_cache_age(const struct block_cache *cache)
{
	return cache->age;
}

static uint64_t
hash_page(const struct walk_space *space, uint64_t pa)
{
	if (pa + PAGE_BYTES > space->ram_bytes)
		return 0;
	return XXH3_64bits(space->ram + pa, PAGE_BYTES);
}

/* Is the page of PA as it was when its hash was made or looked at last? */
static bool
is_unwritten(const struct code_page *page, const struct code_written *written)
{
	uint64_t frame = page->pa / PAGE_BYTES;

	return written->pages != NULL && page->epoch == written->epoch &&
	    !(written->pages[frame / 64] >> frame % 64 & 1);
}

/* Kernel text is hashed too: a module may be unloaded and another loaded. */
static bool
has_other_bytes(struct code_page *page, const struct walk_space *space,
    const struct code_written *written)
{
	if (page->pa + PAGE_BYTES > space->ram_bytes ||
	    is_unwritten(page, written))
		return false;
	page->epoch = written->epoch;
	return hash_page(space, page->pa) != page->hash;
}

static bool
page_moved(const struct code_page *page, const struct walk_space *space)
{
	struct walk walk;

	return !walk_page(space, (struct gva){ page->va }, &walk) ||
	    walk.pa.u != page->pa || walk.writable != page->writable;
}

bool
block_cache_take_rewritten(struct block_cache *cache)
{
	bool rewritten = cache->rewritten;

	cache->rewritten = false;
	return rewritten;
}

static void
select_user_space(struct block_cache *cache, uint64_t cr3)
{
	for (unsigned i = 1; i < cache->space_count; i++) {
		if (cache->cr3[i] == cr3) {
			cache->user_space = (uint8_t)i;
			return;
		}
	}
	if (cache->space_count == SPACES_MAX)
		block_cache_flush(cache);
	cache->user_space = (uint8_t)cache->space_count;
	cache->cr3[cache->space_count++] = cr3;
}

/* WRITTEN NULL: what pages hold has been looked at already. */
static bool
select_space(struct block_cache *cache, const struct walk_space *space,
    const struct code_written *written)
{
	unsigned blocks = cache->block_count;
	bool moved, rewritten = false;

	if (written != NULL)
		cache->epoch = written->epoch;
	select_user_space(cache, space->cr3);
	for (unsigned i = 0; i < cache->page_count; i++) {
		struct code_page *page = &cache->page[i];

		if (page->space != KERNEL_SPACE &&
		    page->space != cache->user_space)
			continue;
		moved = page_moved(page, space);
		if (!moved && written != NULL && !page->writable)
			rewritten = has_other_bytes(page, space, written);
		if (moved || rewritten) {
			cache->rewritten |= rewritten;
			block_cache_flush(cache);
			break;
		}
	}
	return cache->block_count < blocks;
}

bool
block_cache_select(struct block_cache *cache, const struct walk_space *space,
    const struct code_written *written)
{
	return select_space(cache, space, written);
}

bool
block_cache_reselect(struct block_cache *cache, const struct walk_space *space)
{
	return select_space(cache, space, NULL);
}

bool
block_cache_is_stale(const struct block_cache *cache,
    const struct walk_space *space, const uint64_t *changed)
{
	for (unsigned i = 0; i < cache->frame_count; i++) {
		const struct code_frame *frame = &cache->frame[i];
		uint64_t page = frame->pa / PAGE_BYTES;

		if ((changed == NULL ||
			(changed[page / 64] >> page % 64 & 1)) &&
		    hash_page(space, frame->pa) != frame->hash)
			return true;
	}
	return cache->frame_count == FRAMES_MAX;
}

void
block_cache_forget_code(struct block_cache *cache)
{
	block_cache_flush(cache);
	cache->frame_count = 0;
}

void
block_cache_forget_edges(struct block_cache *cache)
{
	for (unsigned i = 0; i < cache->block_count; i++) {
		struct edge *edge = cache->block[i].edge;

		edge[0].key = edge[1].key = EDGE_UNUSED;
		cache->block[i].word = 0;
	}
}

/* What is decoded there from now on is what it holds now. */
static void
note_frame(struct block_cache *cache, uint64_t pa, uint64_t hash, bool writable)
{
	for (unsigned i = 0; i < cache->frame_count; i++) {
		if (cache->frame[i].pa == pa) {
			cache->rewritten |= !writable &&
			    cache->frame[i].hash != hash;
			cache->frame[i].hash = hash;
			return;
		}
	}
	if (cache->frame_count < FRAMES_MAX)
		cache->frame[cache->frame_count++] = (struct code_frame){ pa,
			hash };
}

static unsigned
bucket_of(uint64_t va, uint32_t size, uint8_t space)
{
	uint64_t key = va ^ ((uint64_t)size << 44) ^ ((uint64_t)space << 56);

	return (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> 48) % BUCKETS;
}

/* Remembers the page of VA; false: no room for one more. */
static bool
note_page(struct block_cache *cache, const struct walk_space *space, uint8_t id,
    uint64_t va, bool *writable)
{
	struct walk walk;

	va -= va % PAGE_BYTES;
	if (!walk_page(space, (struct gva){ va }, &walk))
		return true;
	*writable |= walk.writable;
	for (unsigned i = 0; i < cache->page_count; i++) {
		if (cache->page[i].va == va && cache->page[i].space == id)
			return true;
	}
	if (cache->page_count == PAGES_MAX)
		return false;
	cache->page[cache->page_count++] = (struct code_page){
		.va = va,
		.pa = walk.pa.u,
		.hash = hash_page(space, walk.pa.u),
		.epoch = cache->epoch,
		.space = id,
		.writable = walk.writable,
	};
	note_frame(cache, walk.pa.u, cache->page[cache->page_count - 1].hash,
	    walk.writable);
	return true;
}

/* Where COUNT bytes at VA, in one page, are in RAM; NULL: nowhere. */
static const uint8_t *
code_at(const struct walk_space *space, uint64_t va, uint32_t count)
{
	struct walk walk;

	if (!walk_page(space, (struct gva){ va }, &walk) ||
	    walk.pa.u >= space->ram_bytes ||
	    count > space->ram_bytes - walk.pa.u)
		return NULL;
	return space->ram + walk.pa.u;
}

/* Remembers what a writable block holds. */
static void
keep_bytes(struct block_cache *cache, struct block *block,
    const struct walk_space *space)
{
	uint8_t *bytes = &cache->bytes[cache->byte_count];
	uint32_t first = PAGE_BYTES - (uint32_t)(block->va % PAGE_BYTES);
	uint32_t split = first < block->size ? first : block->size;
	uint32_t rest = block->size - split;

	TZ_ASSERT(rest <= PAGE_BYTES);
	block->split = (uint16_t)split;
	block->code[0] = code_at(space, block->va, split);
	block->code[1] = rest > 0 ? code_at(space, block->va + split, rest)
				  : NULL;
	if (block->code[0] == NULL || (rest > 0 && block->code[1] == NULL))
		return;
	memcpy(bytes, block->code[0], split);
	if (rest > 0)
		memcpy(bytes + split, block->code[1], rest);
	block->bytes = bytes;
	cache->byte_count += block->size;
}

static void
describe(struct block_cache *cache, struct block *block,
    const struct walk_space *space)
{
	block_describe(block, space, &cache->audit,
	    &cache->insn[cache->insn_count],
	    &cache->access[cache->access_count]);
	cache->insn_count += block->insns;
	cache->access_count += block->access_count;
	if (block->writable)
		keep_bytes(cache, block, space);
}

struct block *
block_find(struct block_cache *cache, const struct walk_space *space,
    uint64_t va, uint32_t size)
{
	uint8_t id = va >> 63 ? KERNEL_SPACE : cache->user_space;
	unsigned bucket = bucket_of(va, size, id);
	struct block *block;
	bool writable = false;

	TZ_ASSERT(size > 0);
	for (block = cache->bucket[bucket]; block != NULL;
	     block = block->chain) {
		if (block->va == va && block->size == size &&
		    block->space == id)
			return block;
	}
	if (cache->block_count == BLOCKS_MAX ||
	    cache->insn_count > INSNS_MAX - BLOCK_BYTES_MAX ||
	    cache->byte_count > BYTES_MAX - BLOCK_BYTES_MAX ||
	    cache->access_count > ACCESSES_MAX - 2 * BLOCK_BYTES_MAX ||
	    !note_page(cache, space, id, va, &writable) ||
	    !note_page(cache, space, id, va + size - 1, &writable))
		return NULL;
	block = &cache->block[cache->block_count++];
	*block = (struct block){
		.va = va,
		.size = size,
		.space = id,
		.writable = writable,
		.chain = cache->bucket[bucket],
	};
	describe(cache, block, space);
	cache->bucket[bucket] = block;
	return block;
}

static unsigned
step_of(uint64_t va)
{
	return (unsigned)(va ^ va >> 12) % STEPS;
}

struct block *
block_find_insn(const struct block_cache *cache, uint64_t va)
{
	uint8_t id = va >> 63 ? KERNEL_SPACE : cache->user_space;
	struct block *block = cache->step[step_of(va)];

	return block != NULL && block->va == va && block->space == id ? block
								      : NULL;
}

void
block_note_insn(struct block_cache *cache, struct block *block)
{
	cache->step[step_of(block->va)] = block;
}

unsigned
block_insns_before(const struct block *block, uint64_t rip)
{
	unsigned i = 0;

	while (i < block->insns && block->va + block->insn[i].at < rip)
		i++;
	TZ_ASSERT(rip ==
	    (i < block->insns ? block->va + block->insn[i].at
			      : block->next_va));
	return i;
}

const struct block_insn *
block_insn_at(const struct block *block, uint64_t va)
{
	for (unsigned i = 0; i < block->insns; i++) {
		if (block->va + block->insn[i].at == va)
			return &block->insn[i];
	}
	return NULL;
}
