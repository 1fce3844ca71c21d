/*
 * Ranges of user addresses and the frames that they map.  Everything is mapped
 * when the range is created; a page fault of ring 3 never adds a page.
 */
#include "harness/guest/internal.h"

/* The lowest address of ranges that the kernel places. */
#define PLACE_BEGIN UINT64_C(0x100000000000)
#define MAP_AT_ONCE 32 /* pages */

int
region_add(struct space *space, uint64_t va, uint64_t pages,
    enum region_kind kind, struct region **region)
{
	struct region **link = &space->regions;
	uint64_t bytes = pages * PAGE_BYTES;

	while (*link != NULL && (*link)->va + (*link)->pages * PAGE_BYTES <= va)
		link = &(*link)->next;
	if (*link != NULL && (*link)->va < va + bytes)
		return KE_EXIST;
	*region = bucket_alloc(sizeof(**region));
	if (*region == NULL)
		return KE_NOMEM;
	**region = (struct region){
		.next = *link, .va = va, .pages = pages, .kind = kind
	};
	*link = *region;
	return 0;
}

/* First fit from PLACE_BEGIN on; one page stays unmapped between ranges. */
static uint64_t
find_place(const struct space *space, uint64_t pages)
{
	uint64_t va = PLACE_BEGIN;

	for (const struct region *region = space->regions; region != NULL;
	     region = region->next) {
		uint64_t end = region->va + (region->pages + 1) * PAGE_BYTES;

		if (region->va < va + (pages + 1) * PAGE_BYTES && end > va)
			va = end;
	}
	return va;
}

/* On failure, frees the frames that are not mapped. */
static int
fill_part(struct space *space, uint64_t va, uint64_t count, unsigned flags)
{
	uint64_t pas[MAP_AT_ONCE];
	uint64_t taken = 0;
	int error = KE_NOMEM;

	for (; taken < count; taken++) {
		pas[taken] = frame_alloc();
		if (pas[taken] == FRAME_NONE)
			break;
		memset(phys_to_virt(pas[taken]), 0, PAGE_BYTES);
	}
	if (taken == count)
		error = space_map_all(space->cr3, va, pas, count, flags);
	for (uint64_t i = 0; error != 0 && i < taken; i++) {
		if (space_walk(space->cr3, va + i * PAGE_BYTES) == 0)
			frame_free(pas[i]);
	}
	return error;
}

int
region_fill(struct space *space, const struct region *region, unsigned flags)
{
	uint64_t part;
	int error = 0;

	for (uint64_t done = 0; done < region->pages && error == 0;
	     done += part) {
		part = region->pages - done;
		if (part > MAP_AT_ONCE)
			part = MAP_AT_ONCE;
		error = fill_part(space, region->va + done * PAGE_BYTES, part,
		    flags | MAP_USER);
	}
	return error;
}

/* Collects the frames first, and frees them when no CPU can reach them. */
static void
clear_pages(
    struct space *space, uint64_t va, uint64_t pages, bool owned, bool flush)
{
	uint64_t pas[ABI_CLEAR_MAX];

	for (uint64_t done = 0; done < pages;) {
		uint64_t at = va + done * PAGE_BYTES;
		uint64_t part = pages - done;

		if (part > ABI_CLEAR_MAX)
			part = ABI_CLEAR_MAX;
		space_clear(space->cr3, at, part, pas);
		if (flush)
			flush_space(space->cr3, at, part);
		if (owned)
			frame_retire(pas, part);
		done += part;
	}
}

/* FLUSH: the space is in use. */
static void
take_away(struct space *space, struct region *region, bool flush)
{
	struct region **link = &space->regions;

	while (*link != region)
		link = &(*link)->next;
	*link = region->next;
	clear_pages(space, region->va, region->pages,
	    region->kind == REGION_OWNED, flush);
	if (region->device != NULL) {
		space->device_regions--;
		device_release(region->device);
	}
	bucket_free(region);
}

void
region_remove(struct space *space, struct region *region)
{
	take_away(space, region, true);
}

void
space_release(struct space *space)
{
	while (space->regions != NULL)
		take_away(space, space->regions, false);
	space_destroy(space->cr3);
	space->cr3 = 0;
}

int64_t
region_map_anon(struct space *space, uint64_t bytes)
{
	uint64_t pages = bytes / PAGE_BYTES + (bytes % PAGE_BYTES != 0);
	struct region *region;
	int error;

	if (pages == 0 || pages > frame_free_count())
		return pages == 0 ? -KE_INVAL : -KE_NOMEM;
	error = region_add(
	    space, find_place(space, pages), pages, REGION_OWNED, &region);
	if (error != 0)
		return -error;
	error = region_fill(space, region, MAP_WRITE);
	if (error != 0) {
		region_remove(space, region);
		return -error;
	}
	return (int64_t)region->va;
}

