#include "emu/pt/steer.h"

#include "emu/pt/drain.h"
#include "emu/pt/emit.h"
#include "emu/pt/place.h"
#include "emu/pt/state.h"
#include "emu/pt/table.h"
#include "emu/pt/tnt.h"
#include "emu/pt/topa.h"

#include <xxhash.h>

#define STEER_WORDS_MAX 320

bool
pt_unit_trigger_en(const struct pt_unit *unit)
{
	return unit->gate.trigger_en;
}

bool
pt_unit_current_entry(const struct pt_unit *unit, struct gpa *pa)
{
	if (!unit->topa.open || !(unit->msrs.ctl & CTL_TOPA))
		return false;
	TZ_ASSERT(unit->topa.index < TABLE_ENTRIES_MAX);
	pa->u = unit->output_base + (uint64_t)unit->topa.index * 8;
	return true;
}

/* May output be added? */
static bool
steer_is_open(const struct pt_unit *unit)
{
	TZ_ASSERT(!unit->overflow.on || unit->gate.trigger_en);
	return unit->gate.trigger_en && unit->topa.open && !unit->overflow.on;
}

bool
pt_unit_fill_to_pmi(struct pt_unit *unit)
{
	uint64_t bytes;
	bool intr;

	if (!steer_is_open(unit))
		return false;
	drain_flush(unit);
	unit_refresh(unit);
	if (!steer_is_open(unit) || !topa_leads_to_intr(unit, &bytes))
		return false;
	do {
		TZ_ASSERT(unit->topa.open);
		intr = unit->topa.region_intr;
		place_fill(unit);
	} while (!intr);
	unit_refresh(unit);
	return true;
}

bool
pt_unit_force_error(struct pt_unit *unit)
{
	if (!unit->gate.trigger_en)
		return false;
	topa_fail(unit, "operational error asked for");
	unit_refresh(unit);
	TZ_ASSERT(!unit->gate.trigger_en);
	return true;
}

bool
pt_unit_force_stop(struct pt_unit *unit)
{
	if (!steer_is_open(unit) || !(unit->msrs.ctl & CTL_TOPA))
		return false;
	drain_flush(unit);
	unit_refresh(unit);
	if (!steer_is_open(unit))
		return true;
	unit->topa.region_stop = true;
	place_fill(unit);
	unit_refresh(unit);
	TZ_ASSERT(!unit->gate.trigger_en);
	TZ_ASSERT(unit->msrs.status & STATUS_STOPPED);
	return true;
}

bool
pt_unit_overflow(struct pt_unit *unit, uint32_t transfers)
{
	if (!steer_is_open(unit))
		return false;
	tnt_forget(unit);
	unit->fast.ret_count = 0;
	unit->overflow = (struct overflow){ .on = true,
		.transfers = transfers == 0 ? 1 : transfers };
	unit_refresh(unit);
	TZ_ASSERT(!unit->fast.fast && !unit->fast.off);
	return true;
}

bool
pt_unit_stale(struct pt_unit *unit, uint32_t entries)
{
	if (!unit->gate.trigger_en || !unit->topa.open ||
	    !(unit->msrs.ctl & CTL_TOPA) || entries == 0)
		return false;
	table_remember(unit, entries);
	return true;
}

/* What is hashed: values only, so that no padding and no pointer is. */
struct steer_words {
	size_t count;
	uint64_t word[STEER_WORDS_MAX];
};

static void
steer_add(struct steer_words *words, uint64_t value)
{
	TZ_ASSERT(words->count < STEER_WORDS_MAX);
	words->word[words->count++] = value;
}

static void
steer_add_msrs(struct steer_words *words, const struct pt_unit *unit)
{
	const struct gate_config *msrs = &unit->msrs;
	const struct gate *gate = &unit->gate;
	uint64_t status = msrs->status;

	/* While TraceEn is 1, PacketByteCnt is place.c's. */
	if (msrs->ctl & CTL_TRACE_EN)
		status &= ~(STATUS_COUNT_MASK << STATUS_COUNT_SHIFT);
	steer_add(words, msrs->ctl);
	steer_add(words, status);
	steer_add(words, msrs->cr3_match);
	for (unsigned n = 0; n < GATE_RANGES_MAX; n++) {
		steer_add(words, msrs->range_a[n]);
		steer_add(words, msrs->range_b[n]);
	}
	steer_add(words, unit->output_base);
	steer_add(words, unit->topa.index);
	steer_add(words, unit->topa.offset_bytes);
	steer_add(words,
	    (uint64_t)gate->trigger_en | (uint64_t)gate->context_en << 1 |
		(uint64_t)gate->filter_en << 2 |
		(uint64_t)gate->packet_en << 3);
}

