#include "harness/explore/linux/linux_explore.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "harness/explore/parts/workers.h"
#include "harness/explore/runner/array.h"

#define BLOCK      8      /* schedules from one mark on, by one worker */
#define MOVE_INSNS 100000 /* a mark moves forward when it saves as many */

/* One schedule that is run. */
struct linux_candidate {
	struct deviation deviation;
	struct rank rank;
	uint32_t visit; /* of its instruction, by its CPU, from 0 */
	uint64_t drawn, cost;
};

struct collector {
	struct linux_explore *explore;
	bool no_memory;
};

static void
on_step(void *arg, const struct machine_step *step)
{
	struct collector *collector = arg;
	struct boundary_list *list = &collector->explore->list;
	struct boundary *at;

	if (!step->in_nmi &&
	    !linux_code_is_driver(
		linux_run_code(collector->explore->run), step->rip))
		return;
	at = array_grow(list->at, list->count, &list->room, sizeof(*at));
	if (at == NULL) {
		collector->no_memory = true;
		return;
	}
	list->at = at;
	list->at[list->count++] = boundary_of(step);
}

static int
compare_boundaries(const void *a, const void *b)
{
	const struct boundary *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->insns < y->insns ? -1 : x->insns > y->insns;
}

/* Runs the default schedule once for each part, and lists its boundaries by place. */
static int
collect(struct linux_explore *explore, struct tz_error *err)
{
	struct collector collector = { .explore = explore };
	struct boundary_list *list = &explore->list;
	size_t kept = 0;

	for (unsigned i = 0; i < LINUX_PARTS; i++) {
		linux_run_begin(explore->run);
		linux_run_observe(
		    explore->run, (enum linux_part)i, on_step, &collector);
		explore->interrupted |= linux_run_go(explore->run, 0,
					    UINT64_MAX) == LINUX_RUN_CUT;
		linux_run_observe(explore->run, (enum linux_part)i, NULL, NULL);
	}
	if (collector.no_memory)
		return tz_error(err, TZ_EIO, "out of memory for boundaries");
	if (list->count == 0)
		return 0;
	qsort(list->at, list->count, sizeof(*list->at), compare_boundaries);
	for (size_t i = 0; i < list->count; i++) {
		if (kept == 0 ||
		    compare_boundaries(&list->at[kept - 1], &list->at[i]) != 0)
			list->at[kept++] = list->at[i];
	}
	list->count = kept;
	return 0;
}

/* By CPU, address and place: the visits of one instruction follow each other. */
static int
compare_visits(const void *a, const void *b)
{
	const struct boundary *const *x = a, *const *y = b;

	if ((*x)->cpu != (*y)->cpu)
		return (*x)->cpu < (*y)->cpu ? -1 : 1;
	if ((*x)->rip != (*y)->rip)
		return (*x)->rip < (*y)->rip ? -1 : 1;
	return (*x)->insns < (*y)->insns ? -1 : 1;
}

/* The number of each boundary among those of its instruction; NULL: no memory. */
static uint32_t *
count_visits(const struct boundary_list *list)
{
	const struct boundary **order = calloc(
	    list->count + 1, sizeof(const struct boundary *));
	uint32_t *visit = calloc(list->count + 1, sizeof(*visit));

	if (order == NULL || visit == NULL) {
		free(order);
		free(visit);
		return NULL;
	}
	for (size_t i = 0; i < list->count; i++)
		order[i] = &list->at[i];
	qsort(order, list->count, sizeof(const struct boundary *),
	    compare_visits);
	for (size_t i = 1; i < list->count; i++) {
		if (order[i]->cpu == order[i - 1]->cpu &&
		    order[i]->rip == order[i - 1]->rip)
			visit[order[i] - list->at] =
			    visit[order[i - 1] - list->at] + 1;
	}
	free(order);
	return visit;
}

/* Earlier visits first, then at random: an instruction in a loop waits for others. */
static int
compare_worth(const void *a, const void *b)
{
	const struct linux_candidate *x = a, *y = b;

	if (x->visit != y->visit)
		return x->visit < y->visit ? -1 : 1;
	if (x->drawn != y->drawn)
		return x->drawn < y->drawn ? -1 : 1;
	return x->rank.first < y->rank.first ? -1 : 1;
}

