#include "harness/explore/trial/stats.h"

#include <stdlib.h>

static uint32_t
kinds_of(const struct schedule *schedule)
{
	uint32_t kinds = 0;

	for (unsigned i = 0; i < schedule->count; i++)
		kinds |= UINT32_C(1) << schedule->deviation[i].kind;
	return kinds;
}

static int
compare_ranks(const struct rank *a, const struct rank *b)
{
	if (a->area != b->area)
		return a->area < b->area ? -1 : 1;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return 0;
}

static struct stats_group *
find_group(struct stats *stats, const struct stats_group *like)
{
	for (uint32_t i = 0; i < stats->group_count; i++) {
		struct stats_group *group = &stats->group[i];

		if (group->cause == like->cause && group->own == like->own &&
		    group->kinds == like->kinds &&
		    group->violation.id == like->violation.id)
			return group;
	}
	return NULL;
}

static void
add_group(struct stats *stats, const struct stats_group *from)
{
	struct stats_group *group = find_group(stats, from);
	uint64_t failing = from->failing;

	if (group == NULL) {
		if (stats->group_count == STATS_GROUPS_MAX) {
			stats->overflow = true;
			return;
		}
		stats->group[stats->group_count++] = *from;
		return;
	}
	failing += group->failing;
	if (compare_ranks(&from->rank, &group->rank) < 0)
		*group = *from;
	group->failing = failing;
}

void
stats_add(struct stats *stats, struct rank rank,
    const struct schedule *schedule, const struct outcome *outcome,
    const struct outcome *base)
{
	struct stats_group group = {
		.kinds = kinds_of(schedule),
		.rank = rank,
		.schedule = *schedule,
		.failing = 1,
	};

	for (unsigned i = 0; i < outcome->count; i++) {
		group.cause = outcome->violation[i].cause;
		group.own = outcome->violation[i].own;
		group.violation = outcome->violation[i].violation;
		if (base == NULL || !outcome_has(base, group.cause))
			add_group(stats, &group);
	}
}

void
stats_join(struct stats *to, const struct stats *from)
{
	const size_t counters = sizeof(struct stats_area) / sizeof(uint64_t);

	for (unsigned i = 0; i < REASON_COUNT; i++) {
		for (unsigned j = 0; j < CHECK_COUNT; j++)
			to->unjudged[i][j] += from->unjudged[i][j];
	}
	to->overflow |= from->overflow;
	for (uint32_t i = 0; i < from->group_count; i++)
		add_group(to, &from->group[i]);
	for (unsigned i = 0; i < STATS_AREAS_MAX; i++) {
		const uint64_t *source = &from->area[i].done;
		uint64_t *target = &to->area[i].done;

		for (size_t j = 0; j < counters; j++)
			target[j] += source[j];
	}
}

bool
stats_needs_fault(const struct stats_group *group)
{
	for (unsigned kind = 0; kind < DEVIATION_COUNT; kind++) {
		if ((group->kinds >> kind & 1) != 0 &&
		    deviation_info((enum deviation_kind)kind)->class ==
			DEVIATION_CLASS_FAULT)
			return true;
	}
	return false;
}

static int
compare_groups(const void *a, const void *b)
{
	const struct stats_group *x = a, *y = b;
	int by_rank = compare_ranks(&x->rank, &y->rank);

	/* A violation that needs no fault represents the group better. */
	if (stats_needs_fault(x) != stats_needs_fault(y))
		return stats_needs_fault(x) ? 1 : -1;
	if (by_rank != 0)
		return by_rank;
	if (x->kinds != y->kinds)
		return x->kinds < y->kinds ? -1 : 1;
	/* Within one run, in the order of the violations. */
	if (x->violation.event != y->violation.event)
		return x->violation.event < y->violation.event ? -1 : 1;
	if (x->violation.id != y->violation.id)
		return x->violation.id < y->violation.id ? -1 : 1;
	return x->own < y->own ? -1 : x->own > y->own;
}

void
stats_sort(struct stats *stats)
{
	qsort(stats->group, stats->group_count, sizeof(stats->group[0]),
	    compare_groups);
}

static void
count_rows(struct stats *stats, const struct outcome *outcome)
{
	for (unsigned i = 0; i < REASON_COUNT; i++) {
		check_rows left = outcome->unjudged[i];

		while (left != 0)
			stats->unjudged[i][check_take(&left)]++;
	}
}

void
stats_count(struct stats *stats, uint32_t number, const struct outcome *outcome,
    const struct outcome *base)
{
	struct stats_area *area = &stats->area[number];
	bool judged = outcome_is_judged(outcome);

	if (base == NULL) {
		area->base_fails |= judged && outcome->count != 0;
		area->base_unjudged |= !judged;
		return;
	}
	count_rows(stats, outcome);
	area->unjudged += !judged;
	area->failing += judged && outcome_beyond(outcome, base) != 0;
}

void
stats_count_fault(struct stats_area *area, const struct outcome *outcome,
    const struct outcome *base)
{
	bool broken = outcome->end != base->end;

	if (!outcome_is_judged(outcome))
		return;
	if (outcome->framework) {
		area->framework++;
		return;
	}
	for (unsigned i = 0; i < outcome->count; i++) {
		const struct outcome_violation *one = &outcome->violation[i];

		broken |= !outcome_has(base, one->cause) &&
		    outcome_is_crash(one->violation.id);
	}
	if (broken)
		area->broken++;
	else if (outcome_beyond(outcome, base) != 0)
		area->silent++;
	else if (outcome->reports > base->reports)
		area->detected++;
	else
		area->tolerated++;
}
