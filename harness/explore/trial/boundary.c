#include "harness/explore/trial/boundary.h"

#include <stdlib.h>

#include "harness/explore/runner/array.h"

/* Of the evenly spaced boundaries in code that is not stepped: */
#define SPACE_INSNS 200 /* minimum distance between two places */
#define PLACES_MAX  8   /* between two boundaries */
#define GAPS_MAX    192 /* of a list; the rest is thinned evenly */
#define RING0_BEGIN (UINT64_C(1) << 63)

struct collector {
	struct runner *runner;
	struct boundary_list *list;
	bool no_memory;
	/* For boundaries at calls: the steps, how many of them run, and the last
	 * instruction of each CPU that was in a module. */
	unsigned first, last, running;
	uint64_t in_module[MACHINE_CPUS_MAX];
	uint64_t last_insns[MACHINE_CPUS_MAX]; /* of the boundary added last */
};

static void
add(struct collector *collector, struct boundary boundary)
{
	struct boundary_list *list = collector->list;
	struct boundary *at = array_grow(
	    list->at, list->count, &list->room, sizeof(*at));

	if (at == NULL) {
		collector->no_memory = true;
		return;
	}
	list->at = at;
	collector->last_insns[boundary.cpu] = boundary.insns;
	list->at[list->count++] = boundary;
}

struct boundary
boundary_of(const struct machine_step *step)
{
	return (struct boundary){
		.insns = step->insns,
		.rip = step->rip,
		.cpu = (uint8_t)step->cpu,
		.flags = (uint16_t)((step->trigger_en ? BOUNDARY_TRIGGER : 0) |
		    (step->in_nmi ? BOUNDARY_NMI : 0) |
		    (step->interrupts ? BOUNDARY_IF : 0) |
		    (step->split ? BOUNDARY_SPLIT : 0) |
		    (step->counts ? BOUNDARY_COUNTS : 0) |
		    (step->local ? BOUNDARY_LOCAL : 0)),
	};
}

static void
on_step(void *arg, const struct machine_step *step)
{
	struct collector *collector = arg;
	struct boundary_list *list = collector->list;
	struct boundary boundary = boundary_of(step);

	/* A turn that begins at the previous boundary is not a boundary of its own. */
	if (list->count != 0 && list->at[list->count - 1].cpu == boundary.cpu &&
	    list->at[list->count - 1].insns == boundary.insns)
		list->count--;
	add(collector, boundary);
}

/*
 * Fills in RUNNER's state at BOUNDARY, in code that is not stepped.  False: no
 * deviation can be placed there.
 */
static bool
fill_unstepped(struct runner *runner, struct boundary *boundary)
{
	struct machine *machine = runner_machine(runner);
	struct machine_pt pt;

	boundary->rip = machine_rip(machine, boundary->cpu);
	machine_pt(machine, boundary->cpu, &pt);
	if (pt.trigger_en)
		boundary->flags |= BOUNDARY_TRIGGER;
	if (pt.interrupting != 0)
		boundary->flags |= BOUNDARY_COUNTS;
	return !pt.in_nmi;
}

static void
add_unstepped(struct collector *collector, struct boundary boundary)
{
	if (fill_unstepped(collector->runner, &boundary))
		add(collector, boundary);
}

/*
 * Adds boundaries just before an interrupt: an event injected there is delivered
 * together with it, such as a PMI together with an NMI of another source.
 */
static void
add_before(struct collector *collector, const struct event *event)
{
	static const unsigned before[] = { 4, 1 };
	struct machine *machine = runner_machine(collector->runner);
	struct machine_pt pt;

	machine_pt(machine, event->cpu, &pt);
	for (size_t i = 0; i < TZ_ARRAY_LEN(before); i++) {
		struct boundary boundary = {
			.insns = event->insns - before[i],
			.rip = event->b,
			.cpu = (uint8_t)event->cpu,
			.flags = (uint16_t)(BOUNDARY_GAP |
			    (pt.interrupting != 0 ? BOUNDARY_COUNTS : 0) |
			    (pt.trigger_en ? BOUNDARY_TRIGGER : 0)),
		};

		if (event->insns > before[i] &&
		    boundary.insns > collector->last_insns[event->cpu])
			add(collector, boundary);
	}
}

