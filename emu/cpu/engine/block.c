#include "emu/cpu/engine/code_page.h"
#include "emu/cpu/engine/stale.h"

#include <assert.h>
#include <stdlib.h>

#define BLOCKS_MAX   65536
#define BUCKETS      65536
#define INSNS_MAX    524288  /* of all blocks */
#define BYTES_MAX    1048576 /* of the writable ones */
#define ACCESSES_MAX 65536   /* of the audited ones */
#define STEPS        4096
#define SPACES_MAX   64
#define PAGES_MAX    1024
#define FRAMES_MAX   4096
#define KERNEL_SPACE 0
#define NO_CR3       UINT64_MAX
#define CHANGES_MAX  8

/* A frame from which code was decoded, and maybe translated by the engine. */
struct code_frame {
	uint64_t pa, hash;
};

struct block_cache {
	struct block block[BLOCKS_MAX];
	struct block *bucket[BUCKETS];
	struct code_page page[PAGES_MAX];
	uint64_t cr3[SPACES_MAX]; /* of the user halves; index 0 is the kernel's
				     half */
	struct code_frame frame[FRAMES_MAX];
	unsigned frame_count; /* FRAMES_MAX: there may be others */
	unsigned block_count, page_count, space_count;
	unsigned gone_count; /* pages of the kernel's half that are .gone */
	uint8_t user_space;
	bool shared; /* two user spaces have a writable page of code in common */
	struct code_change change[CHANGES_MAX];
	unsigned change_count;
	uint32_t age, epoch;
	struct block *step[STEPS]; /* of one instruction each, by address */
	unsigned insn_count, byte_count;
	struct block_insn insn[INSNS_MAX];
	uint8_t bytes[BYTES_MAX];
	struct audit audit;
	unsigned access_count;
	struct block_access access[ACCESSES_MAX];
	struct insn_cache known;
	struct far_successors *far;
};

struct block_cache *
block_cache_create(void)
{
	struct far_successors *far = calloc(1, sizeof(*far));
	struct block_cache *cache = tz_map(sizeof(*cache));

	static_assert(FAR_SUCCESSORS == 1 << 12, "far_successor_at()");
	if (far == NULL || cache == NULL) {
		free(far);
		tz_unmap(cache, sizeof(*cache));
		return NULL;
	}
	cache->far = far;
	cache->user_space = 1;
	cache->space_count = 2;
	return cache;
}

void
block_cache_destroy(struct block_cache *cache)
{
	if (cache != NULL)
		free(cache->far);
	tz_unmap(cache, sizeof(*cache));
}

struct far_successors *
block_cache_far(struct block_cache *cache)
{
	return cache->far;
}

/* Successors in the table may lead from or to blocks that are not valid any more. */
static void
drop_far_successors(struct block_cache *cache)
{
	cache->far->generation++;
}

