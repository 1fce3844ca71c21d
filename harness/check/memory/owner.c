/*
 * Ownership of memory, and rows output-owned, -freed, -foreign, leak, mapped-stale, and
 * what failed-changed says of memory.
 */
#include "emu/guest_abi.h"
#include "harness/check/internal.h"

#include <inttypes.h>
#include <string.h>

/* The index of the first extent that ends after PA. */
static uint32_t
owner_lower(const struct check *check, uint64_t pa)
{
	uint32_t low = 0, high = check->core.extent_count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct check_extent *extent = &check->extent[mid];

		if (extent->pa + extent->bytes <= pa)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct check_extent *
owner_find(const struct check *check, uint64_t pa)
{
	uint32_t at = owner_lower(check, pa);

	if (at == check->core.extent_count || check->extent[at].pa > pa)
		return NULL;
	return &check->extent[at];
}

const struct check_extent *
owner_next(
    const struct check *check, uint64_t va, const struct check_extent *after)
{
	const struct check_extent *at = after != NULL ? after + 1
						      : check->extent;
	const struct check_extent *end = check->extent +
	    check->core.extent_count;

	while (at < end && at->va != va)
		at++;
	return at < end ? at : NULL;
}

/* Removes the extents [FROM, TO). */
static void
owner_remove(struct check *check, uint32_t from, uint32_t to)
{
	memmove(&check->extent[from], &check->extent[to],
	    (check->core.extent_count - to) * sizeof(check->extent[0]));
	check->core.extent_count -= to - from;
}

/* Extents that overlap the new one must have been freed without an event. */
static void
owner_insert(struct check *check, const struct check_extent *extent)
{
	struct check_core *core = &check->core;
	uint32_t from = owner_lower(check, extent->pa);
	uint32_t to = from;

	while (to < core->extent_count &&
	    check->extent[to].pa < extent->pa + extent->bytes)
		to++;
	owner_remove(check, from, to);
	if (core->extent_count == CHECK_EXTENTS_MAX) {
		core->extents_full = true;
		violation_skip(check, REASON_EXTENTS,
		    CHECK_ROW(OUTPUT_OWNED) | CHECK_ROW(OUTPUT_FREED) |
			CHECK_ROW(OUTPUT_FOREIGN) | CHECK_ROW(TABLE_OWNED) |
			CHECK_ROW(TABLE_WHOLE));
		return;
	}
	memmove(&check->extent[from + 1], &check->extent[from],
	    (core->extent_count - from) * sizeof(check->extent[0]));
	check->extent[from] = *extent;
	core->extent_count++;
	page_reuse(check, extent->pa, extent->bytes);
	freed_reuse(check, extent->pa,
	    heap_item_end(check, extent->pa + extent->bytes - 1) - extent->pa);
}

void
owner_alloc(struct check *check, const struct event *event)
{
	const struct check_reads *reads = &check->config.reads;
	struct check_extent extent = {
		.va = event->a, .caller = event->c, .fresh = true
	};
	uint64_t done = 0;

	if (event->b == 0)
		return;
	if (event->a >= ABI_DMAP &&
	    event->a - ABI_DMAP < check->config.ram_bytes) {
		extent.pa = event->a - ABI_DMAP;
		extent.bytes = event->b;
		owner_insert(check, &extent);
		return;
	}
	while (done < event->b) {
		struct gva va = { event->a + done };
		uint64_t bytes = CHECK_PAGE_BYTES - va.u % CHECK_PAGE_BYTES;

		if (bytes > event->b - done)
			bytes = event->b - done;
		extent.bytes = bytes;
		if (reads->translate(reads->arg, event->cpu, va, &extent.pa))
			owner_insert(check, &extent);
		done += bytes;
	}
}

void
owner_free(struct check *check, const struct event *event)
{
	for (uint32_t i = 0; i < check->core.extent_count;) {
		struct check_extent extent = check->extent[i];

		if (extent.va != event->a) {
			i++;
			continue;
		}
		freed_add(check, &extent, event->c);
		owner_remove(check, i, i + 1);
		if (extent.fresh || check->core.changes.freed_by != 0 ||
		    !site_is_driver(check, extent.caller))
			continue;
		check->core.changes.made_by = extent.caller;
		check->core.changes.freed_by = event->c;
	}
}

void
owner_begin(struct check *check)
{
	for (uint32_t i = 0; i < check->core.extent_count; i++)
		check->extent[i].fresh = false;
}

void
owner_failed(struct check *check, const char *operation)
{
	const struct check_changes *changes = &check->core.changes;
	struct check_place at = site_here(check);
	uint64_t caller;

	for (uint32_t i = 0; i < check->core.extent_count; i++) {
		caller = check->extent[i].caller;
		if (!check->extent[i].fresh || !site_is_driver(check, caller))
			continue;
		at.rip = caller;
		at.object_va = caller - 1;
		at.blame = (struct check_site){ caller - 1, caller - 1 };
		violation_add(check, CHECK_FAILED_CHANGED, 0, &at,
		    "%s fails, and keeps what it has allocated at %#" PRIx64,
		    operation, check->extent[i].va);
		return;
	}
	/* A program that was spawned may have ended meanwhile. */
	if (changes->freed_by == 0 || check->core.session.programs != 0)
		return;
	at.rip = changes->freed_by;
	at.object_va = changes->made_by - 1;
	if (site_is_driver(check, changes->freed_by))
		at.blame = (struct check_site){ changes->freed_by - 1,
			changes->freed_by - 1 };
	violation_add(check, CHECK_FAILED_CHANGED, 1, &at,
	    "%s fails, and has freed what was there before", operation);
}

void
owner_stack(struct check *check, const struct event *event)
{
	struct check_core *core = &check->core;

	for (uint32_t i = 0; i < core->stack_count; i++) {
		if (core->stack[i].pa == event->a) {
			core->stack[i].bytes = event->b;
			return;
		}
	}
	if (core->stack_count == CHECK_STACKS_MAX)
		return;
	core->stack[core->stack_count].pa = event->a;
	core->stack[core->stack_count++].bytes = event->b;
}

static bool
owner_was_freed(struct check *check, uint64_t pa)
{
	const struct check_freed *freed = NULL;

	if (pa >= check->config.ram_bytes)
		return false;
	while ((freed = freed_next(check, pa, freed)) != NULL) {
		if (pa % CHECK_PAGE_BYTES >= freed->begin &&
		    pa % CHECK_PAGE_BYTES < freed->end)
			return true;
	}
	return false;
}

bool
owner_is_stack(const struct check *check, uint64_t pa)
{
	const struct check_core *core = &check->core;

	for (uint32_t i = 0; i < core->stack_count; i++) {
		if (pa >= core->stack[i].pa &&
		    pa - core->stack[i].pa < core->stack[i].bytes)
			return true;
	}
	return false;
}

/* Records a caller that allocated a page of a buffer: it allocates buffers. */
void
owner_site(struct check *check, const struct event *event)
{
	const struct check_extent *extent = owner_find(check, event->b);
	struct check_core *core = &check->core;

	if (extent == NULL)
		return;
	for (uint32_t i = 0; i < core->site_count; i++) {
		if (core->site[i] == extent->caller)
			return;
	}
	if (core->site_count < CHECK_SITES_MAX)
		core->site[core->site_count++] = extent->caller;
}

/* Row mapped-stale: user space maps the pages [EVENT->b, +EVENT->c). */
void
owner_mapped(struct check *check, const struct event *event)
{
	const struct check_reads *reads = &check->config.reads;
	const struct check_extent *extent = owner_find(check, event->b);
	struct check_place at = site_here(check);
	uint64_t first, last;

	if (extent == NULL)
		return;
	at.object_va = extent->caller - 1;
	for (uint64_t pa = event->b; pa < event->b + event->c;
	     pa += CHECK_PAGE_BYTES) {
		if (!reads->word(reads->arg, pa, &first) ||
		    !reads->word(
			reads->arg, pa + CHECK_PAGE_BYTES - 8, &last) ||
		    (first != ABI_STALE && last != ABI_STALE))
			continue;
		violation_add(check, CHECK_MAPPED_STALE, 0, &at,
		    "user space maps the page at %#" PRIx64
		    " with what an earlier owner left there",
		    pa);
		return;
	}
}

static bool
owner_is_buffer(
    const struct check *check, const struct check_extent *extent, uint64_t pa)
{
	const struct check_core *core = &check->core;

	if (page_find(check, pa) != NULL || core->site_count == 0)
		return true;
	for (uint32_t i = 0; i < core->site_count; i++) {
		if (core->site[i] == extent->caller)
			return true;
	}
	return false;
}

void
owner_output(struct check *check, const struct event *event)
{
	uint64_t pa = event->a, end = event->a + event->b;
	struct check_place at;
	enum check_id id;

	if (check->core.extents_full)
		return;
	while (pa < end) {
		const struct check_extent *extent = owner_find(check, pa);

		if (extent == NULL)
			break;
		if (!owner_is_buffer(check, extent, pa)) {
			at = site_here(check);
			at.blame = check->core.cpu[event->cpu].action.on_at;
			at.object_va = extent->caller - 1;
			violation_add(check, CHECK_OUTPUT_FOREIGN, 0, &at,
			    "%" PRIu64 " bytes of trace to %#" PRIx64
			    ", an allocation that is no trace buffer",
			    event->b, pa);
			return;
		}
		pa = extent->pa + extent->bytes;
	}
	if (pa >= end)
		return;
	at = site_here(check);
	at.blame = check->core.cpu[event->cpu].action.on_at;
	id = owner_was_freed(check, pa) ? CHECK_OUTPUT_FREED
					: CHECK_OUTPUT_OWNED;
	violation_add(check, id, 0, &at,
	    "%" PRIu64 " bytes of trace to %#" PRIx64 "; nobody holds %#" PRIx64
	    "%s",
	    event->b, event->a, pa,
	    id == CHECK_OUTPUT_FREED ? " any more" : "");
}

/* True if an extent before INDEX has the same caller. */
static bool
owner_is_counted(const struct check *check, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++) {
		if (check->extent[i].caller == check->extent[index].caller)
			return true;
	}
	return false;
}

void
check_kept(struct check *check, unsigned count)
{
	struct check_place at = site_here(check);

	violation_add(check, CHECK_LEAK, 0, &at,
	    "%u trace buffers are still allocated, whose owner has gone",
	    count);
}

void
owner_unloaded(struct check *check)
{
	struct check_place at = site_here(check);
	uint32_t count = check->core.extent_count;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t caller = check->extent[i].caller, bytes = 0;

		if (!site_is_driver(check, caller) ||
		    owner_is_counted(check, i))
			continue;
		for (uint32_t j = i; j < count; j++) {
			if (check->extent[j].caller == caller)
				bytes += check->extent[j].bytes;
		}
		at.rip = caller;
		at.object_va = caller - 1;
		at.blame = (struct check_site){ caller - 1, caller - 1 };
		violation_add(check, CHECK_LEAK, 0, &at,
		    "%" PRIu64 " bytes still allocated, among them %#" PRIx64,
		    bytes, check->extent[i].va);
	}
}

/* Modules are unloaded before the guest shuts down. */
void
owner_exit(struct check *check, const struct event *event)
{
	(void)event;
	owner_unloaded(check);
}
