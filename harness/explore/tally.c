#include "harness/explore/tally.h"

#include <stdlib.h>

static uint32_t
kinds_of(const struct schedule *schedule)
{
	uint32_t kinds = 0;

	for (unsigned i = 0; i < schedule->count; i++)
		kinds |= UINT32_C(1) << schedule->deviation[i].act;
	return kinds;
}

int
rank_compare(const struct rank *a, const struct rank *b)
{
	if (a->area != b->area)
		return a->area < b->area ? -1 : 1;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return 0;
}

static struct tally_group *
find_group(struct tally *tally, uint64_t cause, uint32_t kinds)
{
	for (uint32_t i = 0; i < tally->group_count; i++) {
		struct tally_group *group = &tally->group[i];

		if (group->cause == cause && group->kinds == kinds)
			return group;
	}
	return NULL;
}

static void
add_group(struct tally *tally, const struct tally_group *from)
{
	struct tally_group *group = find_group(tally, from->cause, from->kinds);
	uint64_t failing = from->failing;

	if (group == NULL) {
		if (tally->group_count == TALLY_GROUPS_MAX) {
			tally->overflow = true;
			return;
		}
		tally->group[tally->group_count++] = *from;
		return;
	}
	failing += group->failing;
	if (rank_compare(&from->rank, &group->rank) < 0)
		*group = *from;
	group->failing = failing;
}

void
tally_add(struct tally *tally, struct rank rank,
    const struct schedule *schedule, const struct outcome *outcome,
    const struct outcome *base)
{
	struct tally_group group = {
		.kinds = kinds_of(schedule),
		.rank = rank,
		.schedule = *schedule,
		.failing = 1,
	};

	for (unsigned i = 0; i < outcome->count; i++) {
		group.cause = outcome->violation[i].cause;
		group.violation = outcome->violation[i].violation;
		if (base == NULL || !outcome_has(base, group.cause))
			add_group(tally, &group);
	}
}

void
tally_join(struct tally *to, const struct tally *from)
{
	const size_t counters = sizeof(struct tally_area) / sizeof(uint64_t);

	to->overflow |= from->overflow;
	for (uint32_t i = 0; i < from->group_count; i++)
		add_group(to, &from->group[i]);
	for (unsigned i = 0; i < TALLY_AREAS_MAX; i++) {
		const uint64_t *source = &from->area[i].done;
		uint64_t *target = &to->area[i].done;

		for (size_t j = 0; j < counters; j++)
			target[j] += source[j];
	}
}

static int
compare_groups(const void *a, const void *b)
{
	const struct tally_group *x = a, *y = b;
	int by_rank = rank_compare(&x->rank, &y->rank);

	if (by_rank != 0)
		return by_rank;
	if (x->kinds != y->kinds)
		return x->kinds < y->kinds ? -1 : 1;
	return x->cause < y->cause ? -1 : x->cause > y->cause;
}

void
tally_sort(struct tally *tally)
{
	qsort(tally->group, tally->group_count, sizeof(tally->group[0]),
	    compare_groups);
}

void
tally_count_fault(struct tally_area *area, const struct outcome *outcome,
    const struct outcome *base)
{
	bool broken = outcome->end != base->end;

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

/*
 * A cause that fewer kinds of deviation show, or none, needs no more of them: such
 * groups go.
 */
void
tally_drop_larger(struct tally *tally)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < tally->group_count; i++) {
		const struct tally_group *group = &tally->group[i];
		bool larger = false;

		for (uint32_t j = 0; j < tally->group_count; j++) {
			const struct tally_group *other = &tally->group[j];

			larger |= other->cause == group->cause &&
			    other->kinds != group->kinds &&
			    (other->kinds & ~group->kinds) == 0;
		}
		/* Marked first: a group may be what another is larger than. */
		tally->group[i].rank.second |= larger ? UINT32_C(1) << 31 : 0;
	}
	for (uint32_t i = 0; i < tally->group_count; i++) {
		if (!(tally->group[i].rank.second >> 31))
			tally->group[kept++] = tally->group[i];
	}
	tally->group_count = kept;
}