static int
compare_places(const void *a, const void *b)
{
	const struct linux_candidate *x = a, *y = b;

	if (x->deviation.cpu != y->deviation.cpu)
		return x->deviation.cpu < y->deviation.cpu ? -1 : 1;
	if (x->deviation.insns != y->deviation.insns)
		return x->deviation.insns < y->deviation.insns ? -1 : 1;
	return x->rank.area < y->rank.area ? -1 : 1;
}

/* All schedules of AREA at FROM; returns how many, or SIZE_MAX: no memory. */
static size_t
list_area(const struct linux_explore *explore, unsigned area,
    const uint32_t *visit, struct linux_candidate **candidates)
{
	uint32_t kind = UINT32_C(1) << explore->area[area].kind;
	size_t count = 0, room = 0;

	*candidates = NULL;
	for (size_t i = 0; i < explore->list.count; i++) {
		const struct boundary *boundary = &explore->list.at[i];
		struct deviation deviation[BOUNDARY_DEVIATIONS_MAX];
		unsigned found = boundary_deviations(boundary, kind,
		    linux_run_cpus(explore->run), true, deviation);
		uint64_t insns = linux_run_insns(explore->run);

		for (unsigned j = 0; j < found; j++) {
			struct linux_candidate *at = array_grow(
			    *candidates, count, &room, sizeof(*at));
			struct rank rank = { area, (uint32_t)count + 1, 0 };

			if (at == NULL)
				return SIZE_MAX;
			*candidates = at;
			at[count++] = (struct linux_candidate){ deviation[j],
				rank, visit[i],
				XXH3_64bits_withSeed(
				    &rank, sizeof(rank), explore->options.seed),
				insns > boundary->insns
				    ? insns - boundary->insns
				    : 0 };
		}
	}
	return count;
}

/* Keeps, of COUNT schedules of AREA, the first ones that its share of the budget has. */
static size_t
keep_some(struct linux_explore *explore, unsigned area,
    struct linux_candidate *candidate, size_t count)
{
	const struct linux_explore_options *options = &explore->options;
	uint64_t insns = options->budget != 0 ? UINT64_MAX
					      : options->insns / explore->areas;
	uint64_t most = options->budget != 0
	    ? options->budget / explore->areas + 1
	    : UINT64_MAX;
	size_t kept = 0;

	if (options->insns == UINT64_MAX && options->budget == 0)
		insns = UINT64_MAX;
	qsort(candidate, count, sizeof(*candidate), compare_worth);
	while (kept < count && kept < most && candidate[kept].cost <= insns) {
		if (insns != UINT64_MAX)
			insns -= candidate[kept].cost;
		kept++;
	}
	explore->area[area].total = count;
	explore->area[area].kept = kept;
	explore->area[area].visits = kept < count ? candidate[kept].visit : 0;
	return kept;
}

/* Adds the schedules of AREA that are run. */
static bool
add_area(struct linux_explore *explore, unsigned area, const uint32_t *visit)
{
	struct linux_candidate *found, *more;
	size_t count = list_area(explore, area, visit, &found);

	if (count == SIZE_MAX) {
		free(found);
		return false;
	}
	count = count == 0 ? 0 : keep_some(explore, area, found, count);
	more = realloc(explore->candidate,
	    (explore->candidates + count + 1) * sizeof(*more));
	if (more == NULL) {
		free(found);
		return false;
	}
	if (count != 0)
		memcpy(
		    more + explore->candidates, found, count * sizeof(*more));
	explore->candidate = more;
	explore->candidates += count;
	free(found);
	return true;
}

static int
choose(struct linux_explore *explore, struct tz_error *err)
{
	uint32_t *visit = count_visits(&explore->list);
	bool done = visit != NULL;

	for (unsigned i = 0; i < DEVIATION_COUNT; i++) {
		if (explore->options.kinds >> i & 1)
			explore->area[explore->areas++].kind =
			    (enum deviation_kind)i;
	}
	for (unsigned i = 0; done && i < explore->areas; i++)
		done = add_area(explore, i, visit);
	free(visit);
	if (!done)
		return tz_error(err, TZ_EIO, "out of memory for schedules");
	qsort(explore->candidate, explore->candidates,
	    sizeof(*explore->candidate), compare_places);
	return 0;
}

