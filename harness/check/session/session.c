/*
 * Whether tracing does what user space requested: rows config-applied, empty-trace,
 * first-psb, on-after-stop and trace-left-on; and which operations run.
 */
#include "emu/guest_abi.h"
#include "harness/check/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The minimum size of a flushed PSB+ outside the filters: no packet follows it. */
#define PSB_BYTES 32

/* The region that output will go to; 0: not known. */
static uint64_t
session_region(
    const struct check *check, const struct machine_pt *pt, uint64_t ctl)
{
	const struct check_reads *reads = &check->config.reads;
	uint64_t index = (pt->mask_ptrs & UINT32_MAX & ~MASK_PTRS_LOW) >> 7;
	uint64_t entry;

	if ((ctl & CTL_TOPA) == 0)
		return pt->output_base;
	if (!reads->word(reads->arg, pt->output_base + 8 * index, &entry) ||
	    (entry & TOPA_ENTRY_END) != 0)
		return 0;
	return entry & ~(CHECK_PAGE_BYTES - 1);
}

static struct check_asked *
session_find_asked(struct check *check, unsigned context)
{
	struct check_core *core = &check->core;

	for (uint32_t i = 0; i <= core->asked_count; i++) {
		if (core->asked[i].context == context)
			return &core->asked[i];
	}
	return NULL;
}

/*
 * How the MSRs differ from what was requested.  Values that are ignored or left over
 * belong to one field; a configuration that is applied too late is late as a whole.
 */
static const struct session_difference {
	const char *text;
	bool whole;
} too_little = { "too little", false }, too_much = { "too much", false },
  too_late = { "as it was asked for before", true },
  other_value = { "another value", false };

static const struct session_difference *
session_difference(
    const struct check_asked *asked, uint32_t row, uint64_t found)
{
	uint64_t value = asked->row[row].value;

	if ((value & ~found) != 0)
		return (found & ~value) == 0 ? &too_little : &other_value;
	return (asked->changed >> row & 1) && found == asked->before[row]
	    ? &too_late
	    : &too_much;
}

/* True if the MSRs are those of the configuration before, which may be in force. */
static bool
session_is_old(
    const struct check_asked *asked, const struct machine_pt *pt, uint64_t ctl)
{
	for (uint32_t i = 0; i < asked->old_count; i++) {
		const struct check_expect *expect = &asked->old[i];

		if ((registers_value(pt, expect->msr, ctl) & expect->mask) !=
		    expect->value)
			return false;
	}
	return asked->either;
}

static void
session_check_config(
    struct check *check, const struct machine_pt *pt, uint64_t ctl)
{
	const struct check_page *page = page_find(
	    check, session_region(check, pt, ctl));
	struct check_asked *asked = session_find_asked(
	    check, page != NULL ? check->core.stream[page->stream].context : 0);
	struct check_place at = site_here(check);
	const struct session_difference *difference;
	char object[CHECK_OBJECT_BYTES];

	if (asked == NULL || (asked->count == 0 && asked->known != 0))
		violation_skip(check, REASON_CONFIG, CHECK_ROW(CONFIG_APPLIED));
	if (asked != NULL && session_is_old(asked, pt, ctl))
		return;
	for (uint32_t i = 0; asked != NULL && i < asked->count; i++) {
		const struct check_expect *expect = &asked->row[i];
		uint64_t found = registers_value(pt, expect->msr, ctl) &
		    expect->mask;

		if (found == expect->value || (asked->checked >> i & 1))
			continue;
		asked->checked |= UINT32_C(1) << i;
		difference = session_difference(asked, i, found);
		snprintf(object, sizeof(object), "%.30s, %.31s",
		    difference->whole ? "configuration" : expect->field,
		    difference->text);
		at.object = object;
		violation_add(check, CHECK_CONFIG_APPLIED, i + 1, &at,
		    "%s: MSR %#" PRIx32 " is %#" PRIx64 ", asked for %#" PRIx64
		    " (of bits %#" PRIx64 "): %s",
		    expect->field, expect->msr, found, expect->value,
		    expect->mask, difference->text);
	}
}

/*
 * True if all address filters are of kernel addresses, so that they exclude user
 * work.
 */
static bool
session_leaves_out(const struct machine_pt *pt, uint64_t ctl)
{
	bool filters = false, user = false;

	for (unsigned i = 0; i < TZ_ARRAY_LEN(pt->addr_a); i++) {
		bool filter = (ctl >> (32 + 4 * i) & 0xf) == 1;

		filters |= filter;
		user |= filter && pt->addr_a[i] >> 63 == 0;
	}
	return filters && !user;
}

