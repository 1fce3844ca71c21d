/*
 * The heap, with FreeBSD's placement.  Small sizes: buckets of 16..4096 bytes,
 * each item aligned to its size, several in a page (slab); the first free item
 * of the slab that became non-full last.  At boot some items of every bucket
 * are taken, as on a running system (heap_seed=N).  Larger sizes: single
 * frames, mapped at linear addresses of their own.
 *
 * heap=pages: no size is smaller than a page, so that each allocation begins a
 * page, as with FreeBSD's memguard(9).
 *
 * Memory that is allocated for the first time is filled with 0xa5.
 */
#include "harness/guest/internal.h"

#define BUCKETS       9 /* of 16 .. 4096 bytes */
#define FILL          0xa5
#define BOOT_SLABS    2 /* a bucket, partly taken */
#define PAGES_AT_ONCE 64

struct large {
	struct large *next;
	uint64_t va, count;
};

static uint32_t with_room[BUCKETS]; /* frame numbers of slabs, linked */
static struct large *larges;
static struct spin heap_lock = SPIN_INIT("heap");
static bool guarded; /* heap=guard */
static bool paged;   /* heap=pages */

static unsigned
items_in_slab(unsigned bucket)
{
	return (unsigned)(PAGE_BYTES / frame_item_bytes(bucket));
}

static unsigned
bucket_for(size_t bytes)
{
	unsigned bucket = 0;

	while (frame_item_bytes(bucket) < bytes)
		bucket++;
	return bucket;
}

static uint32_t
add_slab(unsigned bucket)
{
	uint64_t pa = frame_alloc();
	struct frame *frame;

	if (pa == FRAME_NONE)
		return 0;
	frame = frame_of(pa);
	*frame = (struct frame){ .kind = FRAME_SLAB,
		.bucket = (uint8_t)bucket,
		.next = with_room[bucket] };
	with_room[bucket] = (uint32_t)(pa / PAGE_BYTES);
	memset(phys_to_virt(pa), FILL, PAGE_BYTES);
	return with_room[bucket];
}

static unsigned
first_free(const struct frame *frame)
{
	unsigned word = 0;

	while (frame->taken[word] == UINT64_MAX)
		word++;
	return word * 64 + (unsigned)__builtin_ctzll(~frame->taken[word]);
}

static void
take_item(struct frame *frame, unsigned item)
{
	frame->taken[item / 64] |= UINT64_C(1) << item % 64;
	frame->used++;
}

/* With heap_lock held. */
static void *
take_from_bucket(unsigned bucket)
{
	uint32_t number = with_room[bucket];
	struct frame *frame;
	unsigned item;

	if (number == 0)
		number = add_slab(bucket);
	if (number == 0)
		return NULL;
	frame = frame_of(number * PAGE_BYTES);
	item = first_free(frame);
	take_item(frame, item);
	if (frame->used == items_in_slab(bucket))
		with_room[bucket] = frame->next;
	return (char *)phys_to_virt(number * PAGE_BYTES) +
	    item * frame_item_bytes(bucket);
}

void *
bucket_alloc(size_t bytes)
{
	void *item;

	if (bytes > PAGE_BYTES)
		kpanic("bucket_alloc of %zu bytes", bytes);
	spin_lock(&heap_lock);
	item = take_from_bucket(bucket_for(bytes));
	spin_unlock(&heap_lock);
	return item;
}

/* The slab of VA and the index of the item; NULL: no slab, or a free item. */
static struct frame *
find_item(const void *va, unsigned *item)
{
	uint64_t at = (uintptr_t)va;
	struct frame *frame;
	size_t bytes;

	if (at < ABI_DMAP || (frame = frame_of(at - ABI_DMAP)) == NULL ||
	    frame->kind != FRAME_SLAB)
		return NULL;
	bytes = frame_item_bytes(frame->bucket);
	*item = (unsigned)(at % PAGE_BYTES / bytes);
	if (at % bytes != 0 ||
	    (frame->taken[*item / 64] >> *item % 64 & 1) == 0)
		return NULL;
	return frame;
}

void
bucket_free(void *va)
{
	unsigned item;
	struct frame *frame;

	spin_lock(&heap_lock);
	frame = find_item(va, &item);
	if (frame == NULL)
		kpanic("free of %p, which is not allocated", va);
	if (items_in_slab(frame->bucket) == 1)
		frame_assert_unmapped(frame);
	if (frame->used == items_in_slab(frame->bucket)) {
		frame->next = with_room[frame->bucket];
		with_room[frame->bucket] =
		    (uint32_t)(((uintptr_t)va - ABI_DMAP) / PAGE_BYTES);
	}
	frame->taken[item / 64] &= ~(UINT64_C(1) << item % 64);
	frame->used--;
	spin_unlock(&heap_lock);
}

/* Unmaps [VA, +COUNT pages) and frees the mapped frames and the addresses. */
static void
release_pages(uint64_t va, uint64_t count)
{
	uint64_t pas[PAGES_AT_ONCE];

	for (uint64_t done = 0; done < count;) {
		uint64_t at = va + done * PAGE_BYTES;
		uint64_t part = count - done;

		if (part > PAGES_AT_ONCE)
			part = PAGES_AT_ONCE;
		for (uint64_t i = 0; i < part; i++)
			pas[i] = space_walk(kernel_cr3, at + i * PAGE_BYTES);
		kva_unmap(at, part);
		for (uint64_t i = 0; i < part; i++) {
			if (pas[i] != 0)
				frame_free(pas[i]);
		}
		done += part;
	}
	kva_free(va, count);
}

