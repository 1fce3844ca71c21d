/*
 * What the trace units read from their tables, and their errors and stops: rows
 * table-*, topa-*, wrap-int, stop-int, error-silent, stopped-silent and freed-in-use.
 */
#include "harness/check/internal.h"

#include <inttypes.h>

/* SDM vol. 3, 33.2.7.2, table "ToPA Table Entry Fields". */
#define TABLE_ENTRIES_MAX  65536
#define ENTRY_BYTES(entry) (CHECK_PAGE_BYTES << tz_bits((entry), 9, 6))

/* Rows table-owned and table-whole. */
static void
table_check_place(struct check *check, const struct event *event)
{
	uint64_t begin = event->a - event->c * 8;
	const struct check_extent *here = owner_find(check, event->a);
	const struct check_extent *first = owner_find(check, begin);
	struct check_place at = site_here(check);

	at.blame = check->core.cpu[event->cpu].action.on_at;
	at.object_va = first != NULL ? first->caller - 1 : 0;
	check->core.cpu[event->cpu].table.pa = begin;
	if (check->core.extents_full)
		return;
	if (here == NULL)
		violation_add(check, CHECK_TABLE_OWNED, 0, &at,
		    "entry %" PRIu64 " of the table at %#" PRIx64
		    " is at %#" PRIx64 ", which nobody holds",
		    event->c, begin, event->a);
	else if (first != NULL && first->va != here->va)
		violation_add(check, CHECK_TABLE_WHOLE, 0, &at,
		    "entry %" PRIu64 " of the table at %#" PRIx64
		    " is in another allocation",
		    event->c, begin);
}

/* True if all of [PA, +BYTES) is in one live allocation. */
static bool
table_is_held(const struct check *check, uint64_t pa, uint64_t bytes)
{
	const struct check_extent *extent = owner_find(check, pa);

	return extent != NULL && pa + bytes <= extent->pa + extent->bytes;
}

/*
 * Judges the region of ENTRY, of stream PAGE->stream, after the one in LAST; AT: where.
 * ANY_INT: a region of the stream has INT.  If user space maps a region in part, the rest
 * is in no stream.  True if the region is the next one.
 */
static bool
table_check_order(struct check *check, const struct check_table *last,
    const struct check_page *page, uint64_t entry, bool any_int,
    const struct check_place *at)
{
	const struct check_stream *stream = &check->core.stream[page->stream];
	uint64_t size = stream->page_count * CHECK_PAGE_BYTES;
	uint64_t begin = page->index * CHECK_PAGE_BYTES;
	uint64_t bytes = ENTRY_BYTES(entry);
	uint64_t pa = TOPA_ENTRY_ADDRESS(entry);
	const struct check_page *end = page_find(check, pa + bytes - 1);
	bool whole = end == NULL ? table_is_held(check, pa, bytes)
				 : end->stream == page->stream &&
		(end->index + UINT64_C(1)) * CHECK_PAGE_BYTES == begin + bytes;

	if (!whole)
		violation_add(check, CHECK_TOPA_ORDER, 1, at,
		    "region of %" PRIu64 " bytes at %#" PRIx64
		    " goes beyond its part of the buffer",
		    bytes, pa);
	if (!last->last_valid || last->last_stream != page->stream)
		return whole;
	if (begin != last->last_end % size) {
		violation_add(check, CHECK_TOPA_ORDER, 0, at,
		    "the region at %" PRIu64 " of the buffer follows one that "
		    "ends at %" PRIu32,
		    begin, last->last_end);
		return false;
	}
	if (begin == 0 && any_int &&
	    (last->last_entry & (TOPA_ENTRY_INTR | TOPA_ENTRY_STOP)) == 0) {
		violation_add(check, CHECK_WRAP_INT, 0, at,
		    "the buffer's last region has no INT, others have");
		return false;
	}
	return whole;
}

