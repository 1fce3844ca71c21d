#include "traces/verify/counters/counters.h"

#include "emu/guest_abi.h"
#include "traces/decode/vector.h"
#include "traces/verify/counters/counters_internal.h"
#include "traces/verify/counters/pmclog.h"
#include "traces/verify/records/event_order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void
add_target(struct counters *counters, struct owned *owned, uint64_t pid)
{
	if (!GROW(owned->targets, owned->target_room, owned->target_count + 1))
		counters->no_memory = true;
	else
		owned->targets[owned->target_count++] = pid;
}

static void
inherit(struct counters *counters, uint64_t parent, uint64_t pid)
{
	for (size_t i = 0; i < counters->owned_count; i++) {
		struct owned *owned = &counters->owned[i];

		if (owned->descendants && counters_is_target(owned, parent))
			add_target(counters, owned, pid);
	}
}

/* A process has another address space; nobody else has it any more. */
static void
note_space(
    struct counters *counters, uint64_t pid, uint64_t cr3, uint64_t parent)
{
	struct space *space;

	user_threads_forget(&counters->threads, cr3);
	for (size_t i = 0; i < counters->space_count; i++)
		if (counters->spaces[i].cr3 == cr3)
			counters->spaces[i].cr3 = 0;
	space = counters_space(counters, pid);
	if (space == NULL) {
		if (!GROW(counters->spaces, counters->space_room,
			counters->space_count + 1)) {
			counters->no_memory = true;
			return;
		}
		space = &counters->spaces[counters->space_count++];
		*space = (struct space){ .pid = pid, .parent = parent };
		inherit(counters, parent, pid);
	}
	space->cr3 = cr3;
	space->starts = true;
}

/* The counters of each CPU are those that OWNED is now. */
static void
take_counters(struct counters *counters, size_t index)
{
	const struct owned *owned = &counters->owned[index];

	for (unsigned cpu = 0; cpu < BUNDLE_CPUS_MAX; cpu++)
		if (owned->by_process || owned->cpu == cpu)
			counters->cpu[cpu].use[owned->number].owner = index;
}

/* ID as hwpmc(4) makes it: row 0 is the TSC, then all counters of a CPU. */
static void
note_asked(struct counters *counters, uint64_t id, uint64_t select)
{
	struct verify_result *result = counters->work->result;
	const struct profile *profile = counters->cpu[0].unit.profile;
	unsigned row = pmclog_row(id), mode = pmclog_mode(id);
	struct owned *owned;
	struct verify_counter *row_of;

	/* The one that had the ID before was released. */
	owned = counters_owned(counters, id);
	if (owned != NULL)
		owned->started = false;
	if (row == 0 || row > COUNTER_GENERAL || mode > 3 || profile == NULL) {
		verify_add_finding(
		    counters->work, "counter %" PRIx64 ": not compared", id);
		return;
	}
	if (!GROW(counters->owned, counters->owned_room,
		counters->owned_count + 1) ||
	    !GROW(result->counters, result->counter_room,
		result->counter_count + 1)) {
		counters->no_memory = true;
		return;
	}
	owned = &counters->owned[counters->owned_count++];
	*owned = (struct owned){ .id = id,
		.select = select,
		.number = row - 1,
		.cpu = pmclog_cpu(id),
		.by_process = mode >= 2,
		.samples = mode == 0 || mode == 2,
		.user = (select & COUNTER_SELECT_USR) != 0,
		.os = (select & COUNTER_SELECT_OS) != 0,
		.counted = counted_of(profile, select),
		.result = result->counter_count };
	row_of = &result->counters[result->counter_count++];
	*row_of = (struct verify_counter){ .id = id,
		.samples = owned->samples };
	counters_note_kind(counters, owned);
	snprintf(row_of->name, sizeof(row_of->name), "counter %" PRIx64, id);
	snprintf(row_of->what, sizeof(row_of->what),
	    "event %02x umask %02x in %s of ", (unsigned)(select & 0xff),
	    (unsigned)(select >> 8 & 0xff),
	    !owned->os        ? "ring 3"
		: owned->user ? "all rings"
			      : "ring 0");
	if (owned->by_process)
		strcat(row_of->what, "processes");
	else
		snprintf(row_of->what + strlen(row_of->what), 8, "cpu%u",
		    owned->cpu);
	take_counters(counters, counters->owned_count - 1);
}

