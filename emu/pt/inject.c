#include "emu/pt/inject.h"

#include "emu/pt/output/layout.h"
#include "emu/pt/output/output_queue.h"
#include "emu/pt/output/topa.h"
#include "emu/pt/output/topa_entry.h"
#include "emu/pt/packet/emit.h"
#include "emu/pt/packet/tnt.h"
#include "emu/pt/state.h"

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
	TZ_ASSERT(unit->topa.index < TOPA_ENTRY_ENTRIES_MAX);
	pa->u = unit->output_base + (uint64_t)unit->topa.index * 8;
	return true;
}

/* May output be added? */
static bool
inject_is_open(const struct pt_unit *unit)
{
	TZ_ASSERT(!unit->overflow.on || unit->gate.trigger_en);
	return unit->gate.trigger_en && unit->topa.open && !unit->overflow.on;
}

bool
pt_unit_fill_to_pmi(struct pt_unit *unit)
{
	uint64_t bytes;
	bool intr;

	if (!inject_is_open(unit))
		return false;
	output_queue_flush(unit);
	unit_refresh(unit);
	if (!inject_is_open(unit) || !topa_leads_to_intr(unit, &bytes))
		return false;
	do {
		TZ_ASSERT(unit->topa.open);
		intr = unit->topa.region_intr;
		layout_fill(unit);
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
	if (!inject_is_open(unit) || !(unit->msrs.ctl & CTL_TOPA))
		return false;
	output_queue_flush(unit);
	unit_refresh(unit);
	if (!inject_is_open(unit))
		return true;
	unit->topa.region_stop = true;
	layout_fill(unit);
	unit_refresh(unit);
	TZ_ASSERT(!unit->gate.trigger_en);
	TZ_ASSERT(unit->msrs.status & STATUS_STOPPED);
	return true;
}

bool
pt_unit_overflow(struct pt_unit *unit, uint32_t transfers)
{
	if (!inject_is_open(unit))
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
	topa_entry_remember(unit, entries);
	return true;
}

/* What is hashed: values only, so that no padding and no pointer is. */
struct steer_words {
	size_t count;
	uint64_t word[STEER_WORDS_MAX];
};

static void
hash_add(struct steer_words *words, uint64_t value)
{
	TZ_ASSERT(words->count < STEER_WORDS_MAX);
	words->word[words->count++] = value;
}

static void
hash_add_msrs(struct steer_words *words, const struct pt_unit *unit)
{
	const struct gate_config *msrs = &unit->msrs;
	const struct gate *gate = &unit->gate;
	uint64_t status = msrs->status;

	/* While TraceEn is 1, PacketByteCnt is output/layout.c's. */
	if (msrs->ctl & CTL_TRACE_EN)
		status &= ~(STATUS_COUNT_MASK << STATUS_COUNT_SHIFT);
	hash_add(words, msrs->ctl);
	hash_add(words, status);
	hash_add(words, msrs->cr3_match);
	for (unsigned n = 0; n < GATE_RANGES_MAX; n++) {
		hash_add(words, msrs->range_a[n]);
		hash_add(words, msrs->range_b[n]);
	}
	hash_add(words, unit->output_base);
	hash_add(words, unit->topa.index);
	hash_add(words, unit->topa.offset_bytes);
	hash_add(words,
	    (uint64_t)gate->trigger_en | (uint64_t)gate->context_en << 1 |
		(uint64_t)gate->filter_en << 2 |
		(uint64_t)gate->packet_en << 3);
}

static void
hash_add_output(struct steer_words *words, const struct pt_unit *unit)
{
	const struct topa *topa = &unit->topa;
	const struct topa_stale *stale = &unit->stale;
	const struct place *place = &unit->place;

	hash_add(words, layout_count(unit));
	hash_add(words, layout_look_bytes(unit));
	hash_add(words,
	    (uint64_t)place->close_word | (uint64_t)place->psb_due << 1 |
		(uint64_t)topa->open << 2);
	if (topa->open) {
		hash_add(words, topa->region_pa);
		hash_add(words, topa->region_bytes);
		hash_add(words, topa->pmi_at);
		hash_add(words,
		    (uint64_t)topa->region_stop |
			(uint64_t)topa->region_intr << 1);
	}
	hash_add(words, stale->count);
	for (uint32_t slot = 0; slot < stale->count; slot++) {
		hash_add(words, stale->used >> slot & 1);
		if (stale->used >> slot & 1)
			continue;
		hash_add(words, stale->table + 8 * (stale->first + slot));
		hash_add(words, stale->entry[slot]);
	}
}

static void
hash_add_flow(struct steer_words *words, const struct pt_unit *unit)
{
	const struct flow *flow = &unit->flow;
	const struct pt_fast *fast = &unit->fast;

	hash_add(words, fast->tnt);
	hash_add(words, unit->tnt.bits | (uint64_t)unit->tnt.count << 56);
	hash_add(words, unit->tnt.tips);
	for (uint32_t n = 0; n < unit->tnt.tips; n++)
		hash_add(words, unit->tnt.tip[n]);
	hash_add(words, flow->last_ip_valid ? flow->last_ip : 0);
	hash_add(words, flow->last_ip_valid);
	hash_add(words, flow->cr3);
	hash_add(words, flow->non_root);
	hash_add(words, unit->vmx.on);
	hash_add(words, unit->vmx.vmcs);
	hash_add(words,
	    flow->exec | (uint64_t)flow->tsx << 4 |
		(uint64_t)flow->non_root << 5 |
		(uint64_t)flow->exec_known << 8 |
		(uint64_t)flow->exec_told << 9 |
		(flow->exec_known ? (uint64_t)flow->exec_sent << 16 : 0));
	hash_add(words, unit->overflow.on);
	hash_add(words, unit->overflow.transfers);
	if (unit->buffer != NULL) {
		hash_add(words,
		    (uint64_t)unit->overflow.full |
			(uint64_t)unit->overflow.ripe << 1);
		hash_add(words, buffer_hash(unit->buffer));
		hash_add(
		    words, unit->late_pmi.on ? unit->late_pmi.due : UINT64_MAX);
	}
	hash_add(words, fast->ret_count);
	TZ_ASSERT(fast->ret_count <= PT_RETURN_STACK_ENTRIES);
	for (uint32_t n = 1; n <= fast->ret_count; n++)
		hash_add(words,
		    fast->ret_stack[(fast->ret_top - n) %
			PT_RETURN_STACK_ENTRIES]);
}

/* Absolute time: what comes next depends on it. */
static void
hash_add_timing(struct steer_words *words, const struct pt_unit *unit)
{
	const struct timing *timing = &unit->timing;

	hash_add(words, timing->now.cycles);
	hash_add(words, timing->now.tsc);
	hash_add(words, timing->mtc_due);
	hash_add(words, timing->cyc_zero);
	hash_add(words, timing->cyc_sent);
}

uint64_t
pt_unit_hash(const struct pt_unit *unit)
{
	struct steer_words words = { 0 };

	hash_add_msrs(&words, unit);
	if (unit->msrs.ctl & CTL_TRACE_EN)
		hash_add_output(&words, unit);
	if (unit->gate.trigger_en)
		hash_add_flow(&words, unit);
	hash_add(&words, unit->timing.cbr);
	if (unit->fast.timed)
		hash_add_timing(&words, unit);
	return XXH3_64bits(words.word, words.count * sizeof(words.word[0]));
}