static bool
map_pages(uint64_t va, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t pa = frame_alloc();

		if (pa == FRAME_NONE)
			return false;
		memset(phys_to_virt(pa), FILL, PAGE_BYTES);
		if (kva_map(va + i * PAGE_BYTES, pa, MAP_WRITE) != 0) {
			frame_free(pa);
			return false;
		}
	}
	return true;
}

static void *
alloc_large(size_t bytes)
{
	uint64_t count = bytes / PAGE_BYTES + (bytes % PAGE_BYTES != 0);
	struct large *large = bucket_alloc(sizeof(*large));
	uint64_t va;

	if (large == NULL || count > frame_free_count() ||
	    (va = kva_alloc(count)) == 0)
		goto free_large;
	if (!map_pages(va, count)) {
		release_pages(va, count);
		goto free_large;
	}
	*large = (struct large){ .va = va, .count = count };
	spin_lock(&heap_lock);
	large->next = larges;
	larges = large;
	spin_unlock(&heap_lock);
	return (void *)(uintptr_t)va;
free_large:
	if (large != NULL)
		bucket_free(large);
	return NULL;
}

static bool
free_if_large(const void *va)
{
	struct large **link = &larges;
	struct large *large;

	spin_lock(&heap_lock);
	while (*link != NULL && (*link)->va != (uintptr_t)va)
		link = &(*link)->next;
	large = *link;
	if (large != NULL)
		*link = large->next;
	spin_unlock(&heap_lock);
	if (large == NULL)
		return false;
	release_pages(large->va, large->count);
	bucket_free(large);
	return true;
}

/* The alignment that malloc(9) promises: the bucket's size, at most a page. */
static size_t
promised_alignment(size_t bytes)
{
	size_t align = 1;

	while (align < bytes && align < PAGE_BYTES)
		align *= 2;
	return align;
}

static void *
take(size_t bytes, size_t align, const void *caller)
{
	if (guarded)
		return guard_alloc(bytes, align, caller);
	if (bytes < align)
		bytes = align;
	if (paged && bytes < PAGE_BYTES)
		bytes = PAGE_BYTES;
	return bytes <= PAGE_BYTES ? bucket_alloc(bytes) : alloc_large(bytes);
}

static void *
allocate(size_t bytes, size_t align, int flags, const void *caller)
{
	void *va;

	if (cpu_in_nmi())
		kpanic("nmi: memory allocation in an NMI handler");
	if ((flags & HEAP_WAITOK) != 0)
		assert_can_wait("memory allocation", NULL);
	va = take(bytes, align, caller);
	if (va == NULL) {
		if ((flags & HEAP_WAITOK) != 0)
			kpanic("out of memory: %zu bytes", bytes);
		return NULL;
	}
	if ((flags & HEAP_ZERO) != 0)
		memset(va, 0, bytes);
	host_alloc(va, bytes, caller);
	return va;
}

void *
heap_alloc(size_t bytes, int flags, const void *caller)
{
	if ((flags & HEAP_WAITOK) == 0 &&
	    fault_point(__func__, __builtin_return_address(0)))
		return NULL;
	return allocate(bytes, promised_alignment(bytes), flags, caller);
}

void *
heap_alloc_aligned(size_t bytes, size_t align, int flags, const void *caller)
{
	KERN_ASSERT(
	    align != 0 && (align & (align - 1)) == 0 && align <= PAGE_BYTES);
	if ((flags & HEAP_WAITOK) == 0 &&
	    fault_point(__func__, __builtin_return_address(0)))
		return NULL;
	return allocate(bytes, align, flags, caller);
}

void *
module_alloc(size_t bytes, int flags)
{
	const void *caller = __builtin_return_address(0);

	if ((flags & HEAP_WAITOK) == 0 && fault_point(__func__, caller))
		return NULL;
	return allocate(bytes, promised_alignment(bytes), flags, caller);
}

void
module_free(void *va)
{
	heap_free(va, __builtin_return_address(0));
}

/* Reports to the host first: after the free another CPU may get the memory. */
void
heap_free(void *va, const void *caller)
{
	if (va == NULL)
		return;
	if (cpu_in_nmi())
		kpanic("nmi: free in an NMI handler");
	host_free(va, caller);
	if (guarded)
		guard_free(va, caller);
	else if (!free_if_large(va))
		bucket_free(va);
}

size_t
heap_usable_bytes(const void *va)
{
	unsigned item;
	const struct frame *frame;
	size_t bytes = 0;

	if (guarded)
		return guard_usable_bytes(va);
	spin_lock(&heap_lock);
	frame = find_item(va, &item);
	if (frame != NULL)
		bytes = frame_item_bytes(frame->bucket);
	for (const struct large *large = larges; large != NULL;
	     large = large->next) {
		if (large->va == (uintptr_t)va)
			bytes = large->count * PAGE_BYTES;
	}
	spin_unlock(&heap_lock);
	return bytes;
}

/* xorshift64: any seed but 0. */
static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

void
heap_init(void)
{
	uint64_t state = boot_option("heap_seed", 4) | UINT64_C(1) << 63;
	char mode[16];

	if (boot_text("heap", mode, sizeof(mode))) {
		guarded = strcmp(mode, "guard") == 0;
		paged = strcmp(mode, "pages") == 0;
	}
	if (mode[0] != '\0' && !guarded && !paged &&
	    strcmp(mode, "native") != 0)
		kpanic("heap=%s: neither native, pages nor guard", mode);
	for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
		for (unsigned slab = 0; slab < BOOT_SLABS; slab++) {
			uint32_t number = add_slab(bucket);
			struct frame *frame = frame_of(number * PAGE_BYTES);

			/* Never all: the last item stays free. */
			for (unsigned i = 0; i + 1 < items_in_slab(bucket);
			     i++) {
				if ((next_random(&state) & 1) != 0)
					take_item(frame, i);
			}
		}
	}
}
