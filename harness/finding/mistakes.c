#include "harness/finding/mistakes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
is_same_group(const struct finding_group *a, const struct finding_group *b)
{
	return a->cause == b->cause && a->own == b->own &&
	    a->kinds == b->kinds && a->check == b->check;
}

/* As finding_is_same(), before minimisation. */
static bool
is_one_mistake(const struct finding_group *a, const struct finding_group *b)
{
	return a->mistake == b->mistake &&
	    (!a->apart || (a->kinds == 0) == (b->kinds == 0));
}

/* The order of stats_sort(). */
static int
compare_groups(const void *a, const void *b)
{
	const struct finding_group *x = a, *y = b;
	int by_rank = finding_rank_compare(x->symptom.rank, y->symptom.rank);

	if (x->fault != y->fault)
		return x->fault ? 1 : -1;
	if (by_rank != 0)
		return by_rank;
	if (x->kinds != y->kinds)
		return x->kinds < y->kinds ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->check != y->check)
		return x->check < y->check ? -1 : 1;
	return x->own < y->own ? -1 : x->own > y->own;
}

/* The index of the group, of COUNT, that represents the mistake of group I; or I. */
static size_t
find_first(const struct finding_group *group, size_t count, const size_t *first,
    size_t i)
{
	for (size_t j = 0; j < count; j++) {
		if (first[j] == j && is_one_mistake(&group[i], &group[j]))
			return j;
	}
	return i;
}

void
mistakes_part(const struct finding_group *group, size_t count, size_t *first)
{
	for (size_t i = 0; i < count; i++)
		first[i] = SIZE_MAX;
	for (unsigned follows = 0; follows <= 1; follows++) {
		for (size_t i = 0; i < count; i++) {
			bool again = false;

			for (size_t j = 0; j < i; j++)
				again |= is_same_group(&group[i], &group[j]);
			if (!again &&
			    (group[i].own != group[i].cause) == follows)
				first[i] = find_first(group, count, first, i);
		}
	}
}

/* Adds a finding that was made from a group; -1: no memory. */
static int
add_made(struct finding_summary *into, const struct finding *from)
{
	struct finding *grown = realloc(
	    into->made, (into->made_count + 1) * sizeof(*grown));

	if (grown == NULL)
		return -1;
	into->made = grown;
	grown[into->made_count] = *from;
	return (int)into->made_count++;
}

static struct finding_group *
find_group(struct finding_summary *summary, const struct finding_group *like)
{
	for (size_t i = 0; i < summary->group_count; i++) {
		struct finding_group *group = &summary->group[i];

		if (is_same_group(group, like) && is_one_mistake(group, like))
			return group;
	}
	return NULL;
}

/* Adds a group; NULL: no memory. */
static struct finding_group *
add_group(struct finding_summary *into)
{
	struct finding_group *grown = realloc(
	    into->group, (into->group_count + 1) * sizeof(*grown));

	if (grown == NULL)
		return NULL;
	into->group = grown;
	return &grown[into->group_count++];
}

int
mistakes_join(struct finding_summary *into, const struct finding_summary *from,
    struct tz_error *err)
{
	for (size_t i = 0; i < from->group_count; i++) {
		const struct finding_group *other = &from->group[i];
		struct finding_group *group = find_group(into, other);
		int made = group == NULL ? -1 : group->made;

		if (group != NULL && compare_groups(group, other) <= 0)
			continue;
		if (group == NULL)
			group = add_group(into);
		if (group == NULL)
			return tz_error(
			    err, TZ_EIO, "out of memory for findings");
		*group = *other;
		group->made = made;
		if (other->made < 0)
			continue;
		/* Replaces the finding of the group that this one is preferred to. */
		if (made >= 0)
			into->made[made] = from->made[other->made];
		else
			group->made = add_made(into, &from->made[other->made]);
		if (group->made < 0)
			return tz_error(
			    err, TZ_EIO, "out of memory for findings");
	}
	if (into->group_count != 0)
		qsort(into->group, into->group_count, sizeof(*into->group),
		    compare_groups);
	return 0;
}

