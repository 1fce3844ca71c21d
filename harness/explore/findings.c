#define _GNU_SOURCE
#include "harness/explore/findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/explore/pool.h"

/* A group, once one of its runs has been done again. */
struct identified {
	struct identity identity;
	bool shown;
	uint32_t cluster; /* index of its mistake */
};

/* Groups of one mistake. */
struct cluster {
	uint32_t group; /* the one of the least rank */
	bool folded;    /* into an earlier one: it is no finding */
	struct finding finding;
	struct tz_error err; /* "" if all went well */
	struct describe_kept kept;
};

struct findings {
	struct campaign *campaign;
	uint32_t group_count, cluster_count;
	size_t identified_bytes, cluster_bytes;
	struct identified *identified; /* shared with workers */
	struct cluster *cluster;       /* shared with workers */
	uint32_t *order;               /* clusters, as in the summary */
	size_t unshown_count;
	char (*unshown)[CHECK_TEXT_BYTES];
	bool interrupted;
	/* The step that runs, for progress. */
	const char *step;
	uint32_t total;
};

static const struct tally_group *
group_at(const struct findings *findings, uint32_t index)
{
	return &findings->campaign->tally->group[index];
}

/* Each of them, hurry or not: a finding may not get lost. */
static void
identify_share(
    void *arg, unsigned worker, const volatile bool *stop, struct tally *tally)
{
	struct findings *findings = arg;
	struct campaign *campaign = findings->campaign;

	campaign->hurry = stop;
	for (uint32_t i = worker; i < findings->group_count;
	     i += campaign->options.jobs) {
		const struct tally_group *group = group_at(findings, i);
		struct identified *one = &findings->identified[i];
		const struct witness witness = { *campaign_entry_of(
						     campaign, group),
			group->schedule, group->violation.id, group->own };

		one->shown = identity_find(campaign, &witness, &one->identity);
		tally->area[0].done++;
	}
}

static void
describe_share(
    void *arg, unsigned worker, const volatile bool *stop, struct tally *tally)
{
	struct findings *findings = arg;
	struct campaign *campaign = findings->campaign;

	campaign->hurry = stop;
	for (uint32_t i = worker; i < findings->cluster_count;
	     i += campaign->options.jobs) {
		struct cluster *cluster = &findings->cluster[i];

		if (describe_finding(campaign,
			group_at(findings, cluster->group),
			&findings->identified[cluster->group].identity,
			&cluster->finding, &cluster->kept, &cluster->err) == 0)
			cluster->err.text[0] = '\0';
		tally->area[0].done++;
	}
}

static void
tell(void *arg, const struct tally *tallies, unsigned jobs)
{
	const struct findings *findings = arg;
	const struct campaign_options *options = &findings->campaign->options;
	uint64_t done = 0;

	for (unsigned i = 0; i < jobs; i++)
		done += tallies[i].area[0].done;
	if (options->progress != NULL)
		options->progress(options->progress_arg, findings->step, done,
		    findings->total, findings->cluster_count);
}