/* VALUE is what OWNED had counted at a moment after the last thing that user space did. */
static bool
was_counted(const struct owned *owned, uint64_t value)
{
	uint64_t total = owned->total;

	if (owned->read)
		return value == owned->read_total;
	for (size_t i = owned->slice_count; i > owned->slices_told; i--) {
		if (value == total)
			return true;
		total -= owned->slices[i - 1].events;
	}
	return value == total;
}

/* User space got VALUE: what OWNED had counted when it was read. */
static void
note_value(struct counters *counters, struct owned *owned, uint64_t value)
{
	struct verify_counter *result = counters_result(counters, owned);
	uint64_t total = owned->total;

	result->values++;
	if (!owned->by_process && owned->cpu < BUNDLE_CPUS_MAX &&
	    counters->cpu[owned->cpu].use[owned->number].read)
		total = counters->cpu[owned->cpu].use[owned->number].read_total;
	if (result->unknown || result->reported)
		return;
	if (owned->by_process ? was_counted(owned, value) : value == total) {
		result->equal++;
		return;
	}
	if (result->differences == 0)
		result->wrong_read = counters->reads;
	counters_tell(counters, owned,
	    "value %" PRIu64 " of it is %" PRIu64 ", executed were %" PRIu64
	    " events",
	    result->values, value, total);
}

static void
note_counter(struct counters *counters, const struct event *event)
{
	struct owned *owned = counters_owned(counters, event->a);

	counters->reads += event->b == ABI_COUNTER_READ;
	if (event->b == ABI_COUNTER_ASKED) {
		note_asked(counters, event->a, event->c);
		return;
	}
	if (event->b == ABI_COUNTER_RESET) {
		counters->cpu[event->cpu].unit.reset[0] = event->c;
		counters->cpu[event->cpu].told_reset = event->c;
		counters->cpu[event->cpu].has_reset = true;
		return;
	}
	if (event->b == ABI_COUNTER_NO_ROOM) {
		counters->told_no_room = true;
		counters->no_room = event->c;
		return;
	}
	if (owned == NULL)
		return;
	switch ((enum abi_counter)event->b) {
	case ABI_COUNTER_PERIOD:
		owned->period = event->c;
		break;
	case ABI_COUNTER_TARGET:
		add_target(counters, owned, event->c);
		break;
	case ABI_COUNTER_DESCENDANTS:
		owned->descendants = true;
		break;
	case ABI_COUNTER_STARTED:
	case ABI_COUNTER_STOPS:
		owned->started = event->b == ABI_COUNTER_STARTED;
		owned->starts += owned->started;
		break;
	case ABI_COUNTER_READ:
		note_value(counters, owned, event->c);
		break;
	case ABI_COUNTER_ASKED:
	case ABI_COUNTER_NO_ROOM:
	case ABI_COUNTER_RESET:
	case ABI_COUNTER_READS:
		break;
	}
	for (unsigned cpu = 0; cpu < BUNDLE_CPUS_MAX; cpu++)
		for (unsigned i = 0; i < COUNTER_COUNT; i++)
			counters->cpu[cpu].use[i].read = false;
	for (size_t i = 0; i < counters->owned_count; i++) {
		counters->owned[i].slices_told = counters->owned[i].slice_count;
		counters->owned[i].read = false;
	}
}

/* Events whose place in the order of all CPUs counts. */
static bool
needs_order(const struct event *event)
{
	return event->kind == EVENT_SPACE || event->kind == EVENT_COUNTER;
}

static void
replay_ordered(
    struct counters *counters, const struct event *event, const uint64_t *insns)
{
	for (unsigned cpu = 0; cpu < counters->work->bundle->info.cpu_count;
	     cpu++)
		counters_advance(counters, cpu, insns[cpu]);
	if (event->kind == EVENT_SPACE)
		note_space(counters, event->a, event->b,
		    counters_pid_of(
			counters, counters->cpu[event->cpu].flow.cr3));
	else
		note_counter(counters, event);
}

