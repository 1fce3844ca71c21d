/*
 * Saves the state as bytes, for snapshots, and hashes it.  Only the used part of arrays
 * is saved.  The hash excludes what merging ignores: instruction counts, cycles, event
 * numbers and places; sums of bytes are included as differences.
 */
#include "harness/check/internal.h"
#include "harness/check/mix.h"

#include <string.h>

size_t
check_size(const struct check *check)
{
	return sizeof(check->core) +
	    check->core.extent_count * sizeof(check->extent[0]) +
	    check->core.page_count * sizeof(check->page[0]) +
	    check->core.freed_count * sizeof(check->freed[0]);
}

void
check_save(const struct check *check, void *state)
{
	size_t extents = check->core.extent_count * sizeof(check->extent[0]);
	size_t pages = check->core.page_count * sizeof(check->page[0]);
	uint8_t *to = state;

	memcpy(to, &check->core, sizeof(check->core));
	memcpy(to + sizeof(check->core), check->extent, extents);
	memcpy(to + sizeof(check->core) + extents, check->page, pages);
	memcpy(to + sizeof(check->core) + extents + pages, check->freed,
	    check->core.freed_count * sizeof(check->freed[0]));
}

void
check_restore(struct check *check, const void *state)
{
	const uint8_t *from = state;
	size_t extents, pages;

	page_set_frames(check, false);
	freed_set_heads(check, false);
	memcpy(&check->core, from, sizeof(check->core));
	extents = check->core.extent_count * sizeof(check->extent[0]);
	pages = check->core.page_count * sizeof(check->page[0]);
	memcpy(check->extent, from + sizeof(check->core), extents);
	memcpy(check->page, from + sizeof(check->core) + extents, pages);
	memcpy(check->freed, from + sizeof(check->core) + extents + pages,
	    check->core.freed_count * sizeof(check->freed[0]));
	page_set_frames(check, true);
	freed_set_heads(check, true);
}

/* Packs COUNT facts into one word. */
static uint64_t
snapshot_bits(const bool *facts, size_t count)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < count; i++)
		bits = bits << 1 | facts[i];
	return bits;
}

static uint64_t
snapshot_rows(check_rows rows, uint64_t hash)
{
	return mix_word(mix_word(hash, (uint64_t)rows), (uint64_t)(rows >> 64));
}

/* True if an operation is in progress. */
static bool
snapshot_is_busy(const struct check_core *core)
{
	bool busy = false;

	for (unsigned i = 0; i < SCRIPT_ACTORS; i++)
		busy |= core->actor[i].active;
	return busy;
}

static uint64_t
snapshot_memory(const struct check *check, uint64_t hash)
{
	const struct check_core *core = &check->core;
	bool busy = snapshot_is_busy(core);

	hash = mix_word(hash, core->extent_count);
	for (uint32_t i = 0; i < core->extent_count; i++) {
		const struct check_extent *extent = &check->extent[i];

		hash = mix_word(hash,
		    extent->pa ^ extent->bytes << 40 ^
			(uint64_t)(extent->fresh && busy) << 63);
		hash = mix_word(hash, extent->va);
		hash = mix_word(hash, extent->caller);
	}
	for (uint32_t i = 0; i < core->page_count; i++) {
		const struct check_page *page = &check->page[i];

		hash = mix_word(hash,
		    (uint64_t)page->frame << 32 | (uint64_t)page->index << 8 |
			page->stream);
	}
	hash = mix_word(hash, core->freed_sum);
	for (uint32_t i = 0; i < core->stack_count; i++)
		hash = mix_word(hash, core->stack[i].pa);
	for (uint32_t i = 0; i < core->site_count; i++)
		hash = mix_word(hash, core->site[i]);
	for (uint32_t i = 0; i < core->unnamed_count; i++)
		hash = mix_word(hash, core->unnamed[i]);
	return mix_word(hash,
	    (uint64_t)core->unnamed_count << 3 |
		(uint64_t)core->extents_full << 2 |
		(uint64_t)core->freed_full << 1 | core->unnamed_more);
}

static uint64_t
snapshot_unread(const struct check_unread *unread, uint64_t hash)
{
	hash = mix_word(hash, unread->count);
	for (uint32_t i = 0; i < unread->count; i++) {
		const struct check_segment *segment = &unread->segment[i];

		hash = mix_word(
		    hash, (uint64_t)segment->begin << 32 | segment->end);
		hash = mix_word(hash, segment->old);
	}
	return mix_word(hash, unread->overwritten - unread->lost);
}

static uint64_t
snapshot_stream(const struct check_stream *stream, uint64_t hash)
{
	const bool facts[] = { stream->fresh, stream->unsure, stream->blurred,
		stream->missing, stream->asked, stream->drained, stream->to_end,
		stream->written, stream->any_int, stream->before.written,
		stream->current, stream->of_thread, stream->part };

	hash = mix_word(hash, stream->key);
	hash = mix_word(hash, stream->context);
	hash = mix_word(
	    hash, (uint64_t)stream->page_count << 32 | stream->cursor);
	hash = mix_word(hash, stream->high);
	hash = mix_word(hash, stream->thread);
	hash = snapshot_unread(&stream->unread, hash);
	hash = snapshot_unread(&stream->kept, hash);
	hash = mix_word(hash, stream->owed);
	hash = mix_word(hash, stream->before.overwritten);
	hash = mix_word(hash, stream->before.lost);
	for (unsigned i = 0; i < STATS_COUNT; i++)
		hash = mix_word(hash, stream->stats[i].bytes);
	return mix_word(hash, snapshot_bits(facts, TZ_ARRAY_LEN(facts)));
}

