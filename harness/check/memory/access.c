/*
 * The driver's loads and stores, its own and those by kernel functions that it calls:
 * rows foreign-store, store-freed and load-freed.
 */
#include "emu/guest_abi.h"
#include "harness/check/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NONE -1

/* Memory that the driver accesses, or accessed, at a place of its code. */
struct access_range {
	unsigned cpu;
	uint64_t insns, rip;
	/* the kernel function that accesses it; NULL: the driver */
	const char *by;
	unsigned callee; /* index of that function, plus 1; 0: the driver */
	uint64_t va, bytes;
	bool write;
	bool open; /* it accesses BYTES, perhaps more */
};

static const struct {
	const char *name;
	int pointer, length; /* indices of arguments */
	bool all, write;
} callees[] = {
#define ALL   true
#define FIRST false
#define STORE true
#define LOAD  false
#define CALLEE(name, pointer, length, extent, access) \
 { name, pointer, length, extent, access },
#include "harness/check/memory/callee.def"
#undef CALLEE
#undef ALL
#undef FIRST
#undef STORE
#undef LOAD
};

static_assert(TZ_ARRAY_LEN(callees) <= CHECK_CALLEES_MAX, "config has room");

size_t
check_callee_count(void)
{
	return TZ_ARRAY_LEN(callees);
}

const char *
check_callee_name(size_t index)
{
	TZ_ASSERT(index < TZ_ARRAY_LEN(callees));
	return callees[index].name;
}

static bool
access_meets(const struct check_range range[4], uint64_t va, uint64_t bytes)
{
	for (unsigned i = 0; i < 4; i++) {
		if (va < range[i].end && range[i].begin < va + bytes)
			return true;
	}
	return false;
}

/* Records a violation; PLACE has only the object and the blame. */
static void
access_violate(struct check *check, const struct access_range *range,
    enum check_id id, const struct check_place *place, uint64_t va,
    const char *what)
{
	struct check_place at = *place;

	at.cpu = (uint16_t)range->cpu;
	at.step = site_step(check, range->cpu);
	at.stream = CHECK_NO_STREAM;
	at.insns = range->insns;
	at.rip = range->rip;
	at.event = check->core.event_number;
	if (check->config.access_site != NULL)
		at.site = check->config.access_site(
		    check->config.site_arg, range->cpu, range->rip);
	if (range->open)
		violation_add(check, id, range->callee, &at,
		    "%s at %#" PRIx64 ", %s", range->by, va, what);
	else
		violation_add(check, id, range->callee, &at,
		    "%s%s%" PRIu64 " bytes %s %#" PRIx64 ", %s",
		    range->by != NULL ? range->by : "",
		    range->by != NULL ? ": " : "", range->bytes,
		    range->write ? "to" : "from", va, what);
}

/* True if all of BYTES at VA lie in one variable that the driver may store to. */
static bool
access_may_store(const struct check *check, uint64_t va, uint64_t bytes)
{
	const struct check_config *config = &check->config;

	for (size_t i = 0; i < config->stores_to_count; i++) {
		const struct check_range *variable = &config->stores_to[i];

		if (va >= variable->begin && va + bytes <= variable->end)
			return true;
	}
	return false;
}

static void
access_foreign(struct check *check, const struct access_range *range,
    uint64_t va, uint64_t bytes)
{
	const struct check_reads *reads = &check->config.reads;
	const struct check_place place = { .object_va = va };
	uint64_t pa;

	if (!range->write || !access_meets(check->config.kernel_data, va, 1) ||
	    access_may_store(check, va, bytes) ||
	    !reads->translate(reads->arg, range->cpu, (struct gva){ va }, &pa))
		return;
	if (!owner_is_stack(check, pa) && owner_find(check, pa) == NULL)
		access_violate(check, range, CHECK_FOREIGN_STORE, &place, va,
		    "the kernel's data");
}

/* Of BYTES at PA, in one page: the lowest part that was freed and has no owner. */
static struct check_freed *
access_find(struct check *check, uint64_t pa, uint64_t bytes)
{
	uint64_t begin = pa % CHECK_PAGE_BYTES, page = pa - begin;
	struct check_freed *found = NULL, *freed = NULL;

	while ((freed = freed_next(check, pa, freed)) != NULL) {
		uint64_t at = freed->begin > begin ? freed->begin : begin;

		if (at < begin + bytes && freed->end > begin &&
		    (found == NULL || freed->begin < found->begin) &&
		    !heap_holds(check, page + at) &&
		    !owner_is_stack(check, page + at))
			found = freed;
	}
	return found;
}