/*
 * Adds boundaries where a turn or a ring 3 operation begins, and where a function
 * can fail.
 */
static void
on_event(void *arg, const struct event *event)
{
	struct collector *collector = arg;
	struct boundary boundary = {
		.insns = event->insns,
		.cpu = (uint8_t)event->cpu,
		.flags = BOUNDARY_EDGE,
	};

	if (event->kind == EVENT_NMI || event->kind == EVENT_INTERRUPT)
		add_before(collector, event);
	if (event->kind != EVENT_SWITCH && event->kind != EVENT_CALL_BEGIN &&
	    event->kind != EVENT_CALL_END && event->kind != EVENT_POINT)
		return;
	/* The event of an operation occurs within an instruction. */
	if (event->kind == EVENT_POINT)
		boundary.flags = BOUNDARY_POINT;
	else if (event->kind != EVENT_SWITCH)
		boundary.insns++;
	add_unstepped(collector, boundary);
}

/* The end of a collection.  False: out of memory; the list is then empty. */
static bool
end_list(struct collector *collector)
{
	runner_observe(collector->runner, NULL, STEPPING_NONE);
	if (collector->no_memory)
		boundary_free(collector->list);
	return !collector->no_memory;
}

bool
boundary_collect(struct runner *runner, struct boundary_list *list,
    boundary_merged when_merged, void *arg)
{
	struct collector collector = { .runner = runner, .list = list };
	const struct runner_observer observer = { &collector, on_event,
		on_step };
	enum runner_end end;

	*list = (struct boundary_list){ .count = 0 };
	runner_observe(runner, &observer, STEPPING_WATCHED);
	runner_points(runner, when_merged != NULL);
	do
		end = runner_go(runner, 0, UINT64_MAX);
	while (end == RUNNER_POINT && !when_merged(arg, runner_hash(runner)));
	runner_points(runner, false);
	return end_list(&collector);
}

static void
on_call_event(void *arg, const struct event *event)
{
	struct collector *collector = arg;

	if (event->a < collector->first || event->a > collector->last)
		return;
	collector->running += event->kind == EVENT_CALL_BEGIN;
	collector->running -= event->kind == EVENT_CALL_END;
}

/*
 * Between two instructions of a module that are not adjacent, the kernel ran.  Other
 * instructions are boundaries if they access memory shared by CPUs.
 */
static void
on_call_step(void *arg, const struct machine_step *step)
{
	struct collector *collector = arg;
	struct boundary boundary = boundary_of(step);
	uint64_t before = collector->in_module[step->cpu];

	if (step->in_nmi || !runner_in_module(collector->runner, step->rip))
		return;
	collector->in_module[step->cpu] = step->insns;
	if (collector->running == 0)
		return;
	if (step->insns != before + 1) {
		/* Instructions up to the next call are not examined again. */
		boundary.flags &= (uint16_t)~BOUNDARY_LOCAL;
		boundary.flags |= BOUNDARY_CALLED;
	}
	if (!(boundary.flags & BOUNDARY_LOCAL))
		add(collector, boundary);
}

/* Reduces LIST to the places after calls and BOUNDARY_SHARED evenly spaced others. */
static void
thin(struct boundary_list *list)
{
	size_t shared = 0, seen = 0, kept = 0;

	for (size_t i = 0; i < list->count; i++)
		shared += !(list->at[i].flags & BOUNDARY_CALLED);
	for (size_t i = 0; i < list->count; i++) {
		bool called = (list->at[i].flags & BOUNDARY_CALLED) != 0;

		if (called || shared <= BOUNDARY_SHARED ||
		    (seen + 1) * BOUNDARY_SHARED / shared !=
			seen * BOUNDARY_SHARED / shared)
			list->at[kept++] = list->at[i];
		seen += !called;
	}
	list->count = kept;
}

bool
boundary_collect_calls(struct runner *runner, unsigned first, unsigned last,
    struct boundary_list *list)
{
	struct collector collector = {
		.runner = runner, .list = list, .first = first, .last = last
	};
	const struct runner_observer observer = { &collector, on_call_event,
		on_call_step };

