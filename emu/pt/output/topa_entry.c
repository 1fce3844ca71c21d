#include "emu/pt/output/topa_entry.h"

#include "emu/pt/state.h"

/* SDM vol. 3, table "ToPA Table Entry Fields". */
#define TOPA_ENTRY_RESERVED \
 (TZ_BIT(1) | TZ_BIT(3) | TZ_BIT(5) | TZ_BIT(10) | TZ_BIT(11))

uint64_t
topa_entry_region_bytes(uint64_t entry)
{
	return UINT64_C(4096) << tz_bits(entry, 9, 6);
}

const char *
topa_entry_fault(const struct profile *profile, uint64_t entry, uint32_t index)
{
	TZ_ASSERT(profile->maxphyaddr >= 32 && profile->maxphyaddr <= 52);
	TZ_ASSERT(index < TOPA_ENTRY_ENTRIES_MAX);
	/* SDM vol. 3, 33.2.7.2, "ToPA Errors". */
	if (entry & TOPA_ENTRY_RESERVED)
		return "reserved bit set in a ToPA entry";
	if (entry >> profile->maxphyaddr != 0)
		return "address beyond MAXPHYADDR in a ToPA entry";
	if (entry & TOPA_ENTRY_END) {
		if (entry & (TOPA_ENTRY_INTR | TOPA_ENTRY_STOP))
			return "ToPA END entry with INT or STOP";
		if (index == 0)
			return "ToPA END entry at the start of a table";
		return NULL;
	}
	if (TOPA_ENTRY_ADDRESS(entry) & (topa_entry_region_bytes(entry) - 1))
		return "ToPA output region not aligned to its size";
	return NULL;
}

bool
topa_entry_is_restricted(
    const struct pt_unit *unit, uint64_t pa, uint64_t bytes)
{
	struct gpa at = { pa };

	TZ_ASSERT(bytes != 0);
	return unit->port.restricted != NULL &&
	    unit->port.restricted(unit->port.arg, at, bytes);
}

/* The slot of the cached, unused entry for AT; PT_STALE_ENTRIES_MAX: there is none. */
static uint32_t
topa_entry_stale_slot(const struct pt_unit *unit, struct topa_entry_spot at)
{
	const struct topa_stale *stale = &unit->stale;
	uint32_t slot = at.index - stale->first;

	TZ_ASSERT(stale->count <= PT_STALE_ENTRIES_MAX);
	if (at.table != stale->table || at.index < stale->first ||
	    slot >= stale->count || (stale->used >> slot & 1) != 0)
		return PT_STALE_ENTRIES_MAX;
	return slot;
}

/*
 * Reads the entry at AT, from memory or from the cache.  USE: a cached entry is
 * consumed; false: look ahead only.  Returns false if no entry can be read.  Model
 * choice: a table outside RAM is an operational error.
 */
static bool
topa_entry_fetch(
    struct pt_unit *unit, struct topa_entry_spot at, bool use, uint64_t *entry)
{
	struct gpa pa = { at.table + (uint64_t)at.index * 8 };
	uint32_t slot = topa_entry_stale_slot(unit, at);

	TZ_ASSERT((at.table & 0xfff) == 0);
	TZ_ASSERT(at.index < TOPA_ENTRY_ENTRIES_MAX);
	if (slot < PT_STALE_ENTRIES_MAX) {
		*entry = unit->stale.entry[slot];
		if (use)
			unit->stale.used |= TZ_BIT(slot);
		return true;
	}
	if (!unit->port.read64(unit->port.arg, pa, entry))
		return false;
	if (use)
		unit_event(unit,
		    (struct pt_event){ .kind = PT_EVENT_TOPA_ENTRY,
			.pa = pa,
			.value = *entry,
			.index = at.index });
	return true;
}

/*
 * SDM vol. 3, 33.3.1 "Detection of Intel PT", ECX.MENTRY = 0: a table is one
 * output entry and an END entry that points back to it.
 */
static const char *
topa_entry_single_fault(struct pt_unit *unit, struct topa_entry_spot at)
{
	struct topa_entry_spot end = { at.table, 1 };
	uint64_t second = 0;

	if (unit->profile->pt_ecx & PROFILE_PT_ECX_MENTRY)
		return NULL;
	if (at.index > 1 || !topa_entry_fetch(unit, end, false, &second) ||
	    !(second & TOPA_ENTRY_END) ||
	    TOPA_ENTRY_ADDRESS(second) != at.table)
		return "ToPA table is not one entry and an END to itself";
	return NULL;
}

const char *
topa_entry_settle(
    struct pt_unit *unit, struct topa_entry_spot *at, bool use, uint64_t *entry)
{
	for (unsigned hop = 0; hop < 2; hop++) {
		const char *fault = topa_entry_single_fault(unit, *at);

		if (fault != NULL)
			return fault;
		if (topa_entry_is_restricted(
			unit, at->table + (uint64_t)at->index * 8, 8))
			return "ToPA table in restricted memory";
		/* Model choice: an entry is read when it becomes current. */
		if (!topa_entry_fetch(unit, *at, use, entry))
			return "ToPA table outside memory";
		fault = topa_entry_fault(unit->profile, *entry, at->index);
		if (fault != NULL)
			return fault;
		if (!(*entry & TOPA_ENTRY_END))
			break;
		*at = (struct topa_entry_spot){ TOPA_ENTRY_ADDRESS(*entry), 0 };
	}
	TZ_ASSERT(!(*entry & TOPA_ENTRY_END));
	return NULL;
}

void
topa_entry_remember(struct pt_unit *unit, uint32_t entries)
{
	struct topa_stale *stale = &unit->stale;
	struct topa_entry_spot at = { unit->output_base, unit->topa.index };
	uint64_t entry = 0;

	TZ_ASSERT(unit->topa.open);
	*stale = (struct topa_stale){ .table = at.table, .first = at.index };
	while (stale->count < entries && stale->count < PT_STALE_ENTRIES_MAX &&
	    at.index < TOPA_ENTRY_ENTRIES_MAX &&
	    !(entry & (TOPA_ENTRY_END | TOPA_ENTRY_STOP)) &&
	    topa_entry_fetch(unit, at, true, &entry)) {
		stale->entry[stale->count++] = entry;
		at.index++;
	}
}