/* ENTRY, whose region begins at PAGE (NULL: in no stream), is what was filled last. */
static void
table_fill(
    struct check_table *table, const struct check_page *page, uint64_t entry)
{
	table->last_valid = page != NULL;
	if (page == NULL)
		return;
	table->last_stream = page->stream;
	table->last_end = (uint32_t)(page->index * CHECK_PAGE_BYTES +
	    ENTRY_BYTES(entry));
	table->last_entry = entry;
}

void
table_entry(struct check *check, const struct event *event)
{
	struct check_cpu *cpu = &check->core.cpu[event->cpu];
	struct check_table *table = &cpu->table;
	uint64_t entry = event->b;
	const struct check_page *page = page_find(
	    check, TOPA_ENTRY_ADDRESS(entry));
	struct check_place at;

	table_check_place(check, event);
	if ((entry & TOPA_ENTRY_END) != 0)
		return;
	table->region_pa = TOPA_ENTRY_ADDRESS(entry);
	table->region_bytes = ENTRY_BYTES(entry);
	at = site_here(check);
	at.blame = cpu->action.on_at;
	if ((entry & TOPA_ENTRY_STOP) != 0 && (entry & TOPA_ENTRY_INTR) == 0)
		violation_add(check, CHECK_STOP_INT, 0, &at,
		    "entry %" PRIu64 " has STOP without INT", event->c);
	table->uses_int |= (entry & TOPA_ENTRY_INTR) != 0;
	if (page != NULL) {
		struct check_stream *stream = &check->core.stream[page->stream];

		stream->any_int |= (entry & TOPA_ENTRY_INTR) != 0;
		at.stream = page->stream;
		table_check_order(
		    check, table, page, entry, stream->any_int, &at);
	}
	table_fill(table, page, entry);
}

/* The tables that a CPU is about to walk, as they are in memory. */
struct table_walk {
	struct check *check;
	struct check_place at;
	struct check_table last; /* as the unit's own: what was walked last */
	uint64_t table;          /* the present one */
	uint64_t left;           /* entries until the walk ends */
	bool any_int;
};

/* True if the entry at PA, number INDEX, is in the allocation that has the first one. */
static bool
table_goes_on(struct table_walk *walk, uint64_t index)
{
	struct check *check = walk->check;
	uint64_t pa = walk->table + 8 * index;
	const struct check_extent *first, *here;

	if (index == 0 || pa % CHECK_PAGE_BYTES != 0)
		return true;
	first = owner_find(check, walk->table);
	here = owner_find(check, pa);
	if (first == NULL || (here != NULL && here->va == first->va))
		return true;
	walk->at.object_va = first->caller - 1;
	violation_add(check, CHECK_TABLE_WHOLE, 1, &walk->at,
	    "entry %" PRIu64 " of the table at %#" PRIx64 " is where %s", index,
	    walk->table,
	    here == NULL ? "nobody's memory is" : "another allocation is");
	return false;
}

/* Judges ENTRY, an output region; false: it is wrong, or the output stops there. */
static bool
table_walk_region(struct table_walk *walk, uint64_t entry)
{
	struct check *check = walk->check;
	const struct check_page *page = page_find(
	    check, TOPA_ENTRY_ADDRESS(entry));
	bool right = true;

	walk->any_int |= (entry & TOPA_ENTRY_INTR) != 0;
	if (page != NULL) {
		walk->at.stream = page->stream;
		right = table_check_order(
		    check, &walk->last, page, entry, walk->any_int, &walk->at);
	}
	table_fill(&walk->last, page, entry);
	return right && (entry & TOPA_ENTRY_STOP) == 0;
}

/*
 * Walks the present table up to its END; *NEXT: the next table.  A region that nobody
 * holds is judged if the table has an END: else it may be filled in later.  False: the
 * walk ends here.
 */