/* A mark at or before DEVIATION: MARK, moved forward if that saves something. */
static struct linux_run_mark *
move(struct linux_run *run, struct linux_run_mark *mark, struct deviation *at,
    const struct deviation *deviation)
{
	struct linux_run_mark *next;

	if (mark != NULL && at->cpu == deviation->cpu &&
	    deviation->insns < at->insns + MOVE_INSNS)
		return mark;
	if (mark != NULL && at->cpu == deviation->cpu &&
	    deviation->insns > at->insns)
		linux_run_restore(run, mark);
	else
		linux_run_begin(run);
	linux_run_mark_free(run, mark);
	*at = *deviation;
	if (linux_run_go(run, deviation->cpu, deviation->insns) !=
	    LINUX_RUN_STOP)
		return NULL;
	next = linux_run_save(run);
	TZ_ASSERT(next != NULL);
	return next;
}

static void
count_outcome(struct linux_explore *explore,
    const struct linux_candidate *candidate, const struct schedule *schedule,
    const struct outcome *outcome, struct stats *stats)
{
	struct stats_area *area = &stats->area[candidate->rank.area];
	const struct outcome *base = linux_run_base(explore->run);

	area->done++;
	area->insns += candidate->cost;
	if (outcome->how != OUTCOME_WHOLE) {
		area->impossible++;
		return;
	}
	stats_count(stats, candidate->rank.area, outcome, base);
	stats_add(stats, candidate->rank, schedule, outcome, base);
	stats_count_fault(area, outcome, base);
}

static void
work(void *arg, unsigned worker, const volatile bool *stop, struct stats *stats)
{
	struct linux_explore *explore = arg;
	struct linux_run *run = explore->run;
	struct linux_run_mark *mark = NULL;
	struct deviation at = { .insns = 0 };

	for (size_t i = 0; i < explore->candidates && !*stop; i++) {
		const struct linux_candidate *one = &explore->candidate[i];
		const struct schedule schedule = { 1, { one->deviation } };
		struct outcome outcome;

		if (i / BLOCK % explore->options.jobs != worker)
			continue;
		mark = move(run, mark, &at, &one->deviation);
		if (mark == NULL)
			linux_run_begin(run);
		else
			linux_run_restore(run, mark);
		if (linux_run_judge(run, &schedule, &outcome))
			count_outcome(explore, one, &schedule, &outcome, stats);
	}
	linux_run_mark_free(run, mark);
}

static void
tell(void *arg, const struct stats *stats_list, unsigned jobs)
{
	const struct linux_explore *explore = arg;
	const struct linux_explore_options *options = &explore->options;
	uint64_t done = 0, groups = 0;

	for (unsigned i = 0; i < jobs; i++) {
		groups += stats_list[i].group_count;
		for (unsigned j = 0; j < explore->areas; j++)
			done += stats_list[i].area[j].done;
	}
	if (options->progress != NULL)
		options->progress(options->progress_arg, "linux-pt", done,
		    explore->candidates, groups);
}

int
linux_explore(struct linux_explore *explore, struct linux_run *run,
    const struct linux_explore_options *options, struct tz_error *err)
{
	const struct outcome *base = linux_run_base(run);
	const struct schedule none = { .count = 0 };
	int error;

	*explore = (struct linux_explore){ .run = run, .options = *options };
	explore->stats = calloc(1, sizeof(*explore->stats));
	if (explore->stats == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = collect(explore, err);
	if (error == 0 && !explore->interrupted)
		error = choose(explore, err);
	if (error != 0 || explore->interrupted)
		return error;
	for (unsigned i = 0; i < explore->areas; i++)
		stats_count(explore->stats, i, base, NULL);
	stats_add(explore->stats, (struct rank){ 0, 0, 0 }, &none, base, NULL);
	error = workers_run(options->jobs, work, tell, explore, explore->stats,
	    &explore->interrupted, err);
	stats_sort(explore->stats);
	return error;
}

void
linux_explore_close(struct linux_explore *explore)
{
	boundary_free(&explore->list);
	free(explore->candidate);
	free(explore->stats);
	*explore = (struct linux_explore){ .run = NULL };
}

const struct boundary *
linux_explore_boundary(
    const struct linux_explore *explore, const struct deviation *deviation)
{
	const struct boundary key = { .insns = deviation->insns,
		.cpu = deviation->cpu };

	return explore->list.count == 0
	    ? NULL
	    : bsearch(&key, explore->list.at, explore->list.count, sizeof(key),
		  compare_boundaries);
}