static int
run_step(struct findings *findings, const char *step, pool_work work,
    uint32_t total, struct tz_error *err)
{
	struct tally *unused = calloc(1, sizeof(*unused));
	int error;

	if (unused == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	findings->step = step;
	findings->total = total;
	if (total != 0)
		tell(findings, NULL, 0);
	error = total == 0
	    ? 0
	    : pool_run(findings->campaign->options.jobs, work, tell, findings,
		  unused, &findings->interrupted, err);
	free(unused);
	return error;
}

/* As finding_is_same(), before they are small. */
static bool
is_one(const struct findings *findings, uint32_t a, uint32_t b)
{
	const struct identity *x = &findings->identified[a].identity;
	const struct identity *y = &findings->identified[b].identity;

	return x->cause == y->cause &&
	    (check_info(x->root.id)->family != FAMILY_CRASH ||
		x->object[0] != '\0' ||
		(group_at(findings, a)->kinds == 0) ==
		    (group_at(findings, b)->kinds == 0));
}

/* The group numbered I joins the mistake that it belongs to, or begins one. */
static void
join_cluster(struct findings *findings, uint32_t i)
{
	uint32_t at = 0;

	while (at < findings->cluster_count &&
	    !is_one(findings, i, findings->cluster[at].group))
		at++;
	if (at == findings->cluster_count)
		findings->cluster[findings->cluster_count++].group = i;
	findings->identified[i].cluster = at;
}

/*
 * Groups in order of rank: the first of a mistake represents it, of those that follow
 * from no other.
 */
static void
make_clusters(struct findings *findings)
{
	for (uint32_t i = 0; i < findings->group_count; i++) {
		const struct tally_group *group = group_at(findings, i);

		if (!findings->identified[i].shown)
			snprintf(findings->unshown[findings->unshown_count++],
			    CHECK_TEXT_BYTES, "%s", group->violation.text);
		else if (group->own == group->cause)
			join_cluster(findings, i);
	}
	for (uint32_t i = 0; i < findings->group_count; i++) {
		const struct tally_group *group = group_at(findings, i);

		if (findings->identified[i].shown && group->own != group->cause)
			join_cluster(findings, i);
	}
}

static void
add_symptoms(struct findings *findings)
{
	for (uint32_t i = 0; i < findings->group_count; i++) {
		const struct identified *one = &findings->identified[i];
		struct finding_symptom symptom;
		struct cluster *cluster;

		if (!one->shown)
			continue;
		cluster = &findings->cluster[one->cluster];
		if (cluster->group == i)
			continue;
		describe_symptom(findings->campaign, group_at(findings, i),
		    &one->identity, &symptom);
		finding_add_symptom(&cluster->finding, &symptom);
	}
}

/* Findings that turn out to be one mistake once they are small. */
static void
fold_clusters(struct findings *findings)
{
	for (uint32_t i = 0; i < findings->cluster_count; i++) {
		struct cluster *cluster = &findings->cluster[i];

		for (uint32_t j = 0; j < i && !cluster->folded; j++) {
			struct cluster *first = &findings->cluster[j];

			cluster->folded = !first->folded &&
			    first->err.text[0] == '\0' &&
			    cluster->err.text[0] == '\0' &&
			    finding_is_same(&first->finding, &cluster->finding);
			if (cluster->folded)
				finding_absorb(
				    &first->finding, &cluster->finding);
		}
	}
}

/* Findings before what was not judged; each in the order of their ranks. */
static int
fill_summary(struct findings *findings, struct finding_summary *summary,
    struct tz_error *err)
{
	size_t count = 0;

	summary->finding = calloc(
	    findings->cluster_count + 1, sizeof(*summary->finding));
	findings->order = calloc(
	    findings->cluster_count + 1, sizeof(*findings->order));
	if (summary->finding == NULL || findings->order == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	for (uint32_t i = 0; i < findings->cluster_count; i++) {
		const struct cluster *cluster = &findings->cluster[i];
		size_t at = count;

		if (cluster->folded || cluster->err.text[0] != '\0')
			continue;
		for (; at != 0 &&
		     finding_compare(&cluster->finding,
			 &findings->cluster[findings->order[at - 1]].finding) <
			 0;
		     at--)
			findings->order[at] = findings->order[at - 1];
		findings->order[at] = i;
		count++;
	}
	for (size_t i = 0; i < count; i++) {
		summary->finding[i] =
		    findings->cluster[findings->order[i]].finding;
		summary->judged_count += summary->finding[i].judged;
	}
	summary->finding_count = count;
	return 0;
}

/*
 * Mistakes in lines of the same text of one function are told apart by the order of
 * the lines.
 */
static int
fill_prints(const struct workshop *workshop, struct finding_summary *summary,
    struct tz_error *err)
{
	size_t count = summary->finding_count;
	uint64_t *print = calloc(count + 1, sizeof(*print));

	if (print == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	for (size_t i = 0; i < count; i++)
		print[i] = identity_print(workshop, &summary->finding[i]);
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

static void *
map_shared(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static int
make(struct findings *findings, struct finding_summary *summary,
    struct tz_error *err)
{
	uint32_t count = findings->group_count;
	int error;

	findings->identified_bytes = (count + 1) * sizeof(struct identified);
	findings->identified = map_shared(findings->identified_bytes);
	findings->unshown = calloc(count + 1, sizeof(*findings->unshown));
	findings->cluster_bytes = (count + 1) * sizeof(struct cluster);
	findings->cluster = map_shared(findings->cluster_bytes);
	if (findings->identified == NULL || findings->unshown == NULL ||
	    findings->cluster == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = run_step(
	    findings, "telling mistakes apart", identify_share, count, err);
	if (error == 0)
		make_clusters(findings);
	if (error == 0)
		error = run_step(findings, "describing findings",
		    describe_share, findings->cluster_count, err);
	if (error != 0)
		return error;
	for (uint32_t i = 0; i < findings->cluster_count; i++) {
		if (findings->cluster[i].err.text[0] != '\0')
			snprintf(findings->unshown[findings->unshown_count++],
			    CHECK_TEXT_BYTES, "%.190s",
			    findings->cluster[i].err.text);
	}
	add_symptoms(findings);
	fold_clusters(findings);
	error = fill_summary(findings, summary, err);
	return error != 0
	    ? error
	    : fill_prints(findings->campaign->workshop, summary, err);
}

int
findings_make(struct campaign *campaign, struct finding_summary *summary,
    bool *interrupted, struct findings **out, struct tz_error *err)
{
	struct findings *findings = calloc(1, sizeof(*findings));
	int error;

	if (findings == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	findings->campaign = campaign;
	findings->group_count = campaign->tally->group_count;
	error = make(findings, summary, err);
	*interrupted |= findings->interrupted;
	if (error != 0)
		findings_free(findings);
	else
		*out = findings;
	return error;
}

void
findings_free(struct findings *findings)
{
	if (findings == NULL)
		return;
	if (findings->identified != NULL)
		munmap(findings->identified, findings->identified_bytes);
	if (findings->cluster != NULL)
		munmap(findings->cluster, findings->cluster_bytes);
	free(findings->unshown);
	free(findings->order);
	free(findings);
}

size_t
findings_unshown(const struct findings *findings)
{
	return findings->unshown_count;
}

const char *
findings_unshown_text(const struct findings *findings, size_t index)
{
	TZ_ASSERT(index < findings->unshown_count);
	return findings->unshown[index];
}

struct describe_kept *
findings_kept(struct findings *findings, size_t index)
{
	return &findings->cluster[findings->order[index]].kept;
}