static uint64_t
snapshot_cpu(const struct check_cpu *cpu, uint64_t hash)
{
	const struct check_trace *trace = &cpu->trace;
	const struct check_work *work = &cpu->work;
	const struct check_table *table = &cpu->table;
	const struct check_nmi *nmi = &cpu->nmi;
	const bool facts[] = { trace->state == TRACING_ON,
		trace->state == TRACING_OFF_IN_HANDLER, trace->in_handler,
		trace->first, trace->psb, trace->first_start, work->on_seen,
		work->nonempty, work->done, work->broken, cpu->loss.stopped,
		cpu->loss.failed, table->last_valid,
		(table->last_entry & TOPA_ENTRY_INTR) != 0,
		(table->last_entry & TOPA_ENTRY_STOP) != 0, table->uses_int,
		nmi->serving_bit, work->refused, trace->traced, cpu->named,
		cpu->unnamed };

	hash = mix_word(hash, snapshot_bits(facts, TZ_ARRAY_LEN(facts)));
	hash = mix_word(hash, work->bytes << 16 ^ work->psbs);
	hash = mix_word(hash,
	    (uint64_t)table->last_end << 32 |
		(uint64_t)table->last_stream << 8 | cpu->stream);
	hash = mix_word(hash,
	    (uint64_t)(cpu->loss.stopped || cpu->loss.failed ? cpu->loss.during
							     : 0)
		    << 16 |
		(uint64_t)nmi->pending << 8 | nmi->serving);
	if ((nmi->pending | nmi->serving) & NMI_CAUSE_PMI)
		hash = mix_word(hash, nmi->entry);
	if (cpu->loss.stopped || cpu->loss.failed)
		hash = mix_word(hash, cpu->loss.stream);
	hash = mix_word(hash, nmi->due);
	hash = mix_word(hash, cpu->save_area);
	hash = mix_word(hash, table->pa);
	hash = mix_word(hash, table->region_pa ^ table->region_bytes << 40);
	return snapshot_rows(cpu->excused, hash);
}

static uint64_t
snapshot_asked(const struct check_asked *asked, uint64_t hash)
{
	hash = mix_word(hash, (uint64_t)asked->context << 32 | asked->checked);
	if (asked->known != asked->count)
		hash = mix_word(hash, asked->known);
	for (uint32_t i = 0; i < asked->count; i++) {
		hash = mix_word(hash, asked->row[i].msr);
		hash = mix_word(hash, asked->row[i].mask);
		hash = mix_word(hash, asked->row[i].value);
		if (asked->changed >> i & 1)
			hash = mix_word(hash, asked->before[i]);
	}
	for (uint32_t i = 0; asked->either && i < asked->old_count; i++) {
		hash = mix_word(hash, asked->old[i].msr);
		hash = mix_word(hash, asked->old[i].mask);
		hash = mix_word(hash, asked->old[i].value);
	}
	return hash;
}

static uint64_t
snapshot_session(const struct check_core *core, uint64_t hash)
{
	hash = mix_word(hash,
	    (uint64_t)core->session.open |
		(uint64_t)core->session.accepted << 1 |
		(uint64_t)core->session.programs << 2 |
		(uint64_t)core->session.follows << 10 |
		(uint64_t)core->session.mask << 16 |
		(uint64_t)core->session.stopped << 32);
	for (unsigned i = 0; i < SCRIPT_ACTORS; i++) {
		const struct check_actor *actor = &core->actor[i];

		hash = mix_word(hash,
		    (uint64_t)actor->call << 32 | (uint64_t)actor->step << 16 |
			(uint64_t)actor->cpu << 8 |
			(uint64_t)(actor->active && actor->follows) << 4 |
			(uint64_t)(actor->active && actor->alone) << 3 |
			(uint64_t)actor->works << 2 |
			(uint64_t)actor->ages << 1 | actor->active);
	}
	hash = mix_word(hash, core->last_actor);
	hash = mix_word(
	    hash, (uint64_t)core->periods.count << 1 | core->periods.more);
	for (uint32_t i = 0; i < core->periods.count; i++)
		hash = mix_word(hash, core->periods.events[i]);
	if (snapshot_is_busy(core)) {
		hash = mix_word(hash, core->changes.judged);
		hash = mix_word(hash, core->changes.handed);
		hash = mix_word(hash, core->changes.made_by);
		hash = mix_word(hash, core->changes.freed_by);
	}
	for (uint32_t i = 0; i <= core->asked_count; i++)
		hash = snapshot_asked(&core->asked[i], hash);
	return hash;
}

uint64_t
check_hash(const struct check *check)
{
	const struct check_core *core = &check->core;
	uint64_t hash = snapshot_memory(check, 0);

	for (uint32_t i = 0; i < core->stream_count; i++)
		hash = snapshot_stream(&core->stream[i], hash);
	for (unsigned i = 0; i < check->config.cpu_count; i++)
		hash = snapshot_cpu(&core->cpu[i], hash);
	hash = snapshot_session(core, hash);
	for (uint32_t i = 0; i < core->violation_count; i++)
		hash = mix_word(hash, core->violation_key[i]);
	for (unsigned i = 0; i < REASON_COUNT; i++)
		hash = snapshot_rows(core->unjudged[i], hash);
	return hash;
}
