#include "emu/pt/output/topa.h"

#include "emu/pt/output/pmi.h"
#include "emu/pt/output/single.h"
#include "emu/pt/output/topa_entry.h"
#include "emu/pt/state.h"

#include <string.h>

/* SDM vol. 3, 33.3.9 "Operational Errors": Error is set, output ends. */
static void
topa_error(struct pt_unit *unit, const char *text)
{
	TZ_ASSERT(text != NULL);
	TZ_ASSERT(unit->msrs.ctl & CTL_TRACE_EN);
	unit->topa.open = false;
	unit->topa.fast_limit = unit->topa.free_limit = 0;
	unit->msrs.status |= STATUS_ERROR;
	unit_event(
	    unit, (struct pt_event){ .kind = PT_EVENT_ERROR, .text = text });
}

/* Offset of the next byte that needs more than a plain write. */
static uint64_t
topa_next_mark(const struct topa *topa)
{
	TZ_ASSERT(topa->offset_bytes < topa->region_bytes);
	return topa->offset_bytes < topa->pmi_at ? topa->pmi_at
						 : topa->region_bytes;
}

/* The count of written bytes below which a byte needs no check. */
static void
topa_set_limit(struct pt_unit *unit)
{
	struct topa *topa = &unit->topa;
	uint64_t end = topa->written;

	if (topa->open)
		end += topa_next_mark(topa) - topa->offset_bytes;
	if (!topa->open || unit->window == NULL || topa->lose_at != 0)
		topa->free_limit = 0;
	else
		topa->free_limit = end < topa->look ? end : topa->look;
	if (unit->profile->uarch->deferred_tip ||
	    unit->profile->uarch->tnt_bits != PACKET_TNT_BITS_MAX)
		topa->fast_limit = 0;
	else
		topa->fast_limit = topa->free_limit;
}

void
topa_set_look(struct pt_unit *unit, uint64_t written)
{
	unit->topa.look = written;
	topa_set_limit(unit);
}

void
topa_rewindow(struct pt_unit *unit)
{
	struct topa *topa = &unit->topa;
	struct gpa pa = { topa->region_pa };

	unit->window = NULL;
	if (topa->open)
		unit->window = unit->port.window(
		    unit->port.arg, pa, topa->region_bytes);
	topa_set_limit(unit);
}

/*
 * Starts to fill the region described by .region_pa, .region_bytes, .region_stop
 * and .region_intr, at .offset_bytes, which lies in it.  Returns NULL, or static
 * text with the reason why it cannot.
 */
static const char *
topa_begin_region(struct pt_unit *unit)
{
	struct topa *topa = &unit->topa;
	uint64_t early_bytes = 0;

	TZ_ASSERT(topa->offset_bytes < topa->region_bytes);
	/*
	 * SDM vol. 3, 33.2.7.4 "Restricted Memory Access".  Model choice: a region
	 * that overlaps it is an operational error when the region is opened.
	 */
	if (topa_entry_is_restricted(unit, topa->region_pa, topa->region_bytes))
		return "trace output in restricted memory";
	/*
	 * SDM vol. 3, 33.3.1 "Detection of Intel PT", MENTRY = 0: the PMI comes
	 * before the region is full.  Model choice: if the output starts after that
	 * position, the PMI comes at the end, as on other processors.
	 */
	if (!(unit->profile->pt_ecx & PROFILE_PT_ECX_MENTRY))
		early_bytes = unit->profile->uarch->pmi_early_bytes;
	topa->pmi_at = topa->region_bytes;
	if (topa->region_intr && early_bytes < topa->region_bytes &&
	    topa->offset_bytes < topa->region_bytes - early_bytes)
		topa->pmi_at -= early_bytes;
	topa->told_bytes = topa->offset_bytes;
	topa->open = true;
	topa_rewindow(unit);
	return NULL;
}

/* Describes the region of entry .index.  Returns NULL, or the entry's error. */
static const char *
topa_describe(struct pt_unit *unit)
{
	struct topa *topa = &unit->topa;
	struct topa_entry_spot at = { unit->output_base, topa->index };
	uint64_t entry = 0;
	const char *fault = topa_entry_settle(unit, &at, true, &entry);

	unit->output_base = at.table;
	topa->index = at.index;
	if (fault != NULL)
		return fault;
	topa->region_pa = TOPA_ENTRY_ADDRESS(entry);
	topa->region_bytes = topa_entry_region_bytes(entry);
	topa->region_stop = (entry & TOPA_ENTRY_STOP) != 0;
	topa->region_intr = (entry & TOPA_ENTRY_INTR) != 0;
	/* SDM vol. 3, 33.2.7.2, "ToPA Errors": illegal output offset. */
	if (topa->offset_bytes >= topa->region_bytes)
		return "ToPA output offset beyond the region";
	return NULL;
}

/* Opens the region at the output pointers: an operational error where it cannot. */
static void
topa_open_region(struct pt_unit *unit)
{
	const char *fault = unit->msrs.ctl & CTL_TOPA ? topa_describe(unit)
						      : single_describe(unit);

	if (fault == NULL)
		fault = topa_begin_region(unit);
	if (fault != NULL)
		topa_error(unit, fault);
}