/*
 * The finding that was made from FIRST's mistake.  In a merge, it may come from other
 * violations than in one exploration of the whole.
 */
static int
find_made(const struct finding_summary *summary, size_t first)
{
	const struct finding_group *group = summary->group;

	for (size_t i = first; i < summary->group_count; i++) {
		if (group[i].made >= 0 &&
		    is_one_mistake(&group[i], &group[first]))
			return group[i].made;
	}
	for (size_t i = 0; i < first; i++) {
		if (group[i].made >= 0 &&
		    is_one_mistake(&group[i], &group[first]))
			return group[i].made;
	}
	return -1;
}

/* Makes one finding for each mistake, those that are no symptom of another first. */
static void
take_findings(struct finding_summary *summary, const size_t *first)
{
	const struct finding_group *group = summary->group;

	for (unsigned follows = 0; follows <= 1; follows++) {
		for (size_t i = 0; i < summary->group_count; i++) {
			int made = first[i] == i ? find_made(summary, i) : -1;
			struct finding *finding =
			    &summary->finding[summary->finding_count];

			if (made < 0 ||
			    (group[i].own != group[i].cause) != follows)
				continue;
			*finding = summary->made[made];
			finding->made = made;
			for (size_t j = 0; j < summary->group_count; j++) {
				if (first[j] == i && j != i)
					finding_add_symptom(
					    finding, &group[j].symptom);
			}
			summary->finding_count++;
		}
	}
}

/* Joins findings that, after minimisation, are one mistake. */
static void
fold_findings(struct finding_summary *summary)
{
	struct finding *finding = summary->finding;
	size_t count = 0;

	for (size_t i = 0; i < summary->finding_count; i++) {
		size_t j = 0;

		while (j < count && !finding_is_same(&finding[j], &finding[i]))
			j++;
		if (j < count)
			finding_absorb(&finding[j], &finding[i]);
		else if (count++ != i)
			finding[count - 1] = finding[i];
	}
	summary->finding_count = count;
}

/*
 * Distinguishes mistakes on lines with the same text in one function by the order of
 * the lines.
 */
static int
number_prints(struct finding_summary *summary, struct tz_error *err)
{
	size_t count = summary->finding_count;
	uint64_t *print = calloc(count + 1, sizeof(*print));

	if (print == NULL)
		return tz_error(err, TZ_EIO, "out of memory for findings");
	for (size_t i = 0; i < count; i++)
		print[i] = strtoull(summary->finding[i].fingerprint, NULL, 16);
	for (size_t i = 0; i < count; i++) {
		struct finding *finding = &summary->finding[i];
		uint64_t before = 0;

		for (size_t j = 0; j < count; j++) {
			int line = summary->finding[j].place.line;

			before += print[j] == print[i] &&
			    (line < finding->place.line ||
				(line == finding->place.line && j < i));
		}
		snprintf(finding->fingerprint, FINDING_PRINT_BYTES,
		    "%016" PRIx64, print[i] + before);
	}
	free(print);
	return 0;
}

static int
compare_findings(const void *a, const void *b)
{
	return finding_compare(a, b);
}

int
mistakes_sum(struct finding_summary *summary, struct tz_error *err)
{
	size_t count = summary->group_count;
	size_t *first = calloc(count + 1, sizeof(*first));

	free(summary->finding);
	summary->finding = calloc(count + 1, sizeof(*summary->finding));
	summary->finding_count = summary->judged_count = 0;
	if (first == NULL || summary->finding == NULL) {
		free(first);
		return tz_error(err, TZ_EIO, "out of memory for findings");
	}
	mistakes_part(summary->group, count, first);
	take_findings(summary, first);
	free(first);
	fold_findings(summary);
	qsort(summary->finding, summary->finding_count,
	    sizeof(*summary->finding), compare_findings);
	for (size_t i = 0; i < summary->finding_count; i++)
		summary->judged_count += summary->finding[i].judged;
	return number_prints(summary, err);
}
