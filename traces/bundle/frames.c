#include "traces/bundle/frames.h"

#include "traces/decode/vector.h"

#define FRAMES_PAGE_BYTES 4096u

struct frames_extent {
	uint16_t start, end; /* in the page */
	uint16_t cpu;
	bool reported;
	uint64_t offset;
};

struct frames_page {
	uint64_t number;
	uint64_t owner, first_owner;
	uint64_t before, after; /* numbers of its neighbours in the buffer */
	size_t count, room;
	struct frames_extent *extents; /* sorted, disjoint */
	bool used;
};

struct frames {
	struct frames_page *pages; /* open addressing, a power of two */
	size_t size, used;
	size_t last; /* slot of the page looked up last */
	/* Owner and page of the last frames_name(). */
	uint64_t named_owner, named_page;
	/* The new extents of a page while they are built. */
	struct frames_extent *next;
	size_t next_count, next_room;
	bool failed;
};

struct frames *
frames_create(void)
{
	struct frames *frames = calloc(1, sizeof(*frames));

	if (frames == NULL)
		return NULL;
	frames->size = 1024;
	frames->named_owner = FRAMES_NOBODY;
	frames->pages = calloc(frames->size, sizeof(*frames->pages));
	if (frames->pages == NULL) {
		free(frames);
		return NULL;
	}
	return frames;
}

void
frames_destroy(struct frames *frames)
{
	if (frames == NULL)
		return;
	for (size_t i = 0; i < frames->size; i++)
		free(frames->pages[i].extents);
	free(frames->pages);
	free(frames->next);
	free(frames);
}

/* The slot of page NUMBER, or the free slot for it. */
static size_t
frames_slot(const struct frames_page *pages, size_t size, uint64_t number)
{
	size_t slot = (size_t)(number * 0x9e3779b97f4a7c15 >> 24) & (size - 1);

	while (pages[slot].used && pages[slot].number != number)
		slot = (slot + 1) & (size - 1);
	return slot;
}

static bool
frames_grow(struct frames *frames)
{
	size_t size = frames->size * 2;
	struct frames_page *pages;

	if (frames->used * 2 < frames->size)
		return true;
	pages = calloc(size, sizeof(*pages));
	if (pages == NULL)
		return false;
	for (size_t i = 0; i < frames->size; i++) {
		const struct frames_page *page = &frames->pages[i];

		if (page->used)
			pages[frames_slot(pages, size, page->number)] = *page;
	}
	free(frames->pages);
	frames->pages = pages;
	frames->size = size;
	frames->last = 0;
	return true;
}

static struct frames_page *
frames_page(struct frames *frames, uint64_t number)
{
	struct frames_page *page = &frames->pages[frames->last];

	if (page->used && page->number == number)
		return page;
	if (!frames_grow(frames))
		return NULL;
	frames->last = frames_slot(frames->pages, frames->size, number);
	page = &frames->pages[frames->last];
	if (!page->used) {
		page->used = true;
		page->number = number;
		page->owner = page->first_owner = FRAMES_NOBODY;
		page->before = page->after = FRAMES_NOBODY;
		frames->used++;
	}
	return page;
}

static void
frames_give(struct frames_page *page, uint64_t owner)
{
	page->owner = owner;
	if (page->first_owner == FRAMES_NOBODY)
		page->first_owner = owner;
}

/* Appends EXTENT to the new extents; merges it with the last one if possible. */
static void
frames_put(struct frames *frames, struct frames_extent extent)
{
	struct frames_extent *last;

	if (extent.start >= extent.end)
		return;
	if (frames->next_count != 0) {
		last = &frames->next[frames->next_count - 1];
		if (last->end == extent.start && last->cpu == extent.cpu &&
		    last->reported == extent.reported &&
		    last->offset + (uint64_t)(last->end - last->start) ==
			extent.offset) {
			last->end = extent.end;
			return;
		}
	}
	if (!GROW(frames->next, frames->next_room, frames->next_count + 1)) {
		frames->failed = true;
		return;
	}
	frames->next[frames->next_count++] = extent;
}

/* The part [start, end) of EXTENT. */
static struct frames_extent
frames_part(struct frames_extent extent, uint16_t start, uint16_t end)
{
	if (start > extent.start) {
		extent.offset += (uint64_t)(start - extent.start);
		extent.start = start;
	}
	if (end < extent.end)
		extent.end = end;
	return extent;
}

static void
frames_show(uint64_t number, const struct frames_extent *extent, bool written,
    frames_visit visit, void *arg)
{
	struct frames_span span = {
		.pa = number * FRAMES_PAGE_BYTES + extent->start,
		.bytes = (uint64_t)(extent->end - extent->start),
		.written = written,
		.reported = extent->reported,
		.cpu = extent->cpu,
		.offset = extent->offset,
	};

	if (extent->start < extent->end)
		visit(arg, &span);
}

/* Swaps in the new extents; the page's old array is reused for the next ones. */
static void
frames_commit(struct frames *frames, struct frames_page *page)
{
	struct frames_extent *extents = page->extents;
	size_t room = page->room;

	page->extents = frames->next;
	page->count = frames->next_count;
	page->room = frames->next_room;
	frames->next = extents;
	frames->next_room = room;
	frames->next_count = 0;
}

static bool
frames_write_page(struct frames *frames, uint64_t number,
    struct frames_extent new, frames_visit visit, void *arg)
{
	struct frames_page *page = frames_page(frames, number);
	bool placed = false;