void
session_trace_on(struct check *check, const struct event *event)
{
	struct check_cpu *cpu = &check->core.cpu[event->cpu];
	struct check_place at;
	struct machine_pt pt;

	check->config.reads.pt(check->config.reads.arg, event->cpu, &pt);
	cpu->trace.state = TRACING_ON;
	cpu->trace.traced = true;
	cpu->trace.first = cpu->work.on_seen = true;
	/* Nothing is in scope, or it depends on which process works. */
	cpu->work.broken |= (event->a & (CTL_OS | CTL_USER)) == 0 ||
	    (event->a & CTL_BRANCH_EN) == 0 ||
	    (event->a & CTL_CR3_FILTER) != 0 ||
	    session_leaves_out(&pt, event->a);
	cpu->trace.psb = false;
	cpu->trace.first_start = (pt.mask_ptrs & ~MASK_PTRS_LOW) == 0;
	session_check_config(check, &pt, event->a);
	if ((check->core.session.stopped >> event->cpu & 1) == 0)
		return;
	at = site_here(check);
	violation_add(check, CHECK_ON_AFTER_STOP, 0, &at,
	    "TraceEn of CPU %u rises after tracing was stopped", event->cpu);
}

static bool
session_traces(const struct check *check, unsigned cpu)
{
	return check->core.cpu[cpu].trace.state == TRACING_ON;
}

void
session_trace_off(struct check *check, const struct event *event)
{
	struct check_trace *trace = &check->core.cpu[event->cpu].trace;

	trace->state = trace->in_handler ? TRACING_OFF_IN_HANDLER : TRACING_OFF;
}

void
session_delivered(struct check *check, const struct event *event)
{
	check->core.cpu[event->cpu].trace.in_handler = true;
}

void
session_iret(struct check *check, const struct event *event)
{
	check->core.cpu[event->cpu].trace.in_handler = false;
}

void
session_psb(struct check *check, const struct event *event)
{
	struct check_cpu *cpu = &check->core.cpu[event->cpu];

	cpu->trace.psb = true;
	if (!cpu->work.nonempty)
		cpu->work.psbs++;
}

void
session_output(struct check *check, const struct event *event)
{
	struct check_trace *trace = &check->core.cpu[event->cpu].trace;
	struct check_work *work = &check->core.cpu[event->cpu].work;
	const struct check_page *page = page_find(check, event->a);
	uint64_t psbs = work->psbs != 0 ? work->psbs : 1;
	struct check_place at;

	if (trace->first && trace->first_start && !trace->psb && page != NULL &&
	    page->index == 0 && event->a % CHECK_PAGE_BYTES == 0 &&
	    check->core.stream[page->stream].fresh) {
		at = site_here(check);
		at.blame = check->core.cpu[event->cpu].action.on_at;
		at.stream = page->stream;
		violation_add(check, CHECK_FIRST_PSB, 0, &at,
		    "stream %" PRIu32 " begins without a PSB: STATUS had a "
		    "PacketByteCnt left over",
		    EVENT_STREAM_ID(check->core.stream[page->stream].key));
	}
	trace->first = false;
	if (work->nonempty)
		return;
	work->bytes += event->b;
	if (work->bytes > psbs * PSB_BYTES) {
		work->nonempty = true;
		work->bytes = work->psbs = 0;
	}
}

void
session_broken(struct check *check, const struct event *event)
{
	check->core.cpu[event->cpu].work.broken = true;
}

/*
 * The driver refused the start; it was the kernel that reported success to user
 * space.
 */
void
session_dropped(struct check *check, const struct event *event)
{
	const check_rows told = CHECK_ROW(STOPPED_SILENT) |
	    CHECK_ROW(ERROR_SILENT) | CHECK_ROW(UNREPORTED_TAIL) |
	    CHECK_ROW(OVERWRITTEN) | CHECK_ROW(OVERWRITTEN_UNREPORTED) |
	    CHECK_ROW(REPORTED_TWICE) | CHECK_ROW(REPORTED_ORDER) |
	    CHECK_ROW(REPORTED_UNWRITTEN);

	if (event->a != ABI_DROPPED_RECORD) {
		if (event->c < MACHINE_CPUS_MAX)
			check->core.cpu[event->c].work.refused = true;
		return;
	}
	/* The driver cannot know that its record never reaches user space. */
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++)
		violation_excuse(check, i, told);
}