bool
topa_leads_to_intr(struct pt_unit *unit, uint64_t *bytes)
{
	const struct topa *topa = &unit->topa;
	struct topa_entry_spot at = { unit->output_base, topa->index };
	bool intr = topa->region_intr, stop = topa->region_stop;

	TZ_ASSERT(topa->open);
	if (!(unit->msrs.ctl & CTL_TOPA))
		return false;
	*bytes = topa->region_bytes - topa->offset_bytes;
	for (uint32_t n = 0; n < PT_FILL_ENTRIES_MAX; n++) {
		uint64_t entry = 0;

		if (intr || stop)
			return intr;
		at.index = (at.index + 1) % TOPA_ENTRY_ENTRIES_MAX;
		if (n != 0 && at.table == unit->output_base &&
		    at.index == (topa->index + 1) % TOPA_ENTRY_ENTRIES_MAX)
			return false;
		if (topa_entry_settle(unit, &at, false, &entry) != NULL ||
		    topa_entry_is_restricted(unit, TOPA_ENTRY_ADDRESS(entry),
			topa_entry_region_bytes(entry)))
			return false;
		intr = (entry & TOPA_ENTRY_INTR) != 0;
		stop = (entry & TOPA_ENTRY_STOP) != 0;
		*bytes += topa_entry_region_bytes(entry);
	}
	return false;
}

void
topa_fail(struct pt_unit *unit, const char *text)
{
	topa_report_output(unit);
	topa_error(unit, text);
}

void
topa_open(struct pt_unit *unit)
{
	TZ_ASSERT(!unit->topa.open);
	if ((unit->msrs.ctl & CTL_TOPA) != 0 &&
	    (unit->output_base & 0xfff) != 0)
		topa_error(unit, "ToPA table not aligned to 4096 bytes");
	else
		topa_open_region(unit);
}

void
topa_report_output(struct pt_unit *unit)
{
	struct topa *topa = &unit->topa;
	uint64_t bytes = topa->offset_bytes - topa->told_bytes;
	struct pt_event event = { .kind = PT_EVENT_OUTPUT, .bytes = bytes };

	if (!topa->open || bytes == 0)
		return;
	TZ_ASSERT(topa->told_bytes < topa->offset_bytes);
	TZ_ASSERT(topa->offset_bytes <= topa->region_bytes);
	event.pa.u = topa->region_pa + topa->told_bytes;
	event.offset_bytes = topa->written - bytes;
	topa->told_bytes = topa->offset_bytes;
	/* Bytes for a region without memory are lost and not reported. */
	if (unit->window != NULL)
		unit->port.event(unit->port.arg, &event);
}

void
topa_close(struct pt_unit *unit)
{
	topa_report_output(unit);
	unit->topa.open = false;
	unit->topa.fast_limit = unit->topa.free_limit = 0;
	unit->window = NULL;
}

/* The region is full: STOP, then INT, then the next entry. */
static void
topa_region_full(struct pt_unit *unit)
{
	struct topa *topa = &unit->topa;

	TZ_ASSERT(topa->open);
	TZ_ASSERT(topa->offset_bytes == topa->region_bytes);
	topa_report_output(unit);
	unit_event(unit,
	    (struct pt_event){ .kind = PT_EVENT_REGION_FULL,
		.pa = { topa->region_pa },
		.bytes = topa->region_bytes,
		.value = topa->index });
	topa->open = false;
	topa->fast_limit = topa->free_limit = 0;
	/* SDM vol. 3, 33.2.7.2, "ToPA STOP": the offset stays at the size. */
	if (topa->region_stop) {
		unit->msrs.status |= STATUS_STOPPED;
		unit_event(unit, (struct pt_event){ .kind = PT_EVENT_STOPPED });
	}
	/* SDM vol. 3, 33.2.7.2, "ToPA PMI": freeze by STOP comes before INT. */
	if (topa->region_intr && topa->pmi_at == topa->region_bytes)
		pmi_raise(unit);
	if (topa->region_stop)
		return;
	topa->offset_bytes = 0;
	/* Model choice: the pointers advance at once. */
	if (unit->msrs.ctl & CTL_TOPA)
		topa->index = (topa->index + 1) % TOPA_ENTRY_ENTRIES_MAX;
	topa_open_region(unit);
}

void
topa_write(struct pt_unit *unit, const uint8_t *data, size_t bytes)
{
	struct topa *topa = &unit->topa;

	while (bytes != 0 && topa->open) {
		uint64_t room = topa_next_mark(topa) - topa->offset_bytes;
		size_t chunk = bytes < room ? bytes : (size_t)room;

		TZ_ASSERT(room != 0);
		if (unit->window != NULL)
			memcpy(unit->window + topa->offset_bytes, data, chunk);
		data += chunk;
		bytes -= chunk;
		topa->offset_bytes += chunk;
		topa->written += chunk;
		if (topa->offset_bytes == topa->region_bytes) {
			topa_region_full(unit);
		} else if (topa->offset_bytes == topa->pmi_at) {
			pmi_raise(unit);
			topa_set_limit(unit);
		}
	}
	TZ_ASSERT(!topa->open || topa->offset_bytes < topa->region_bytes);
}