/* Frames that are not mapped yet are freed here, the others with the region. */
static int
map_run(struct space *space, const struct region *region, uint64_t pa)
{
	int error = 0;

	memset(phys_to_virt(pa), 0, region->pages * PAGE_BYTES);
	for (uint64_t i = 0; i < region->pages; i++) {
		uint64_t at = i * PAGE_BYTES;

		if (error == 0)
			error = space_map(space->cr3, region->va + at, pa + at,
			    MAP_USER | MAP_WRITE);
		if (error != 0)
			frame_free(pa + at);
	}
	return error;
}

int64_t
region_map_run(struct space *space, uint64_t bytes, uint64_t *pa)
{
	uint64_t pages = bytes / PAGE_BYTES + (bytes % PAGE_BYTES != 0);
	struct region *region;
	int error;

	*pa = frame_alloc_run(pages);
	if (*pa == FRAME_NONE)
		return pages == 0 ? -KE_INVAL : -KE_NOMEM;
	error = region_add(
	    space, find_place(space, pages), pages, REGION_OWNED, &region);
	if (error != 0) {
		for (uint64_t i = 0; i < pages; i++)
			frame_free(*pa + i * PAGE_BYTES);
		return -error;
	}
	error = map_run(space, region, *pa);
	if (error != 0) {
		region_remove(space, region);
		return -error;
	}
	return (int64_t)region->va;
}

/* Maps at most MAP_AT_ONCE of COUNT pages, from the region's page FIRST on. */
static int
map_device_part(struct space *space, const struct region *region,
    uint64_t first, uint64_t count, unsigned flags)
{
	struct device *device = region->device;
	uint64_t pas[MAP_AT_ONCE];
	int error = 0;

	if (count > MAP_AT_ONCE)
		count = MAP_AT_ONCE;
	for (uint64_t i = 0; i < count && error == 0; i++)
		error = device->ops->page(
		    device, region->offset + (first + i) * PAGE_BYTES, &pas[i]);
	return error != 0
	    ? error
	    : space_map_all(space->cr3, region->va + first * PAGE_BYTES, pas,
		  count, flags);
}

int64_t
region_map_device(struct space *space, struct device *device, uint64_t offset,
    uint64_t bytes, int prot)
{
	uint64_t pages = bytes / PAGE_BYTES;
	unsigned flags = (prot & SYS_PROT_WRITE) != 0 ? MAP_WRITE : 0;
	struct region *region;
	int error = region_add(
	    space, find_place(space, pages), pages, REGION_DEVICE, &region);

	if (error != 0)
		return -error;
	__atomic_add_fetch(&space->device_regions, 1, __ATOMIC_SEQ_CST);
	region->device = device;
	region->offset = offset;
	device_reference(device);
	for (uint64_t i = 0; i < pages && error == 0; i += MAP_AT_ONCE)
		error = map_device_part(
		    space, region, i, pages - i, MAP_USER | flags);
	if (error != 0) {
		region_remove(space, region);
		return -error;
	}
	return (int64_t)region->va;
}

int
region_unmap(struct space *space, uint64_t va, uint64_t bytes)
{
	for (struct region *region = space->regions; region != NULL;
	     region = region->next) {
		if (region->va != va)
			continue;
		if (region->pages * PAGE_BYTES !=
		    ((bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1)))
			return KE_INVAL;
		region_remove(space, region);
		return 0;
	}
	return KE_INVAL;
}

static void
unmap_frame_in(struct space *space, uint64_t pa, uint64_t offset)
{
	for (const struct region *region = space->regions; region != NULL;
	     region = region->next) {
		uint64_t at = offset - region->offset;

		if (region->kind != REGION_DEVICE || offset < region->offset ||
		    at / PAGE_BYTES >= region->pages ||
		    !space_clear_frame(space->cr3, region->va + at, pa))
			continue;
		flush_space(space->cr3, region->va + at, 1);
	}
}

/* A mapping in progress is counted before it asks for its first frame. */
void
process_unmap_frame(uint64_t pa, uint64_t offset)
{
	mutex_lock(&process_list_lock);
	for (struct process *process = process_list; process != NULL;
	     process = process->next) {
		if (__atomic_load_n(
			&process->space.device_regions, __ATOMIC_SEQ_CST) == 0)
			continue;
		mutex_lock(&process->lock);
		if (process->space.cr3 != 0)
			unmap_frame_in(&process->space, pa, offset);
		mutex_unlock(&process->lock);
	}
	mutex_unlock(&process_list_lock);
}

bool
process_executes_at(uint64_t va)
{
	struct process *process = process_self();
	const struct region *region;
	bool executes = false;

	mutex_lock(&process->lock);
	for (region = process->space.regions; region != NULL;
	     region = region->next) {
		if (va >= region->va &&
		    va - region->va < region->pages * PAGE_BYTES)
			executes = region->executes;
	}
	mutex_unlock(&process->lock);
	return executes;
}