void
session_call_begin(struct check *check, const struct event *event)
{
	struct check_core *core = &check->core;
	uint64_t work;

	if (event->b >= SCRIPT_ACTORS)
		return;
	core->last_actor = (uint16_t)event->b;
	/* A system call may end the session; if it does not, less is judged. */
	if (event->c < SCRIPT_LOCAL)
		core->session.open = false;
	if (event->c == SCRIPT_TARGET_SPAWN && core->session.programs < 2)
		core->session.programs++;
	/* If threads are traced, they belong to another program; if there are
	 * several programs, it is unknown which. */
	work = core->session.mask != 0 ? SCRIPT_WORK : SCRIPT_TARGET_WORK;
	core->actor[event->b] = (struct check_actor){
		.active = true,
		.step = (uint16_t)event->a,
		.cpu = event->cpu,
		.call = (uint32_t)event->c,
		.works = event->c == work && core->session.open &&
		    core->session.programs <= 1,
	};
}

/*
 * Work has ended on CPU, and no system call has ended the session.  A buffer that is
 * full to its end is a reason to leave tracing off.
 */
static void
session_judge_off(struct check *check, unsigned index)
{
	struct check_core *core = &check->core;
	const struct check_cpu *cpu = &core->cpu[index];
	const struct check_stream *stream;
	struct check_place at;

	if ((core->session.mask >> index & 1) == 0 ||
	    cpu->trace.state != TRACING_OFF_IN_HANDLER || cpu->work.broken ||
	    cpu->work.refused || cpu->stream >= CHECK_STREAMS_MAX)
		return;
	stream = &core->stream[cpu->stream];
	if (stream->high >= stream->page_count * CHECK_PAGE_BYTES)
		return;
	at = site_here(check);
	at.cpu = (uint16_t)index;
	at.blame = site_or(check, index, &cpu->action.off_at, NULL);
	violation_add(check, CHECK_TRACE_LEFT_OFF, 0, &at,
	    "work ran on CPU %u untraced: an interrupt's handler left tracing "
	    "off",
	    index);
}

void
check_filling(struct check *check, unsigned cpu, const char *why)
{
	struct check_work *work = &check->core.cpu[cpu].work;
	struct check_place at;
	struct machine_pt pt;

	if (session_traces(check, cpu)) {
		check->config.reads.pt(check->config.reads.arg, cpu, &pt);
		/* A filter range may exclude all of it. */
		work->broken |= tz_bits(pt.ctl, 47, 32) != 0;
		work->done = check->core.session.accepted = true;
		return;
	}
	at = site_here(check);
	at.cpu = (uint16_t)cpu;
	at.blame = site_or(
	    check, cpu, &check->core.cpu[cpu].action.off_at, NULL);
	violation_add(check, CHECK_TRACE_LEFT_OFF, 0, &at,
	    "work goes on on CPU %u untraced: %s", cpu, why);
}

void
session_call_end(struct check *check, const struct event *event)
{
	struct check_core *core = &check->core;
	struct check_actor *actor;

	if (event->b >= SCRIPT_ACTORS)
		return;
	actor = &core->actor[event->b];
	actor->active = false;
	if (!actor->works || !core->session.open || actor->cpu != event->cpu ||
	    (int64_t)event->c < 0)
		return;
	core->cpu[event->cpu].work.done = true;
	session_judge_off(check, event->cpu);
}

/* Sets row ROW to EXPECT; OLD is what was requested until now. */
static void
session_ask(struct check_asked *asked, uint32_t row,
    const struct check_expect *expect, const struct check_asked *old)
{
	TZ_ASSERT((expect->value & ~expect->mask) == 0);
	asked->row[row] = *expect;
	for (uint32_t i = 0; i < old->known; i++) {
		const struct check_expect *before = &old->row[i];
		bool differs = before->value != expect->value;

		if (before->msr != expect->msr ||
		    before->mask != expect->mask ||
		    (!differs && !(old->changed >> i & 1)))
			continue;
		asked->before[row] = differs ? before->value : old->before[i];
		asked->changed |= UINT32_C(1) << row;
	}
}

void
check_configured(struct check *check, unsigned context,
    const struct check_expect *expect, size_t count)
{
	struct check_core *core = &check->core;
	struct check_asked *asked = session_find_asked(check, context);
	struct check_asked old;

	TZ_ASSERT(count <= CHECK_EXPECT_MAX);
	/* Contexts beyond the maximum are not judged. */
	if (asked == NULL && core->asked_count == CHECK_CONTEXTS_MAX)
		return;
	if (asked == NULL)
		asked = &core->asked[++core->asked_count];
	asked->context = context;
	asked->count = (uint32_t)count;
	asked->checked = 0;
	asked->either = false;
	/* A configuration without rows changes nothing. */
	if (count == 0)
		return;
	old = *asked;
	asked->changed = 0;
	for (uint32_t i = 0; i < count; i++)
		session_ask(asked, i, &expect[i], &old);
	asked->known = (uint32_t)count;
	asked->old_count = old.known;
	memcpy(asked->old, old.row, sizeof(old.row));
}