	*list = (struct boundary_list){ .count = 0 };
	runner_watch_modules(runner, true);
	runner_observe(runner, &observer, STEPPING_WATCHED);
	(void)runner_go(runner, 0, UINT64_MAX);
	runner_watch_modules(runner, false);
	thin(list);
	return end_list(&collector);
}

/* A new boundary, and the entry of the list that it follows. */
struct gap {
	struct boundary boundary;
	size_t after;
};

struct gaps {
	struct gap *at;
	size_t count, room;
};

static bool
add_gap(struct gaps *gaps, struct boundary boundary, size_t after)
{
	struct gap *at = array_grow(
	    gaps->at, gaps->count, &gaps->room, sizeof(*at));

	if (at == NULL)
		return false;
	gaps->at = at;
	gaps->at[gaps->count++] = (struct gap){ boundary, after };
	return true;
}

/* Adds boundaries between A, at INDEX, and B, the next one of the same CPU. */
static bool
add_between(struct gaps *gaps, const struct boundary *a,
    const struct boundary *b, size_t index)
{
	uint64_t insns = b->insns - a->insns;
	uint64_t places = insns / SPACE_INSNS;

	if (places > PLACES_MAX)
		places = PLACES_MAX;
	for (uint64_t i = 1; i <= places; i++) {
		struct boundary boundary = {
			.insns = a->insns + insns * i / (places + 1),
			.cpu = a->cpu,
			.flags = BOUNDARY_GAP |
			    ((a->flags | b->flags) & BOUNDARY_IF),
		};

		if (!add_gap(gaps, boundary, index))
			return false;
	}
	return true;
}

static bool
find_gaps(const struct boundary_list *list, struct gaps *gaps)
{
	size_t last[MACHINE_CPUS_MAX]; /* 1 + index; 0: none */

	for (size_t i = 0; i < TZ_ARRAY_LEN(last); i++)
		last[i] = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct boundary *b = &list->at[i];
		size_t before = last[b->cpu];

		if (before != 0 &&
		    !add_between(gaps, &list->at[before - 1], b, before - 1))
			return false;
		last[b->cpu] = i + 1;
	}
	return true;
}

static int
compare_gaps(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	return x->boundary.insns < y->boundary.insns ? -1 : 1;
}

/* Runs to each of GAPS; those that cannot be reached are omitted. */
static void
visit_gaps(struct runner *runner, struct gaps *gaps)
{
	size_t kept = 0;

	for (size_t i = 0; i < gaps->count; i++) {
		struct gap gap = gaps->at[i];

		/* If there are too many, an even selection is kept. */
		if (gaps->count > GAPS_MAX &&
		    i * GAPS_MAX / gaps->count ==
			(i + 1) * GAPS_MAX / gaps->count)
			continue;
		if (!runner_reach(
			runner, gap.boundary.cpu, gap.boundary.insns) ||
		    !fill_unstepped(runner, &gap.boundary))
			continue;
		if (gap.boundary.rip < RING0_BEGIN)
			gap.boundary.flags |= BOUNDARY_IF;
		gaps->at[kept++] = gap;
	}
	gaps->count = kept;
}

static bool
merge_gaps(struct boundary_list *list, const struct gaps *gaps)
{
	size_t count = list->count + gaps->count, to = 0, next = 0;
	struct boundary *at = malloc((count + 1) * sizeof(*at));

	if (at == NULL)
		return false;
	for (size_t i = 0; i < list->count; i++) {
		at[to++] = list->at[i];
		for (; next < gaps->count && gaps->at[next].after == i; next++)
			at[to++] = gaps->at[next].boundary;
	}
	free(list->at);
	*list = (struct boundary_list){ at, to, count + 1 };
	return true;
}

bool
boundary_add_gaps(struct runner *runner, struct boundary_list *list)
{
	struct gaps gaps = { .at = NULL };
	bool done = find_gaps(list, &gaps);

	if (done && gaps.count != 0) {
		qsort(gaps.at, gaps.count, sizeof(*gaps.at), compare_gaps);
		visit_gaps(runner, &gaps);
		done = merge_gaps(list, &gaps);
	}
	free(gaps.at);
	if (!done)
		boundary_free(list);
	return done;
}

static bool
has_place(const struct boundary_list *list, const struct deviation *deviation)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->at[i].cpu == deviation->cpu &&
		    list->at[i].insns == deviation->insns)
			return true;
	}
	return false;
}

