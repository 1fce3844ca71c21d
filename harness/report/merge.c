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
	if (from->cut && !row->cut)
		memcpy(row->how, from->how, sizeof(row->how));
	row->cut |= from->cut;
	if (from->total > row->total)
		row->total = from->total;
	/* Where a shard knows of its own schedules only. */
	if (row->done > row->total)
		row->total = row->done;
	return 0;
}

static bool
is_same_cause(const struct finding *one, const struct finding *other)
{
	return one->cause == other->cause && one->check == other->check &&
	    strcmp(one->driver, other->driver) == 0 &&
	    strcmp(one->profile, other->profile) == 0;
}

/* Is each word of FEW, joined by '+', one of MANY? */
static bool
is_within(const char *few, const char *many)
{
	while (*few != '\0') {
		size_t length = strcspn(few, "+");
		const char *at = many;

		while (*at != '\0' &&
		    (strcspn(at, "+") != length ||
			strncmp(at, few, length) != 0)) {
			at += strcspn(at, "+");
			at += *at == '+';
		}
		if (*at == '\0')
			return false;
		few += length;
		few += *few == '+';
	}
	return true;
}

/*
 * As in one exploration of all: what fewer kinds of deviations show, or none,
 * needs no more of them.
 */
static bool
is_larger(const struct finding *one, const struct finding *other)
{
	return is_same_cause(one, other) &&
	    strcmp(one->kinds, other->kinds) != 0 &&
	    is_within(other->kinds, one->kinds);
}

static void
drop_larger(struct finding_summary *summary)
{
	size_t kept = 0;

	/* What a finding is larger than may be larger itself, but never goes
	 * without one that is smaller than both. */
	for (size_t i = 0; i < summary->finding_count; i++) {
		bool larger = false;

		for (size_t j = 0; j < summary->finding_count; j++)
			larger |= (j < kept || j >= i) &&
			    is_larger(
				&summary->finding[i], &summary->finding[j]);
		if (!larger)
			summary->finding[kept++] = summary->finding[i];
	}
	summary->finding_count = kept;
}

/* Independent of the order in which shards are merged. */
static int
compare_findings(const void *a, const void *b)
{
	const struct finding *one = a, *other = b;

	for (size_t i = 0; i < TZ_ARRAY_LEN(one->rank); i++)
		if (one->rank[i] != other->rank[i])
			return one->rank[i] < other->rank[i] ? -1 : 1;
	return strcmp(one->token, other->token);
}

static int
merge_finding(struct finding_summary *into, const struct finding *from,
    struct tz_error *err)
{
	size_t count = into->finding_count;
	struct finding *grown;

	for (size_t i = 0; i < count; i++) {
		if (!is_same_cause(&into->finding[i], from) ||
		    strcmp(into->finding[i].kinds, from->kinds) != 0)
			continue;
		if (compare_findings(from, &into->finding[i]) < 0)
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
	drop_larger(into);
	if (into->finding_count > 1)
		qsort(into->finding, into->finding_count,
		    sizeof(into->finding[0]), compare_findings);
	into->schedules += from->schedules;
	into->decoded += from->decoded;
	return error;
}