static bool
table_walk_one(struct table_walk *walk, uint64_t *next)
{
	const struct check_reads *reads = &walk->check->config.reads;
	uint64_t entry, stray = UINT64_MAX, stray_pa = 0;

	for (uint64_t i = 0; walk->left-- > 1; i++) {
		if (!table_goes_on(walk, i) ||
		    !reads->word(reads->arg, walk->table + 8 * i, &entry))
			return false;
		*next = TOPA_ENTRY_ADDRESS(entry);
		if ((entry & TOPA_ENTRY_END) != 0)
			break;
		if (stray == UINT64_MAX &&
		    owner_find(walk->check, *next) == NULL) {
			stray = i;
			stray_pa = *next;
		}
		if (!table_walk_region(walk, entry))
			return false;
	}
	if (walk->left == 0 || stray == UINT64_MAX)
		return walk->left != 0;
	violation_add(walk->check, CHECK_OUTPUT_OWNED, 1, &walk->at,
	    "entry %" PRIu64 " of the table at %#" PRIx64 " is of %#" PRIx64
	    ", which nobody holds",
	    stray, walk->table, stray_pa);
	return false;
}

/*
 * Judges the tables that a CPU is about to walk, until they lead back to the first one:
 * also those that no run is long enough to fill.  If another allocation, or none, holds a
 * further page of a table, the table was contiguous only in linear addresses.
 */
static void
table_look_ahead(struct check *check, unsigned cpu)
{
	const struct check_reads *reads = &check->config.reads;
	struct table_walk walk = { .check = check,
		.at = site_here(check),
		.left = TABLE_ENTRIES_MAX };
	struct machine_pt pt;
	uint64_t next = 0, entry;

	reads->pt(reads->arg, cpu, &pt);
	if ((pt.ctl & CTL_TOPA) == 0 || check->core.extents_full)
		return;
	walk.table = pt.output_base;
	while (table_walk_one(&walk, &next)) {
		if (next == TOPA_ENTRY_ADDRESS(pt.output_base)) {
			/* The wrap, from the last region to the first one. */
			if (reads->word(reads->arg, pt.output_base, &entry) &&
			    (entry & TOPA_ENTRY_END) == 0)
				table_walk_region(&walk, entry);
			return;
		}
		if (owner_find(check, next) == NULL) {
			violation_add(check, CHECK_TABLE_OWNED, 1, &walk.at,
			    "the END of the table at %#" PRIx64
			    " leads to %#" PRIx64 ", which nobody holds",
			    walk.table, next);
			return;
		}
		walk.table = next;
	}
}

void
table_moved(struct check *check)
{
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++)
		check->core.cpu[i].table.last_valid = false;
}

/* The driver may resume at any position. */
void
table_trace_on(struct check *check, const struct event *event)
{
	struct check_table *table = &check->core.cpu[event->cpu].table;

	table->last_valid = false;
	table->pa = table->region_pa = table->region_bytes = 0;
	table_look_ahead(check, event->cpu);
}

/* The actors whose operations are in progress, one bit each. */
static uint8_t
table_busy(const struct check *check)
{
	uint8_t busy = 0;

	for (unsigned i = 0; i < SCRIPT_ACTORS; i++)
		busy |= (uint8_t)(check->core.actor[i].active << i);
	return busy;
}

/*
 * The stream of the region in use.  A CPU that traces thread after thread may not have
 * written to it yet.
 */
static uint8_t
table_stream(struct check *check, const struct check_cpu *cpu)
{
	const struct check_page *page = cpu->table.region_bytes == 0
	    ? NULL
	    : page_find(check, cpu->table.region_pa);

	return page != NULL ? page->stream : cpu->stream;
}

void
table_error(struct check *check, const struct event *event)
{
	const struct check_reads *reads = &check->config.reads;
	struct check_cpu *cpu = &check->core.cpu[event->cpu];
	struct check_loss *loss = &cpu->loss;
	const char *why = reads->pt_error(reads->arg, event->cpu);

	loss->stream = table_stream(check, cpu);
	loss->failed_at = site_here(check);
	loss->failed_at.stream = loss->stream;
	loss->failed_at.blame = cpu->action.on_at;
	loss->failed_at.object = why;
	violation_add(check, CHECK_TOPA_ERROR, 0, &loss->failed_at,
	    "CPU %u: an operational error ends the output: %s", event->cpu,
	    why != NULL ? why : "no reason is known");
	loss->failed_at.object = NULL;
	loss->failed = true;
	loss->during = table_busy(check);
	if (loss->stream != CHECK_NO_STREAM)
		check->core.stream[loss->stream].unsure = true;
}