	if (page == NULL)
		return false;
	frames->next_count = 0;
	for (size_t i = 0; i < page->count; i++) {
		struct frames_extent old = page->extents[i], part;

		frames_put(frames, frames_part(old, 0, new.start));
		part = frames_part(old, new.start, new.end);
		frames_show(number, &part, true, visit, arg);
		if (old.end > new.end && !placed) {
			frames_put(frames, new);
			placed = true;
		}
		frames_put(
		    frames, frames_part(old, new.end, FRAMES_PAGE_BYTES));
	}
	if (!placed)
		frames_put(frames, new);
	frames_commit(frames, page);
	return !frames->failed;
}

static bool
frames_read_page(struct frames *frames, uint64_t number, uint16_t start,
    uint16_t end, uint64_t reader, frames_visit visit, void *arg)
{
	struct frames_page *page = frames_page(frames, number);
	struct frames_extent hole = { .start = start };

	if (page == NULL)
		return false;
	frames_give(page, reader);
	frames->next_count = 0;
	for (size_t i = 0; i < page->count; i++) {
		struct frames_extent old = page->extents[i], part;

		frames_put(frames, frames_part(old, 0, start));
		part = frames_part(old, start, end);
		if (part.start < part.end) {
			hole.end = part.start;
			frames_show(number, &hole, false, visit, arg);
			hole.start = part.end;
			frames_show(number, &part, true, visit, arg);
			part.reported = true;
			frames_put(frames, part);
		}
		frames_put(frames, frames_part(old, end, FRAMES_PAGE_BYTES));
	}
	hole.end = end;
	frames_show(number, &hole, false, visit, arg);
	frames_commit(frames, page);
	return !frames->failed;
}

bool
frames_write(struct frames *frames, uint64_t pa, uint64_t bytes, uint16_t cpu,
    uint64_t offset, frames_visit visit, void *arg)
{
	while (bytes != 0) {
		uint64_t at = pa % FRAMES_PAGE_BYTES;
		uint64_t part = FRAMES_PAGE_BYTES - at;
		struct frames_extent extent = { .cpu = cpu, .offset = offset };

		if (part > bytes)
			part = bytes;
		extent.start = (uint16_t)at;
		extent.end = (uint16_t)(at + part);
		if (!frames_write_page(
			frames, pa / FRAMES_PAGE_BYTES, extent, visit, arg))
			return false;
		pa += part;
		offset += part;
		bytes -= part;
	}
	return true;
}

bool
frames_read(struct frames *frames, uint64_t pa, uint64_t bytes, uint64_t reader,
    frames_visit visit, void *arg)
{
	while (bytes != 0) {
		uint64_t at = pa % FRAMES_PAGE_BYTES;
		uint64_t part = FRAMES_PAGE_BYTES - at;

		if (part > bytes)
			part = bytes;
		if (!frames_read_page(frames, pa / FRAMES_PAGE_BYTES,
			(uint16_t)at, (uint16_t)(at + part), reader, visit,
			arg))
			return false;
		pa += part;
		bytes -= part;
	}
	return true;
}

bool
frames_name(struct frames *frames, uint64_t pa, uint64_t owner)
{
	uint64_t number = pa / FRAMES_PAGE_BYTES;
	struct frames_page *page = frames_page(frames, number);

	if (page == NULL)
		return false;
	frames_give(page, owner);
	page->before = page->after = FRAMES_NOBODY;
	if (frames->named_owner == owner && frames->named_page != number) {
		page->before = frames->named_page;
		page = frames_page(frames, frames->named_page);
		if (page == NULL)
			return false;
		page->after = number;
	}
	frames->named_owner = owner;
	frames->named_page = number;
	return true;
}

/* The page of PA; NULL: not recorded. */
static const struct frames_page *
frames_find(const struct frames *frames, uint64_t pa)
{
	const struct frames_page *page = &frames->pages[frames_slot(
	    frames->pages, frames->size, pa / FRAMES_PAGE_BYTES)];

	return page->used ? page : NULL;
}

uint64_t
frames_owner(const struct frames *frames, uint64_t pa)
{
	const struct frames_page *page = frames_find(frames, pa);

	return page != NULL ? page->owner : FRAMES_NOBODY;
}

uint64_t
frames_first_owner(const struct frames *frames, uint64_t pa)
{
	const struct frames_page *page = frames_find(frames, pa);

	return page != NULL ? page->first_owner : FRAMES_NOBODY;
}

bool
frames_goes_on(const struct frames *frames, uint64_t end, uint64_t pa)
{
	const struct frames_page *from, *to;

	if (end % FRAMES_PAGE_BYTES != 0 || pa % FRAMES_PAGE_BYTES != 0)
		return end == pa;
	from = frames_find(frames, end - 1);
	to = frames_find(frames, pa);
	if (from == NULL || to == NULL)
		return true;
	return from->after == to->number ||
	    (from->after == FRAMES_NOBODY && to->before == FRAMES_NOBODY);
}

void
frames_each(const struct frames *frames, frames_visit visit, void *arg)
{
	for (size_t i = 0; i < frames->size; i++) {
		const struct frames_page *page = &frames->pages[i];

		for (size_t j = 0; j < page->count; j++)
			frames_show(
			    page->number, &page->extents[j], true, visit, arg);
	}
}
