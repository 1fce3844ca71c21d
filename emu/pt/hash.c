/*
 * The hash of a unit's state: everything that decides what it does next.
 */
#include "emu/pt/inject.h"
#include "emu/pt/output/layout.h"
#include "emu/pt/state.h"

#include <xxhash.h>

#define HASH_WORDS_MAX 320

/* The values to be hashed, collected so that neither padding nor pointers are hashed. */
struct hash_words {
	size_t count;
	uint64_t word[HASH_WORDS_MAX];
};

static void
hash_add(struct hash_words *words, uint64_t value)
{
	TZ_ASSERT(words->count < HASH_WORDS_MAX);
	words->word[words->count++] = value;
}

static void
hash_add_msrs(struct hash_words *words, const struct pt_unit *unit)
{
	const struct gate_config *msrs = &unit->msrs;
	const struct gate *gate = &unit->gate;
	uint64_t status = msrs->status;

	/* While TraceEn is 1, output/layout.c keeps PacketByteCnt. */
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
hash_add_output(struct hash_words *words, const struct pt_unit *unit)
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
hash_add_flow(struct hash_words *words, const struct pt_unit *unit)
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

/* Absolute time: the next packets depend on it. */
static void
hash_add_timing(struct hash_words *words, const struct pt_unit *unit)
{
	const struct timing *timing = &unit->timing;

	hash_add(words, timing->now.cycles);
	hash_add(words, timing->now.tsc);
	hash_add(words, timing->mtc_due);
	hash_add(words, unit->cyc.zero);
	hash_add(words, unit->cyc.sent);
}

uint64_t
pt_unit_hash(const struct pt_unit *unit)
{
	struct hash_words words = { 0 };

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