void
table_stopped(struct check *check, const struct event *event)
{
	struct check_cpu *cpu = &check->core.cpu[event->cpu];
	struct check_loss *loss = &cpu->loss;

	loss->stream = table_stream(check, cpu);
	loss->stopped_at = site_here(check);
	loss->stopped_at.stream = loss->stream;
	loss->stopped = true;
	loss->during = table_busy(check);
	if (loss->stream != CHECK_NO_STREAM)
		check->core.stream[loss->stream].unsure = true;
}

static void
table_forget_loss(struct check_cpu *cpu)
{
	cpu->loss.stopped = cpu->loss.failed = false;
}

void
table_told_all(struct check *check)
{
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++)
		table_forget_loss(&check->core.cpu[i]);
}

void
table_call_begin(struct check *check, const struct event *event)
{
	if (event->b >= SCRIPT_ACTORS)
		return;
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++)
		check->core.cpu[i].loss.during &= (uint8_t) ~(1u << event->b);
}

/* A call that fails also reports the loss. */
void
table_call_end(struct check *check, const struct event *event)
{
	if ((int64_t)event->c < 0)
		table_told_all(check);
}

void
table_told(struct check *check, unsigned stream)
{
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++) {
		struct check_cpu *cpu = &check->core.cpu[i];

		if (cpu->loss.stream == stream)
			table_forget_loss(cpu);
	}
}

void
table_collected(struct check *check, unsigned stream)
{
	const struct event *event = &check->core.event;

	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++) {
		struct check_cpu *cpu = &check->core.cpu[i];
		struct check_loss *loss = &cpu->loss;

		if (loss->stream != stream)
			continue;
		/* The collection had begun before the loss: the next one tells
		 * of it. */
		if (event->kind == EVENT_CALL_END && event->b < SCRIPT_ACTORS &&
		    (loss->during >> event->b & 1) != 0)
			continue;
		if (event->kind == EVENT_POSITION && loss->during != 0)
			continue;
		/* The driver could have detected it when it last changed TraceEn. */
		loss->failed_at.blame = loss->stopped_at.blame = site_or(
		    check, i, &cpu->action.off_at, &cpu->action.on_at);
		if (loss->failed)
			violation_add(check, CHECK_ERROR_SILENT, 0,
			    &loss->failed_at,
			    "CPU %u met an operational error; who collected "
			    "its trace was told of no loss",
			    i);
		if (loss->stopped)
			violation_add(check, CHECK_STOPPED_SILENT, 0,
			    &loss->stopped_at,
			    "CPU %u stopped tracing by itself; who collected "
			    "its trace was told of no loss",
			    i);
		table_forget_loss(cpu);
	}
}

static bool
table_meets(const struct check_extent *extent, uint64_t pa, uint64_t bytes)
{
	return bytes != 0 && pa < extent->pa + extent->bytes &&
	    extent->pa < pa + bytes;
}

void
table_freed(struct check *check, const struct check_extent *extent)
{
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++) {
		const struct check_cpu *cpu = &check->core.cpu[i];
		const struct check_table *table = &cpu->table;
		bool is_table = table_meets(
		    extent, table->pa, table->pa != 0 ? 8 : 0);
		struct check_place at;

		if (cpu->trace.state != TRACING_ON ||
		    (!is_table &&
			!table_meets(
			    extent, table->region_pa, table->region_bytes)))
			continue;
		at = site_here(check);
		at.blame = cpu->action.on_at;
		at.object_va = extent->caller - 1;
		violation_add(check, CHECK_FREED_IN_USE, 0, &at,
		    "the %s at %#" PRIx64 " is freed while CPU %u uses it",
		    is_table ? "table" : "region",
		    is_table ? table->pa : table->region_pa, i);
	}
}