static void
steer_add_output(struct steer_words *words, const struct pt_unit *unit)
{
	const struct topa *topa = &unit->topa;
	const struct topa_stale *stale = &unit->stale;
	const struct place *place = &unit->place;

	steer_add(words, place_count(unit));
	steer_add(words, place_look_bytes(unit));
	steer_add(words,
	    (uint64_t)place->close_word | (uint64_t)place->psb_due << 1 |
		(uint64_t)topa->open << 2);
	if (topa->open) {
		steer_add(words, topa->region_pa);
		steer_add(words, topa->region_bytes);
		steer_add(words, topa->pmi_at);
		steer_add(words,
		    (uint64_t)topa->region_stop |
			(uint64_t)topa->region_intr << 1);
	}
	steer_add(words, stale->count);
	for (uint32_t slot = 0; slot < stale->count; slot++) {
		steer_add(words, stale->used >> slot & 1);
		if (stale->used >> slot & 1)
			continue;
		steer_add(words, stale->table + 8 * (stale->first + slot));
		steer_add(words, stale->entry[slot]);
	}
}

static void
steer_add_flow(struct steer_words *words, const struct pt_unit *unit)
{
	const struct flow *flow = &unit->flow;
	const struct pt_fast *fast = &unit->fast;

	steer_add(words, fast->tnt);
	steer_add(words, unit->tnt.bits | (uint64_t)unit->tnt.count << 56);
	steer_add(words, unit->tnt.tips);
	for (uint32_t n = 0; n < unit->tnt.tips; n++)
		steer_add(words, unit->tnt.tip[n]);
	steer_add(words, flow->last_ip_valid ? flow->last_ip : 0);
	steer_add(words, flow->last_ip_valid);
	steer_add(words, flow->cr3);
	steer_add(words, flow->non_root);
	steer_add(words, unit->vmx.on);
	steer_add(words, unit->vmx.vmcs);
	steer_add(words,
	    flow->exec | (uint64_t)flow->tsx << 4 |
		(uint64_t)flow->non_root << 5 |
		(uint64_t)flow->exec_known << 8 |
		(uint64_t)flow->exec_told << 9 |
		(flow->exec_known ? (uint64_t)flow->exec_sent << 16 : 0));
	steer_add(words, unit->overflow.on);
	steer_add(words, unit->overflow.transfers);
	if (unit->buffer != NULL) {
		steer_add(words,
		    (uint64_t)unit->overflow.full |
			(uint64_t)unit->overflow.ripe << 1);
		steer_add(words, buffer_hash(unit->buffer));
		steer_add(
		    words, unit->late_pmi.on ? unit->late_pmi.due : UINT64_MAX);
	}
	steer_add(words, fast->ret_count);
	TZ_ASSERT(fast->ret_count <= PT_RETURN_STACK_ENTRIES);
	for (uint32_t n = 1; n <= fast->ret_count; n++)
		steer_add(words,
		    fast->ret_stack[(fast->ret_top - n) %
			PT_RETURN_STACK_ENTRIES]);
}

/* Absolute time: what comes next depends on it. */
static void
steer_add_timing(struct steer_words *words, const struct pt_unit *unit)
{
	const struct timing *timing = &unit->timing;

	steer_add(words, timing->now.cycles);
	steer_add(words, timing->now.tsc);
	steer_add(words, timing->mtc_due);
	steer_add(words, timing->cyc_zero);
	steer_add(words, timing->cyc_sent);
}

uint64_t
pt_unit_hash(const struct pt_unit *unit)
{
	struct steer_words words = { 0 };

	steer_add_msrs(&words, unit);
	if (unit->msrs.ctl & CTL_TRACE_EN)
		steer_add_output(&words, unit);
	if (unit->gate.trigger_en)
		steer_add_flow(&words, unit);
	steer_add(&words, unit->timing.cbr);
	if (unit->fast.timed)
		steer_add_timing(&words, unit);
	return XXH3_64bits(words.word, words.count * sizeof(words.word[0]));
}
