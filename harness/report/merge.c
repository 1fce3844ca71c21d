/*
 * Shards of one exploration into one summary.
 */
#include <stdlib.h>
#include <string.h>

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
	if (from->total > row->total)
		row->total = from->total;
	/* Where a shard knows of its own schedules only. */
	if (row->done > row->total)
		row->total = row->done;
	return 0;
}

static bool
is_same(const struct finding *one, const struct finding *other)
{
	return one->cause == other->cause && one->check == other->check &&
	    strcmp(one->driver, other->driver) == 0 &&
	    strcmp(one->profile, other->profile) == 0;
}

/* Independent of the order in which shards are merged. */
static bool
is_earlier(const struct finding *one, const struct finding *other)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(one->rank); i++)
		if (one->rank[i] != other->rank[i])
			return one->rank[i] < other->rank[i];
	return strcmp(one->token, other->token) < 0;
}

static int
merge_finding(struct finding_summary *into, const struct finding *from,
    struct tz_error *err)
{
	size_t count = into->finding_count;
	struct finding *grown;

	for (size_t i = 0; i < count; i++) {
		if (!is_same(&into->finding[i], from))
			continue;
		if (is_earlier(from, &into->finding[i]))
			into->finding[i] = *from;
		return 0;
	}
	grown = realloc(into->finding, (count + 1) * sizeof(*grown));
	if (grown == NULL)
		return tz_error(err, TZ_EIO, "out of memory for findings");
	into->finding = grown;
	into->finding[into->finding_count++] = *from;
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
	for (size_t i = 0; i < from->coverage_count && error == 0; i++)
		error = merge_row(into, &from->coverage[i], err);
	for (size_t i = 0; i < from->finding_count && error == 0; i++)
		error = merge_finding(into, &from->finding[i], err);
	into->schedules += from->schedules;
	return error;
}
