/*
 * Row record-owned: where the processor stores records of branches and events; and row
 * sleep, where the kernel interface reports a call instead of ending the run.
 */
#include "harness/check/internal.h"

#include <inttypes.h>

#define MSR_DS_AREA 0x600u
#define AREA_BYTES  96 /* to the first counter reset value */
#define BTS_BYTES   24
#define PEBS_BYTES  144

void
debug_store_msr(struct check *check, const struct event *event)
{
	if (event->a == MSR_DS_AREA)
		check->core.cpu[event->cpu].save_area = event->b;
}

/* True: BYTES at VA of CPU's address space lie in live allocations. */
static bool
is_held(const struct check *check, unsigned cpu, uint64_t va, uint64_t bytes,
    uint64_t *pa)
{
	const struct check_reads *reads = &check->config.reads;

	for (uint64_t done = 0; done < bytes;) {
		const struct check_extent *extent;
		struct gva at = { va + done };

		if (!reads->translate(reads->arg, cpu, at, pa))
			return true; /* it faults, which is judged */
		extent = owner_find(check, *pa);
		if (extent == NULL)
			return false;
		done += extent->pa + extent->bytes - *pa;
	}
	return true;
}

static void
judge(struct check *check, const struct event *event, const char *what,
    uint64_t va, uint64_t bytes)
{
	const struct check_freed *freed = NULL;
	struct check_place at;
	uint64_t pa = 0;

	if (is_held(check, event->cpu, va, bytes, &pa))
		return;
	at = site_here(check);
	while ((freed = freed_next(check, pa, freed)) != NULL) {
		if (pa % CHECK_PAGE_BYTES < freed->begin ||
		    pa % CHECK_PAGE_BYTES >= freed->end)
			continue;
		at.blame = (struct check_site){ freed->freed_by - 1,
			freed->freed_by - 1 };
		at.object_va = freed->made_by - 1;
		break;
	}
	violation_add(check, CHECK_RECORD_OWNED, freed != NULL, &at,
	    "%s at %#" PRIx64 ", which nobody holds%s", what, va,
	    freed != NULL ? " any more" : "");
}

void
debug_store_record(struct check *check, const struct event *event)
{
	if (check->core.extents_full)
		return;
	judge(check, event, "a record of a branch is stored", event->c,
	    BTS_BYTES);
	judge(check, event, "the save area of branch records is",
	    check->core.cpu[event->cpu].save_area, AREA_BYTES);
}

void
debug_store_sample(struct check *check, const struct event *event)
{
	if (check->core.extents_full)
		return;
	judge(check, event, "a PEBS record is stored", event->c, PEBS_BYTES);
	judge(check, event, "the save area of PEBS records is",
	    check->core.cpu[event->cpu].save_area, AREA_BYTES);
}

void
debug_store_sleep(struct check *check, const struct event *event)
{
	struct check_place at = site_here(check);

	at.rip = event->a;
	at.blame = (struct check_site){ event->a - 1, event->a - 1 };
	violation_add(check, CHECK_SLEEP, 0, &at,
	    "a function that may sleep is called where that is not allowed");
}