/*
 * As boundary_collect(), but adds the place of DEVIATION, in code that is not
 * stepped.
 */
static bool
collect_with(struct runner *runner, const struct deviation *deviation,
    struct boundary_list *list)
{
	struct collector collector = { .runner = runner, .list = list };
	const struct runner_observer observer = { &collector, on_event,
		on_step };

	*list = (struct boundary_list){ .count = 0 };
	runner_observe(runner, &observer, STEPPING_WATCHED);
	if (runner_reach(runner, deviation->cpu, deviation->insns)) {
		add_unstepped(&collector,
		    (struct boundary){ .insns = deviation->insns,
			.cpu = deviation->cpu,
			.flags = BOUNDARY_EDGE });
		(void)runner_go(runner, 0, UINT64_MAX);
	}
	return end_list(&collector);
}

bool
boundary_collect_around(struct runner *runner,
    const struct deviation *deviation, struct boundary_list *list)
{
	struct runner_mark *begin = runner_save(runner);
	bool done = begin != NULL && boundary_collect(runner, list, NULL, NULL);

	if (done) {
		runner_restore(runner, begin);
		done = boundary_add_gaps(runner, list);
	}
	if (done && !has_place(list, deviation)) {
		boundary_free(list);
		runner_restore(runner, begin);
		done = boundary_collect_calls(
		    runner, 0, SCRIPT_STEPS_MAX, list);
	}
	if (done && !has_place(list, deviation)) {
		boundary_free(list);
		runner_restore(runner, begin);
		done = collect_with(runner, deviation, list);
	}
	runner_mark_free(runner, begin);
	return done;
}

void
boundary_free(struct boundary_list *list)
{
	free(list->at);
	*list = (struct boundary_list){ .count = 0 };
}

/* True if a deviation at BOUNDARY has an effect that no later placement has. */
static bool
is_worth(const struct boundary *boundary, enum deviation_when when, bool reduce)
{
	unsigned flags = boundary->flags;

	if ((when == DEVIATION_WHEN_FALLIBLE_CALL) !=
	    ((flags & BOUNDARY_POINT) != 0))
		return false;
	switch (when) {
	case DEVIATION_WHEN_TRIGGER_EN:
		return (flags & BOUNDARY_TRIGGER) != 0;
	case DEVIATION_WHEN_POSITION:
		return (flags & BOUNDARY_TRIGGER) &&
		    (flags & (BOUNDARY_EDGE | BOUNDARY_GAP));
	case DEVIATION_WHEN_INTERRUPTS:
		return (flags & BOUNDARY_IF) != 0;
	case DEVIATION_WHEN_NO_NMI:
		return (flags & BOUNDARY_NMI) == 0;
	case DEVIATION_WHEN_SHARED:
		return !reduce || !(flags & BOUNDARY_LOCAL);
	case DEVIATION_WHEN_SPLIT:
		return (flags & BOUNDARY_SPLIT) != 0;
	case DEVIATION_WHEN_COUNTS:
		return (flags & BOUNDARY_COUNTS) != 0;
	case DEVIATION_WHEN_ANY:
	case DEVIATION_WHEN_FALLIBLE_CALL:
	default:
		return true;
	}
}

unsigned
boundary_deviations(const struct boundary *boundary, uint32_t kinds,
    unsigned cpu_count, bool reduce,
    struct deviation deviation[BOUNDARY_DEVIATIONS_MAX])
{
	unsigned count = 0;

	for (unsigned i = 0; i < DEVIATION_COUNT; i++) {
		enum deviation_kind kind = (enum deviation_kind)i;
		const struct deviation_info *info = deviation_info(kind);
		struct deviation one = { boundary->cpu, kind, boundary->insns,
			info->usual };

		if (!(kinds >> i & 1) ||
		    !is_worth(boundary, info->when, reduce))
			continue;
		if (info->usual != DEVIATION_EACH_CPU) {
			deviation[count++] = one;
			continue;
		}
		for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
			one.param = cpu;
			if (cpu != boundary->cpu)
				deviation[count++] = one;
		}
	}
	TZ_ASSERT(count <= BOUNDARY_DEVIATIONS_MAX);
	return count;
}