void
block_cache_flush(struct block_cache *cache)
{
	drop_far_successors(cache);
	cache->shared = false;
	memset(cache->bucket, 0, sizeof(cache->bucket));
	memset(cache->step, 0, sizeof(cache->step));
	cache->age++;
	cache->insn_count = cache->byte_count = cache->access_count = 0;
	cache->cr3[1] = cache->cr3[cache->user_space];
	cache->user_space = 1;
	cache->space_count = 2;
	cache->block_count = 0;
	cache->page_count = 0;
	cache->gone_count = 0;
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

static void
set_hash(struct block_cache *cache, struct code_page *page, uint64_t hash)
{
	page->hash = hash;
	if (page->frame < FRAMES_MAX)
		cache->frame[page->frame].hash = hash;
}

/* The frame PA of the page at VA may have changed since it was translated. */
static void
note_change(struct block_cache *cache, uint64_t va, uint64_t pa)
{
	TZ_ASSERT(va % TZ_PAGE_BYTES == 0 && pa % TZ_PAGE_BYTES == 0);
	for (unsigned i = 0; i < cache->change_count; i++) {
		if (cache->change[i].va == va && cache->change[i].pa == pa)
			return;
	}
	TZ_ASSERT(cache->change_count < CHANGES_MAX);
	cache->change[cache->change_count++] = (struct code_change){ va, pa };
}

bool
block_cache_take_change(struct block_cache *cache, struct code_change *change)
{
	if (cache->change_count == 0)
		return false;
	*change = cache->change[--cache->change_count];
	return true;
}

static void
select_user_space(struct block_cache *cache, uint64_t cr3)
{
	/* All spaces that share the page share one translation, but each has its
	 * own copy of the bytes. */
	if (cache->shared && cache->cr3[cache->user_space] != cr3)
		block_cache_flush(cache);
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

/*
 * The selected user space becomes another one: its descriptors are not found any more,
 * those of the kernel and of other spaces stay.  No block of another space leads to one
 * of them but by a far transfer, which is no successor.
 */
static void
drop_user_space(struct block_cache *cache)
{
	uint64_t cr3 = cache->cr3[cache->user_space];
	unsigned kept = 0;

	if (cache->space_count == SPACES_MAX) {
		block_cache_flush(cache);
		return;
	}
	for (unsigned i = 0; i < cache->page_count; i++) {
		if (cache->page[i].space != cache->user_space)
			cache->page[kept++] = cache->page[i];
	}
	cache->page_count = kept;
	cache->cr3[cache->user_space] = NO_CR3;
	cache->user_space = (uint8_t)cache->space_count;
	cache->cr3[cache->space_count++] = cr3;
	drop_far_successors(cache);
	cache->age++;
}

/* The content of PAGE has changed: drop all descriptors. */
static void
replace_code(struct block_cache *cache, const struct walk_space *space,
    struct code_page *page)
{
	note_change(cache, page->va, page->pa);
	set_hash(cache, page, code_page_hash(space, page->pa));
	block_cache_flush(cache);
}

void
block_cache_verify(struct block_cache *cache, const struct walk_space *space,
    const struct code_written *written)
{
	cache->epoch = written->epoch;
	for (unsigned i = 0; i < cache->page_count; i++) {
		struct code_page *page = &cache->page[i];

		if ((page->space == KERNEL_SPACE ||
			page->space == cache->user_space) &&
		    !page->writable &&
		    code_page_differs(page, space, written)) {
			replace_code(cache, space, page);
			return;
		}
	}
}

/*
 * A page of the kernel's half is not mapped now.  Its blocks are kept, because a driver is
 * loaded anew in each schedule.
 */
static void
lose_page(struct block_cache *cache, struct code_page *page)
{
	if (page->gone)
		return;
	page->gone = true;
	cache->gone_count++;
}

/* Nothing leads to blocks of lost pages until block_find() has seen their page again. */
static void
hide_lost_blocks(struct block_cache *cache)
{
	memset(cache->step, 0, sizeof(cache->step));
	block_cache_forget_edges(cache);
	cache->age++;
}

/* WRITTEN NULL: the content of pages has been checked already.  True: PAGE was dropped. */
static bool
check_page(struct block_cache *cache, const struct walk_space *space,
    const struct code_written *written, struct code_page *page)
{
	enum code_placement placement = code_page_placement(page, space);
	bool kernel = page->space == KERNEL_SPACE;

	if (placement == CODE_STAYED) {
		if (written == NULL || page->writable ||
		    !code_page_differs(page, space, written))
			return false;
		replace_code(cache, space, page);
	} else if (kernel && placement == CODE_UNMAPPED) {
		lose_page(cache, page);
		return false;
	} else if (kernel) {
		block_cache_flush(cache);
	} else {
		drop_user_space(cache);
	}
	return true;
}

static bool
select_space(struct block_cache *cache, const struct walk_space *space,
    const struct code_written *written)
{
	uint32_t age = cache->age;
	unsigned gone = cache->gone_count;

	if (written != NULL)
		cache->epoch = written->epoch;
	select_user_space(cache, space->cr3);
	for (unsigned i = 0; i < cache->page_count; i++) {
		struct code_page *page = &cache->page[i];

		if ((page->space == KERNEL_SPACE ||
			page->space == cache->user_space) &&
		    check_page(cache, space, written, page))
			break;
	}
	if (cache->gone_count > gone)
		hide_lost_blocks(cache);
	return cache->age != age;
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
block_cache_compare(struct block_cache *cache, const struct walk_space *space,
    const uint64_t *changed, block_forget_fn forget, void *arg)
{
	bool any = false;

	for (unsigned i = 0; i < cache->frame_count; i++) {
		struct code_frame *frame = &cache->frame[i];
		uint64_t page = frame->pa / TZ_PAGE_BYTES, hash;

		if (changed != NULL && !(changed[page / 64] >> page % 64 & 1))
			continue;
		hash = code_page_hash(space, frame->pa);
		if (hash == frame->hash)
			continue;
		frame->hash = hash;
		forget(arg, frame->pa);
		any = true;
	}
	if (any)
		block_cache_flush(cache);
	return cache->frame_count < FRAMES_MAX;
}

void
block_cache_forget_code(struct block_cache *cache)
{
	block_cache_flush(cache);
	cache->frame_count = 0;
}

void
block_cache_unhook(struct block_cache *cache)
{
	drop_far_successors(cache);
	for (unsigned i = 0; i < cache->block_count; i++) {
		struct block *block = &cache->block[i];

		block->hooked = false;
		for (unsigned s = 0; s < 2; s++) {
			struct successor *successor = &block->successor[s];

			if (successor->key != EDGE_UNUSED &&
			    successor->to->has_sites)
				successor->key = EDGE_UNUSED;
		}
	}
}

void
block_cache_forget_edges(struct block_cache *cache)
{
	drop_far_successors(cache);
	for (unsigned i = 0; i < cache->block_count; i++) {
		struct successor *successor = cache->block[i].successor;

		successor[0].key = successor[1].key = EDGE_UNUSED;
		cache->block[i].word = 0;
	}
}

/* True if the content of PAGE differs from when code of its frame was last decoded. */
static bool
is_other(const struct block_cache *cache, const struct code_page *page,
    uint64_t hash)
{
	return page->frame == FRAMES_MAX ||
	    cache->frame[page->frame].hash != hash;
}

static unsigned
find_frame(const struct block_cache *cache, uint64_t pa)
{
	unsigned i = 0;

	while (i < cache->frame_count && cache->frame[i].pa != pa)
		i++;
	return i < cache->frame_count ? i : FRAMES_MAX;
}

/*
 * Code decoded there from now on has the current content.  Translations of a
 * writable frame are as old as the bytes of their blocks, which have been dropped.
 */
static void
note_frame(struct block_cache *cache, struct code_page *page)
{
	page->frame = find_frame(cache, page->pa);
	if (page->frame == FRAMES_MAX && cache->frame_count < FRAMES_MAX) {
		page->frame = cache->frame_count++;
		cache->frame[page->frame] = (struct code_frame){ .pa = page->pa,
			.hash = page->hash };
	} else if (page->writable || is_other(cache, page, page->hash)) {
		note_change(cache, page->va, page->pa);
		set_hash(cache, page, page->hash);
	}
}

/*
 * More code is decoded in PAGE, which may have been written since.  False: it was
 * written, and its blocks cannot detect that, because they have no copy of their
 * bytes.
 */
static bool
look_at_page(struct block_cache *cache, const struct walk_space *space,
    struct code_page *page)
{
	uint64_t hash = code_page_hash(space, page->pa);
	bool same = hash == page->hash;

	if (is_other(cache, page, hash))
		note_change(cache, page->va, page->pa);
	set_hash(cache, page, hash);
	return same || page->writable;
}

/* False: PAGE was gone and is another one now. */
static bool
find_again(
    struct block_cache *cache, struct code_page *page, const struct walk *walk)
{
	if (!page->gone)
		return true;
	page->gone = false;
	cache->gone_count--;
	return !code_page_moved(page, walk);
}

static unsigned
bucket_of(uint64_t va, uint32_t size, uint8_t space)
{
	uint64_t key = va ^ ((uint64_t)size << 44) ^ ((uint64_t)space << 56);

	return (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> 48) % BUCKETS;
}

/* Records the page of VA; false: no room for another page, or all must be dropped. */
static bool
note_page(struct block_cache *cache, const struct walk_space *space, uint8_t id,
    uint64_t va, bool *writable)
{
	struct walk walk;

	va -= va % TZ_PAGE_BYTES;
	if (!walk_page(space, (struct gva){ va }, &walk))
		return true;
	*writable |= walk.writable;
	for (unsigned i = 0; i < cache->page_count; i++) {
		struct code_page *page = &cache->page[i];

		if (page->va == va && page->space == id)
			return find_again(cache, page, &walk) &&
			    look_at_page(cache, space, page);
		cache->shared |= page->va == va && page->pa == walk.pa.u &&
		    walk.writable;
	}
	if (cache->page_count == PAGES_MAX)
		return false;
	cache->page[cache->page_count++] = (struct code_page){
		.va = va,
		.pa = walk.pa.u,
		.hash = code_page_hash(space, walk.pa.u),
		.epoch = cache->epoch,
		.space = id,
		.writable = walk.writable,
	};
	note_frame(cache, &cache->page[cache->page_count - 1]);
	return true;
}

/* The same for the pages of [VA, VA + SIZE). */
static bool
note_pages(struct block_cache *cache, const struct walk_space *space,
    uint8_t id, uint64_t va, uint32_t size, bool *writable)
{
	return note_page(cache, space, id, va, writable) &&
	    (va / TZ_PAGE_BYTES == (va + size - 1) / TZ_PAGE_BYTES ||
		note_page(cache, space, id, va + size - 1, writable));
}

/* The place in RAM of COUNT bytes at VA, which lie in one page; NULL: not in RAM. */
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

/* Copies the bytes of a writable block. */
static void
keep_bytes(struct block_cache *cache, struct block *block,
    const struct walk_space *space)
{
	uint8_t *bytes = &cache->bytes[cache->byte_count];
	uint32_t first = TZ_PAGE_BYTES - (uint32_t)(block->va % TZ_PAGE_BYTES);
	uint32_t split = first < block->size ? first : block->size;
	uint32_t rest = block->size - split;

	TZ_ASSERT(rest <= TZ_PAGE_BYTES);
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

static bool
refers_to_itself(void *arg, uint64_t va, unsigned index,
    const struct insn *insn, const uint8_t *bytes)
{
	struct block *block = arg;

	(void)index;
	block->wary |= insn_refers_to(
	    bytes, insn->length, va, block->va + 1, block->va + block->size);
	return !block->wary;
}

static void
describe(struct block_cache *cache, struct block *block,
    const struct walk_space *space)
{
	block_describe(block, space, &cache->audit, &cache->known,
	    &cache->insn[cache->insn_count],
	    &cache->access[cache->access_count]);
	cache->insn_count += block->insns;
	cache->access_count += block->access_count;
	if (block->writable)
		keep_bytes(cache, block, space);
	if (block_is_risky(block))
		block_visit(
		    block, space, &cache->known, refers_to_itself, block);
}

/* The translation of BLOCK is old, even if its pages have been restored since. */
static void
note_stale(struct block_cache *cache, const struct walk_space *space,
    const struct block *block)
{
	uint64_t va = block->va - block->va % TZ_PAGE_BYTES;

	TZ_ASSERT(block_is_stale(block));
	for (unsigned i = 0; i < 2 && block->code[i] != NULL; i++) {
		uint64_t pa = (uint64_t)(block->code[i] - space->ram);

		note_change(
		    cache, va + i * TZ_PAGE_BYTES, pa - pa % TZ_PAGE_BYTES);
	}
}

/* True if a page of BLOCK was not mapped when last looked at. */
static bool
is_gone(const struct block_cache *cache, const struct block *block)
{
	uint64_t first = block->va - block->va % TZ_PAGE_BYTES;
	uint64_t end = block->va + block->size;

	for (unsigned i = 0; i < cache->page_count; i++) {
		const struct code_page *page = &cache->page[i];

		if (page->gone && page->space == block->space &&
		    page->va >= first && page->va < end)
			return true;
	}
	return false;
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
		if (block->va != va || block->size != size ||
		    block->space != id)
			continue;
		if (cache->gone_count > 0 && is_gone(cache, block) &&
		    !note_pages(cache, space, id, va, size, &writable))
			return NULL;
		if (!block_is_stale(block))
			return block;
		note_stale(cache, space, block);
		return NULL;
	}
	if (cache->block_count == BLOCKS_MAX ||
	    cache->insn_count > INSNS_MAX - BLOCK_BYTES_MAX ||
	    cache->byte_count > BYTES_MAX - BLOCK_BYTES_MAX ||
	    cache->access_count > ACCESSES_MAX - 2 * BLOCK_BYTES_MAX ||
	    !note_pages(cache, space, id, va, size, &writable))
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

bool
block_decode_insn(struct block_cache *cache, const uint8_t *bytes, size_t count,
    uint64_t va, struct insn *insn)
{
	return insn_cache_decode(&cache->known, bytes, count, va, insn);
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
