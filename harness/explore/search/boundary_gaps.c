/*
 * Boundaries in code that is not stepped: in ring 3, in the kernel and in the
 * framework, evenly spaced between two known ones, and just before an interrupt is
 * delivered.
 */
#include <stdlib.h>

#include "harness/explore/search/boundary.h"

#define SPACE_INSNS 200 /* minimum distance between two places */
#define PLACES_MAX  8   /* between two boundaries */
#define GAPS_MAX    192 /* of a list; the rest is thinned evenly */
#define RING0_BEGIN (UINT64_C(1) << 63)

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
add(struct gaps *gaps, struct boundary boundary, size_t after)
{
	if (gaps->count == gaps->room) {
		size_t room = gaps->room == 0 ? 256 : 2 * gaps->room;
		struct gap *at = realloc(gaps->at, room * sizeof(*at));

		if (at == NULL)
			return false;
		gaps->at = at;
		gaps->room = room;
	}
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

		if (!add(gaps, boundary, index))
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
compare(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	return x->boundary.insns < y->boundary.insns ? -1 : 1;
}

/*
 * Fills in the state at RUNNER's current instruction; false: no deviation can be
 * placed.
 */
static bool
fill(struct runner *runner, struct boundary *boundary)
{
	struct machine *machine = runner_machine(runner);
	struct machine_pt pt;

	machine_pt(machine, boundary->cpu, &pt);
	boundary->rip = machine_rip(machine, boundary->cpu);
	if (pt.trigger_en)
		boundary->flags |= BOUNDARY_TRIGGER;
	if (boundary->rip < RING0_BEGIN)
		boundary->flags |= BOUNDARY_IF;
	return !pt.in_nmi;
}

/* Runs to each of GAPS; those that cannot be reached are omitted. */
static void
visit(struct runner *runner, struct gaps *gaps)
{
	size_t kept = 0;

	for (size_t i = 0; i < gaps->count; i++) {
		struct gap gap = gaps->at[i];

		/* If there are too many, an even selection is kept. */
		if (gaps->count > GAPS_MAX &&
		    i * GAPS_MAX / gaps->count ==
			(i + 1) * GAPS_MAX / gaps->count)
			continue;
		if (runner_reach(
			runner, gap.boundary.cpu, gap.boundary.insns) &&
		    fill(runner, &gap.boundary))
			gaps->at[kept++] = gap;
	}
	gaps->count = kept;
}

static bool
merge(struct boundary_list *list, const struct gaps *gaps)
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
		qsort(gaps.at, gaps.count, sizeof(*gaps.at), compare);
		visit(runner, &gaps);
		done = merge(list, &gaps);
	}
	free(gaps.at);
	if (!done)
		boundary_free(list);
	return done;
}