void
check_configured_late(struct check *check, unsigned context)
{
	struct check_asked *asked = session_find_asked(check, context);

	/* Without rows, nothing is known of the configuration before. */
	if (asked != NULL)
		asked->either = asked->old_count != 0;
}

static void
session_empty(struct check *check, const char *who, unsigned cpu, bool on)
{
	struct check_place at = site_here(check);

	at.cpu = (uint16_t)cpu;
	at.blame = site_or(
	    check, cpu, &check->core.cpu[cpu].action.on_at, NULL);
	violation_add(check, CHECK_EMPTY_TRACE, 0, &at,
	    "work ran on %s %u after the start succeeded, %s", who, cpu,
	    on ? "no packet but PSB+ came of it" : "TraceEn never rose");
}

void
check_never_filled(struct check *check)
{
	struct check_place at = site_here(check);

	violation_add(check, CHECK_EMPTY_TRACE, 0, &at,
	    "the driver was to fill a buffer; no work went on with one open, "
	    "and not one byte was written");
}

void
check_untraced(struct check *check)
{
	struct check_core *core = &check->core;

	if (core->session.mask == 0)
		core->actor[core->last_actor].works = false;
}

void
session_starting(struct check *check)
{
	struct check_core *core = &check->core;

	core->actor[core->last_actor].ages = true;
	for (uint32_t i = 0; i <= core->asked_count; i++)
		core->asked[i].either = false;
}

bool
session_is_on(const struct check *check)
{
	const struct check_core *core = &check->core;
	bool on = false;

	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++)
		on |= (core->session.mask >> i & 1) != 0 &&
		    session_traces(check, i);
	return core->session.accepted && on;
}

/* True if an operation that starts a session is in progress. */
static bool
session_is_starting(const struct check *check)
{
	for (unsigned i = 0; i < SCRIPT_ACTORS; i++) {
		if (check->core.actor[i].active && check->core.actor[i].ages)
			return true;
	}
	return false;
}

void
session_settle(struct check *check)
{
	struct check_core *core = &check->core;
	bool worked = false, on = false, nonempty = false;
	bool starting = session_is_starting(check);
	unsigned where = 0;

	if (core->session.accepted) {
		for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++) {
			const struct check_work *work = &core->cpu[i].work;
			bool excused = work->broken || work->refused;

			if (core->session.mask >> i & 1 && work->done &&
			    !work->nonempty && !excused)
				session_empty(check, "CPU", i, work->on_seen);
			where = work->done ? i : where;
			worked |= work->done;
			on |= work->on_seen;
			nonempty |= work->nonempty || excused;
		}
		if (core->session.mask == 0 && worked && !nonempty)
			session_empty(
			    check, "the traced thread, CPU", where, on);
	}
	core->session.accepted = core->session.open = false;
	core->session.stopped = 0;
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++) {
		struct check_work *work = &core->cpu[i].work;

		*work = (struct check_work){
			.on_seen = session_traces(check, i),
			.refused = work->refused && starting,
		};
	}
}

void
check_started(struct check *check, unsigned cpu_mask)
{
	struct check_core *core = &check->core;

	/* The session of another context may still be on. */
	core->session.mask = cpu_mask |
	    (core->session.accepted ? core->session.mask : 0);
	core->session.open = core->session.accepted = true;
	core->session.stopped = 0;
	thread_started(check);
}

void
check_stopped(struct check *check, unsigned cpu_mask)
{
	struct check_core *core = &check->core;
	struct check_place at = site_here(check);

	/* A start in progress may follow this stop, which then had no effect. */
	for (unsigned i = 0; i < SCRIPT_ACTORS; i++) {
		if (core->actor[i].active && core->actor[i].ages)
			return;
	}
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++) {
		at.blame = core->cpu[i].action.on_at;
		if ((cpu_mask >> i & 1) != 0 && session_traces(check, i))
			violation_add(check, CHECK_ON_AFTER_STOP, 0, &at,
			    "CPU %u traces after tracing was stopped", i);
	}
	core->session.stopped = cpu_mask;
	registers_stopped(check);
}

void
session_left_on(struct check *check, const char *when)
{
	struct check_place at = site_here(check);

	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++) {
		at.blame = check->core.cpu[i].action.on_at;
		if (session_traces(check, i))
			violation_add(check, CHECK_TRACE_LEFT_ON, 0, &at,
			    "CPU %u still traces %s", i, when);
	}
}

void
session_owner_gone(struct check *check, const struct event *event)
{
	(void)event;
	session_left_on(check, "when its owner has gone");
}

void
session_exit(struct check *check, const struct event *event)
{
	(void)event;
	session_left_on(check, "when the guest shuts down");
}