static void
replay(struct counters *counters, const struct event *events, size_t count,
    const uint64_t *insns)
{
	for (size_t i = 0; i < count && !counters->no_memory; i++) {
		const struct event *event = &events[i];

		switch ((int)event->kind) {
		case EVENT_MSR_WRITE:
		case EVENT_MSR_READ:
			counters_advance(counters, event->cpu, event->insns);
			if (event->kind == EVENT_MSR_WRITE)
				counters_note_write(counters, event->cpu,
				    (uint32_t)event->a, event->b);
			else
				counters_note_read(counters, event->cpu,
				    (uint32_t)event->a, event->b);
			break;
		case EVENT_COUNTER_OVERFLOW:
			counters_advance(counters, event->cpu, event->insns);
			counters_note_overflow(counters, event);
			break;
		case EVENT_PEBS_RECORD:
		case EVENT_PEBS_LOST:
			counters_advance(counters, event->cpu, event->insns);
			counters_note_sample(counters, event);
			break;
		case EVENT_PEBS_RESET:
			counters_note_reset(counters, event);
			break;
		case EVENT_TOPA_PMI:
		case EVENT_BTS_PMI:
		case EVENT_PEBS_PMI:
			counters_advance(counters, event->cpu, event->insns);
			counters_note_pmi(counters, event);
			break;
		case EVENT_SPACE:
		case EVENT_COUNTER:
			replay_ordered(counters, event, insns);
			insns += BUNDLE_CPUS_MAX;
			break;
		case EVENT_LOG_READ:
			counters->log_bytes += event->a == 0 ? event->c : 0;
			break;
		default:
			break;
		}
	}
}

static void
destroy(struct counters *counters)
{
	if (counters == NULL)
		return;
	for (size_t i = 0; i < counters->owned_count; i++) {
		free(counters->owned[i].targets);
		free(counters->owned[i].slices);
	}
	for (size_t i = 0; i < counters->space_count; i++)
		free(counters->spaces[i].starts_at);
	for (unsigned cpu = 0; cpu < BUNDLE_CPUS_MAX; cpu++) {
		free(counters->cpu[cpu].overflows);
		free(counters->cpu[cpu].dues);
		free(counters->cpu[cpu].samples);
	}
	user_threads_free(&counters->threads);
	free(counters->owned);
	free(counters->spaces);
	free(counters);
}

/* False: a CPU's model is not known. */
static bool
start(struct counters *counters, struct verify_work *work)
{
	counters->work = work;
	for (unsigned cpu = 0; cpu < work->bundle->info.cpu_count; cpu++) {
		struct counters_cpu *own = &counters->cpu[cpu];
		const struct profile *profile = profile_find(
		    work->bundle->info.model[cpu].profile);

		if (profile == NULL)
			return false;
		insn_flow_start(&own->flow, work->logs[cpu]);
		own->profile = *profile;
		own->profile.cost = work->bundle->info.cost;
		counter_unit_start(&own->unit, &own->profile);
		own->thread = SIZE_MAX;
		for (unsigned i = 0; i < COUNTER_COUNT; i++)
			own->use[i].owner = COUNTERS_NO_OWNER;
	}
	return true;
}

/* True if there is something to compare: nobody else needs the time. */
static bool
uses_counters(
    const struct counters *counters, const struct event *events, size_t count)
{
	if (counters->work->perf != NULL)
		return counters->owned_count != 0;
	for (size_t i = 0; i < count; i++)
		if (events[i].kind == EVENT_COUNTER ||
		    events[i].kind == EVENT_COUNTER_OVERFLOW ||
		    events[i].kind == EVENT_PEBS_RECORD)
			return true;
	return false;
}

static int
compare(struct counters *counters, const struct event *events, size_t count,
    const uint64_t *insns)
{
	int error = 0;

	replay(counters, events, count, insns);
	for (unsigned cpu = 0; cpu < counters->work->bundle->info.cpu_count;
	     cpu++)
		counters_finish_cpu(counters, cpu);
	if (counters->no_memory)
		return 0;
	if (counters->work->perf == NULL)
		error = counters_compare_log(counters);
	else
		perf_counters_compare(counters);
	for (size_t i = 0; i < counters->owned_count; i++) {
		struct verify_counter *of = counters_result(
		    counters, &counters->owned[i]);

		of->events = counters->owned[i].total;
		/* Perhaps it has counted nothing. */
		of->unknown |= of->reported && of->overflows + of->read == 0;
	}
	return error;
}

int
counters_verify(
    struct verify_work *work, const struct event *events, size_t count)
{
	struct counters *counters = calloc(1, sizeof(*counters));
	uint64_t *insns = event_order(events, count, needs_order);
	bool no_memory = counters == NULL || insns == NULL;
	int error = 0;

	if (!no_memory && start(counters, work)) {
		/* Those of older bundles do not begin with the counters' controls. */
		if (work->perf != NULL)
			perf_counters_start(counters,
			    count != 0 && events[0].kind == EVENT_MSR_WRITE);
		if (uses_counters(counters, events, count))
			error = compare(counters, events, count, insns);
		no_memory = counters->no_memory;
	}
	if (error == 0 && no_memory)
		error = tz_error(work->err, TZ_EIO, "counters: out of memory");
	free(insns);
	destroy(counters);
	return error;
}
