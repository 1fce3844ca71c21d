/*
 * The heap that finds wrong use (heap=guard).  Every allocation has pages of its
 * own, with an unmapped one on each side.  It ends at the end of its pages, or as
 * close to it as its alignment (that of a bucket of malloc(9)) allows.  A free looks
 * whether the other bytes of the pages have changed.
 * Freed pages are unmapped, and their addresses are never used again.
 */
#include "harness/guest/internal.h"

#define GUARD_PAGES (UINT64_C(1) << 20)
#define CHUNK_PAGES 512 /* pointers in a frame */
#define FILL        0xa5

struct guard {
	uint64_t va, bytes;
	uint64_t first, pages; /* pages of the range */
	const void *made_by, *freed_by;
};

static struct guard **chunks[GUARD_PAGES / CHUNK_PAGES];
static uint64_t next_page = 1;
static uint32_t unflushed; /* frames that a TLB may still map, linked */
static struct spin guard_lock = SPIN_INIT("guard heap");

static uint64_t
page_va(uint64_t page)
{
	return GUARD_BASE + page * PAGE_BYTES;
}

/* The allocation that PAGE belongs to; NULL: none. */
static struct guard *
guard_at(uint64_t page)
{
	struct guard **chunk;

	if (page >= GUARD_PAGES)
		return NULL;
	chunk = chunks[page / CHUNK_PAGES];
	return chunk != NULL ? chunk[page % CHUNK_PAGES] : NULL;
}

/* With guard_lock held. */
static bool
note_page(uint64_t page, struct guard *guard)
{
	struct guard ***chunk = &chunks[page / CHUNK_PAGES];

	if (*chunk == NULL) {
		uint64_t pa = frame_alloc();

		if (pa == FRAME_NONE)
			return false;
		*chunk = phys_to_virt(pa);
		memset(*chunk, 0, PAGE_BYTES);
	}
	(*chunk)[page % CHUNK_PAGES] = guard;
	return true;
}

static bool
reserve(struct guard *guard)
{
	bool done;

	spin_lock(&guard_lock);
	done = guard->pages < GUARD_PAGES - next_page;
	guard->first = next_page;
	for (uint64_t i = 0; i < guard->pages && done; i++)
		done = note_page(guard->first + i, guard);
	if (done)
		next_page += guard->pages + 1;
	spin_unlock(&guard_lock);
	return done;
}

/* False: no memory; the pages that were mapped until then stay mapped. */
static bool
map(const struct guard *guard)
{
	for (uint64_t i = 0; i < guard->pages; i++) {
		uint64_t pa = frame_alloc();

		if (pa == FRAME_NONE)
			return false;
		memset(phys_to_virt(pa), FILL, PAGE_BYTES);
		if (kva_map(page_va(guard->first + i), pa, MAP_WRITE) != 0)
			return false;
	}
	return true;
}

void *
guard_alloc(size_t bytes, size_t align, const void *caller)
{
	struct guard *guard;
	uint64_t taken = (bytes + align - 1) & ~(align - 1);

	if (bytes > frame_free_count() * PAGE_BYTES)
		return NULL;
	guard = bucket_alloc(sizeof(*guard));
	if (guard == NULL)
		return NULL;
	*guard = (struct guard){ .bytes = bytes,
		.pages = (taken + PAGE_BYTES - 1) / PAGE_BYTES,
		.made_by = caller };
	if (!reserve(guard) || !map(guard))
		return NULL;
	guard->va = page_va(guard->first + guard->pages) - taken;
	return (void *)(uintptr_t)guard->va;
}

static bool
is_untouched(uint64_t from, uint64_t to)
{
	uint64_t bytes = to - from;
	bool equal;

	if (bytes == 0)
		return true;
	__asm__ volatile("repe scasb"
			 : "+D"(from), "+c"(bytes), "=@cce"(equal)
			 : "a"((uint8_t)FILL)
			 : "memory");
	return equal;
}

static void
check_margins(const struct guard *guard)
{
	uint64_t end = guard->va + guard->bytes;

	if (!is_untouched(page_va(guard->first), guard->va))
		kpanic("heap underrun: bytes before %#lx, %lu bytes allocated "
		       "by %p",
		    guard->va, guard->bytes, guard->made_by);
	if (!is_untouched(end, page_va(guard->first + guard->pages)))
		kpanic("heap overrun: bytes behind %#lx, %lu bytes allocated "
		       "by %p",
		    guard->va, guard->bytes, guard->made_by);
}

static void
retire_unflushed(void)
{
	uint32_t number;

	spin_lock(&guard_lock);
	number = unflushed;
	unflushed = 0;
	spin_unlock(&guard_lock);
	if (number == 0)
		return;
	flush_all_cpus(0, UINT64_MAX);
	while (number != 0) {
		uint64_t pa = number * PAGE_BYTES;

		number = frame_of(pa)->next;
		frame_retire(&pa, 1);
	}
}

/* If this CPU must not wait for others now, a later free gives the frames back. */
static void
unmap(const struct guard *guard)
{
	bool may_wait = intr_enabled() && !cpu_in_spin() && !cpu_in_interrupt();

	for (uint64_t i = 0; i < guard->pages; i++) {
		uint64_t va = page_va(guard->first + i);
		uint64_t pa;

		space_clear(kernel_cr3, va, 1, &pa);
		invlpg(va);
		spin_lock(&guard_lock);
		frame_of(pa)->next = unflushed;
		unflushed = (uint32_t)(pa / PAGE_BYTES);
		spin_unlock(&guard_lock);
	}
	if (may_wait)
		retire_unflushed();
}

void
guard_free(void *va, const void *caller)
{
	uint64_t at = (uintptr_t)va;
	struct guard *guard = guard_at((at - GUARD_BASE) / PAGE_BYTES);
	const void *freed_by;

	if (guard == NULL || guard->va != at)
		kpanic("free of %p, which is not allocated", va);
	spin_lock(&guard_lock);
	freed_by = guard->freed_by;
	guard->freed_by = caller;
	spin_unlock(&guard_lock);
	if (freed_by != NULL)
		kpanic("double free: %p, %lu bytes allocated by %p, freed by "
		       "%p",
		    va, guard->bytes, guard->made_by, freed_by);
	check_margins(guard);
	unmap(guard);
}

size_t
guard_usable_bytes(const void *va)
{
	uint64_t at = (uintptr_t)va;
	const struct guard *guard = guard_at((at - GUARD_BASE) / PAGE_BYTES);

	return guard != NULL && guard->va == at ? guard->bytes : 0;
}

bool
guard_describe(uint64_t va, char *text, size_t bytes)
{
	uint64_t page = (va - GUARD_BASE) / PAGE_BYTES;
	const struct guard *guard;

	if (va < GUARD_BASE || page >= GUARD_PAGES)
		return false;
	if ((guard = guard_at(page)) != NULL)
		ksnprintf(text, bytes,
		    "use after free: %#lx, of %lu bytes at %#lx allocated by "
		    "%p, freed by %p",
		    va, guard->bytes, guard->va, guard->made_by,
		    guard->freed_by);
	else if ((guard = guard_at(page - 1)) != NULL)
		ksnprintf(text, bytes,
		    "heap overrun: %#lx, behind %lu bytes at %#lx allocated by "
		    "%p",
		    va, guard->bytes, guard->va, guard->made_by);
	else if ((guard = guard_at(page + 1)) != NULL)
		ksnprintf(text, bytes,
		    "heap underrun: %#lx, before %lu bytes at %#lx allocated "
		    "by %p",
		    va, guard->bytes, guard->va, guard->made_by);
	return guard != NULL;
}
