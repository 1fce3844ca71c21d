/*
 * Merges the shards of one exploration into one summary.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/finding/mistakes.h"
#include "harness/report/internal.h"

static struct finding_coverage *
find_row(struct finding_summary *summary, const char *what)
{
	for (size_t i = 0; i < summary->coverage_count; i++)
		if (strcmp(summary->coverage[i].what, what) == 0)
			return &summary->coverage[i];
	return NULL;
}

static int
merge_row(struct finding_summary *into, const struct finding_coverage *from,
    struct tz_error *err)
{
	struct finding_coverage *row = find_row(into, from->what);

	if (row == NULL) {
		if (into->coverage_count == TZ_ARRAY_LEN(into->coverage))
			return tz_error(err, TZ_EUSAGE,
			    "more than %zu rows of coverage",
			    TZ_ARRAY_LEN(into->coverage));
		into->coverage[into->coverage_count++] = *from;
		return 0;
	}
	row->done += from->done;
	row->merged += from->merged;
	row->failing += from->failing;
	row->unjudged += from->unjudged;
	row->base_fails |= from->base_fails;
	row->base_unjudged |= from->base_unjudged;
	if (from->cut && !row->cut)
		memcpy(row->how, from->how, sizeof(row->how));
	row->cut |= from->cut;
	if (from->total > row->total)
		row->total = from->total;
	/* A shard may only know the total of its own schedules. */
	if (row->done > row->total)
		row->total = row->done;
	return 0;
}

static void
merge_unjudged(
    struct finding_summary *into, const struct finding_unjudged *from)
{
	for (size_t i = 0; i < into->unjudged_count; i++) {
		struct finding_unjudged *row = &into->unjudged[i];

		if (row->check == from->check && row->reason == from->reason) {
			row->schedules += from->schedules;
			return;
		}
	}
	TZ_ASSERT(into->unjudged_count < TZ_ARRAY_LEN(into->unjudged));
	into->unjudged[into->unjudged_count++] = *from;
}

static int
compare_unjudged(const void *a, const void *b)
{
	const struct finding_unjudged *one = a, *other = b;

	if (one->reason != other->reason)
		return one->reason < other->reason ? -1 : 1;
	return one->check < other->check ? -1 : one->check > other->check;
}

/* Merges the rows that were not judged, and the lists of shards. */
static int
merge_rest(struct finding_summary *into, const struct finding_summary *from,
    struct tz_error *err)
{
	if (into->shards != from->shards)
		return tz_error(err, TZ_EUSAGE,
		    "shards of %u and of %u: not of one exploration",
		    into->shards, from->shards);
	for (unsigned i = 0; i < into->shards; i++) {
		if (report_has_shard(into, i) && report_has_shard(from, i))
			return tz_error(err, TZ_EUSAGE,
			    "shard %u of %u is given twice", i + 1,
			    into->shards);
	}
	if (into->from[0] == '\0')
		memcpy(into->from, from->from, sizeof(into->from));
	if (into->drivers[0] == '\0')
		memcpy(into->drivers, from->drivers, sizeof(into->drivers));
	for (size_t i = 0; i < TZ_ARRAY_LEN(into->shard); i++)
		into->shard[i] |= from->shard[i];
	for (size_t i = 0; i < TZ_ARRAY_LEN(into->shard_cut); i++)
		into->shard_cut[i] |= from->shard_cut[i];
	for (size_t i = 0; i < from->unjudged_count; i++)
		merge_unjudged(into, &from->unjudged[i]);
	qsort(into->unjudged, into->unjudged_count, sizeof(into->unjudged[0]),
	    compare_unjudged);
	return 0;
}

int
report_merge(struct finding_summary *into, const struct finding_summary *from,
    struct tz_error *err)
{
	int error = 0;

	if (strcmp(into->driver, from->driver) != 0 ||
	    strcmp(into->profile, from->profile) != 0 ||
	    strcmp(into->sha256, from->sha256) != 0)
		return tz_error(err, TZ_EUSAGE,
		    "%s on %s and %s on %s: not of one exploration",
		    into->driver, into->profile, from->driver, from->profile);
	if ((into->group_count == 0 && into->finding_count != 0) ||
	    (from->group_count == 0 && from->finding_count != 0))
		return tz_error(err, TZ_EUSAGE,
		    "a whole exploration, or a shard of an older version: "
		    "explore again to merge");
	for (size_t i = 0; i < from->coverage_count && error == 0; i++)
		error = merge_row(into, &from->coverage[i], err);
	if (error == 0)
		error = mistakes_join(into, from, err);
	if (error == 0)
		error = mistakes_sum(into, err);
	into->schedules += from->schedules;
	into->decoded += from->decoded;
	return error != 0 ? error : merge_rest(into, from, err);
}