static void
access_say(const struct check *check, uint64_t va, char *text, size_t size)
{
	const struct check_config *config = &check->config;

	if (config->name != NULL)
		config->name(config->name_arg, va, text, size);
	else
		snprintf(text, size, "%#" PRIx64, va);
}

static void
access_freed(struct check *check, const struct access_range *range, uint64_t va,
    uint64_t pa, uint64_t bytes)
{
	enum check_id id = range->write ? CHECK_STORE_FREED : CHECK_LOAD_FREED;
	struct check_freed *freed = access_find(check, pa, bytes);
	uint8_t use = range->write ? CHECK_FREED_STORED : CHECK_FREED_LOADED;
	char made[CHECK_NAME_BYTES], gone[CHECK_NAME_BYTES];
	char what[2 * CHECK_NAME_BYTES + 32];
	struct check_place place = { .rip = 0 };

	if (freed == NULL || (freed->used & use) != 0)
		return;
	freed_use(check, freed, use);
	/* The address of the call, from its return address. */
	place.object_va = freed->made_by - 1;
	if (site_is_driver(check, freed->freed_by))
		place.blame = (struct check_site){ freed->freed_by - 1,
			freed->freed_by - 1 };
	access_say(check, freed->made_by - 1, made, sizeof(made));
	access_say(check, freed->freed_by - 1, gone, sizeof(gone));
	snprintf(
	    what, sizeof(what), "allocated by %s, freed by %s", made, gone);
	access_violate(check, range, id, &place, va, what);
}

/* Checks BYTES at VA, within a page.  In most pages, nothing was freed. */
static void
access_page(struct check *check, const struct access_range *range, uint64_t va,
    uint64_t bytes)
{
	const struct check_config *config = &check->config;
	uint64_t pa = va - ABI_DMAP;

	if (pa >= config->ram_bytes) {
		if (access_meets(config->driver_data, va, bytes))
			return;
		if (va >= ABI_KERNBASE) {
			access_foreign(check, range, va, bytes);
			return;
		}
		if (!config->reads.translate(config->reads.arg, range->cpu,
			(struct gva){ va }, &pa) ||
		    pa >= config->ram_bytes)
			return;
	}
	if (freed_next(check, pa, NULL) != NULL)
		access_freed(check, range, va, pa, bytes);
}

static void
access_judge(struct check *check, const struct access_range *range)
{
	uint64_t end = range->va + range->bytes;
	uint64_t va = range->va;

	if (range->bytes > check->config.ram_bytes || end < va ||
	    !site_is_driver(check, range->rip))
		return;
	while (va < end) {
		uint64_t left = CHECK_PAGE_BYTES - va % CHECK_PAGE_BYTES;

		if (left > end - va)
			left = end - va;
		access_page(check, range, va, left);
		va += left;
	}
}

/* A fast test for most loads and stores, which are correct. */
static inline bool
access_is_plain(const struct check *check, uint64_t va, uint64_t bytes)
{
	uint64_t pa = va - ABI_DMAP;

	return pa < check->config.ram_bytes &&
	    check->freed_head[pa / CHECK_PAGE_BYTES] == 0 &&
	    pa % CHECK_PAGE_BYTES + bytes <= CHECK_PAGE_BYTES;
}

void
check_access(struct check *check, const struct audit_access *access)
{
	struct access_range range;

	if (access_is_plain(check, access->va, access->bytes))
		return;
	range = (struct access_range){
		.cpu = access->cpu,
		.insns = access->insns,
		.rip = access->rip,
		.va = access->va,
		.bytes = access->bytes,
		.write = access->write,
	};

	access_judge(check, &range);
}

static void
access_by(struct check *check, const struct audit_call *call, size_t callee)
{
	struct access_range range = {
		.cpu = call->cpu,
		.insns = call->insns,
		.rip = call->rip,
		.by = callees[callee].name,
		.callee = (unsigned)callee + 1,
		.va = call->arg[callees[callee].pointer],
		.bytes = 1,
		.write = callees[callee].write,
	};

	if (callees[callee].length != NONE)
		range.bytes = call->arg[callees[callee].length];
	range.open = !callees[callee].all;
	if (range.open && range.bytes > 1)
		range.bytes = 1;
	access_judge(check, &range);
}

void
check_call(struct check *check, const struct audit_call *call)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(callees); i++) {
		if (check->config.callee[i] == call->function)
			access_by(check, call, i);
	}
}
