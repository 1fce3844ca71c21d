/*
 * Memory that was allocated, freed and not allocated since, in parts within one page
 * each, chained by page.  Lookup, insertion and removal need no search, because they
 * are done for each load and store of the driver.
 */
#include "harness/check/internal.h"
#include "harness/check/mix.h"

#include <assert.h>

static_assert(CHECK_FREED_MAX < UINT16_MAX, "the number of a part, plus 1");

static uint64_t
freed_hash(const struct check_freed *freed)
{
	uint64_t hash = mix_word(
	    freed->page, (uint64_t)freed->begin << 16 | freed->end);

	hash = mix_word(hash, freed->va ^ freed->used);
	hash = mix_word(hash, freed->made_by);
	return mix_word(hash, freed->freed_by);
}

static void
freed_link(struct check *check, uint32_t index)
{
	struct check_freed *freed = &check->freed[index];

	freed->next = check->freed_head[freed->page];
	check->freed_head[freed->page] = (uint16_t)(index + 1);
}

/* Redirects the links to part INDEX to TO. */
static void
freed_replace(struct check *check, uint32_t index, uint16_t to)
{
	uint16_t *link = &check->freed_head[check->freed[index].page];

	while (*link != index + 1)
		link = &check->freed[*link - 1].next;
	*link = to;
}

static void
freed_drop(struct check *check, uint32_t index)
{
	uint32_t last = --check->core.freed_count;

	check->core.freed_sum -= freed_hash(&check->freed[index]);
	freed_replace(check, index, check->freed[index].next);
	if (index == last)
		return;
	freed_replace(check, last, (uint16_t)(index + 1));
	check->freed[index] = check->freed[last];
}

static void
freed_skip(struct check *check)
{
	violation_skip(check, REASON_FREED,
	    CHECK_ROW(OUTPUT_FREED) | CHECK_ROW(STORE_FREED) |
		CHECK_ROW(LOAD_FREED));
}

/* Adds a part like FREED with the page's bytes [BEGIN, END). */
static void
freed_put(struct check *check, const struct check_freed *freed, uint64_t begin,
    uint64_t end)
{
	struct check_core *core = &check->core;
	struct check_freed *to;

	if (begin >= end)
		return;
	if (core->freed_count == CHECK_FREED_MAX) {
		core->freed_full = true;
		freed_skip(check);
		return;
	}
	to = &check->freed[core->freed_count];
	*to = *freed;
	to->begin = (uint16_t)begin;
	to->end = (uint16_t)end;
	freed_link(check, core->freed_count++);
	core->freed_sum += freed_hash(to);
}

/* Calls EACH for the bytes [begin, end) of [PA, +BYTES) in each page of RAM. */
static void
freed_each_page(struct check *check, uint64_t pa, uint64_t bytes,
    void (*each)(struct check *check, const struct check_freed *like,
	uint64_t begin, uint64_t end),
    struct check_freed *like)
{
	uint64_t end = pa + bytes;

	TZ_ASSERT(end >= pa);
	if (end > check->config.ram_bytes)
		end = check->config.ram_bytes;
	while (pa < end) {
		uint64_t next = (pa / CHECK_PAGE_BYTES + 1) * CHECK_PAGE_BYTES;

		if (next > end)
			next = end;
		like->page = (uint32_t)(pa / CHECK_PAGE_BYTES);
		each(check, like, pa % CHECK_PAGE_BYTES,
		    pa % CHECK_PAGE_BYTES + (next - pa));
		pa = next;
	}
}

static void
freed_reuse_part(struct check *check, const struct check_freed *like,
    uint64_t begin, uint64_t end)
{
	uint16_t at = check->freed_head[like->page];

	while (at != 0) {
		struct check_freed freed = check->freed[at - 1];

		if (freed.begin >= end || freed.end <= begin) {
			at = freed.next;
			continue;
		}
		freed_drop(check, at - 1u);
		freed_put(check, &freed, freed.begin, begin);
		freed_put(check, &freed, end, freed.end);
		/* The chain has changed. */
		at = check->freed_head[like->page];
	}
}

void
freed_reuse(struct check *check, uint64_t pa, uint64_t bytes)
{
	struct check_freed like = { .page = 0 };

	freed_each_page(check, pa, bytes, freed_reuse_part, &like);
}

void
freed_add(
    struct check *check, const struct check_extent *extent, uint64_t freed_by)
{
	struct check_freed like = {
		.va = extent->va,
		.made_by = extent->caller,
		.freed_by = freed_by,
	};

	freed_reuse(check, extent->pa, extent->bytes);
	freed_each_page(check, extent->pa, extent->bytes, freed_put, &like);
}

struct check_freed *
freed_next(struct check *check, uint64_t pa, const struct check_freed *freed)
{
	uint16_t at = freed != NULL ? freed->next
				    : check->freed_head[pa / CHECK_PAGE_BYTES];

	return at != 0 ? &check->freed[at - 1] : NULL;
}

void
freed_use(struct check *check, struct check_freed *freed, uint8_t use)
{
	check->core.freed_sum -= freed_hash(freed);
	freed->used |= use;
	check->core.freed_sum += freed_hash(freed);
}

void
freed_begin(struct check *check)
{
	if (check->core.freed_full)
		freed_skip(check);
	check->core.freed_sum = 0;
	for (uint32_t i = 0; i < check->core.freed_count; i++) {
		check->freed[i].used = 0;
		check->core.freed_sum += freed_hash(&check->freed[i]);
	}
}

void
freed_set_heads(struct check *check, bool on)
{
	for (uint32_t i = 0; i < check->core.freed_count; i++) {
		if (on)
			freed_link(check, i);
		else
			check->freed_head[check->freed[i].page] = 0;
	}
}
