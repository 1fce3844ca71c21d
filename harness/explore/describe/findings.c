#define _GNU_SOURCE
#include "harness/explore/describe/findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/explore/parts/workers.h"
#include "harness/finding/mistakes.h"

/* A group and the identity that a repeated run of it has given. */
struct identified {
	struct identity identity;
	bool shown;
};

/* The finding made from the group that represents a mistake. */
struct described {
	uint32_t tallied; /* index of the group */
	struct finding finding;
	struct tz_error err; /* "" for success */
	struct failure_window window;
};

struct findings {
	struct campaign *campaign;
	uint32_t group_count, described_count;
	size_t identified_bytes, described_bytes;
	uint32_t *queue;               /* of the step's work */
	struct identified *identified; /* shared with workers */
	struct described *described;   /* shared with workers */
	const struct finding_summary *summary;
	size_t unshown_count;
	char (*unshown)[CHECK_TEXT_BYTES];
	bool interrupted;
	/* The current step, for progress. */
	const char *step;
	uint32_t total;
};

static const struct stats_group *
group_at(const struct findings *findings, uint32_t index)
{
	return &findings->campaign->stats->group[index];
}

/* Identifies every group even if the user is in a hurry: no finding may be lost. */
static void
identify_share(
    void *arg, unsigned worker, const volatile bool *stop, struct stats *stats)
{
	struct findings *findings = arg;
	struct campaign *campaign = findings->campaign;
	uint32_t i;

	(void)worker;
	campaign->hurry = stop;
	while (workers_take(findings->queue, findings->group_count, &i)) {
		const struct stats_group *group = group_at(findings, i);
		struct identified *one = &findings->identified[i];
		const struct witness witness = { *campaign_entry_of(
						     campaign, group),
			group->schedule, group->violation.id, group->own };

		one->shown = identity_find(campaign, &witness, &one->identity);
		stats->area[0].done++;
	}
}

static void
describe_share(
    void *arg, unsigned worker, const volatile bool *stop, struct stats *stats)
{
	struct findings *findings = arg;
	struct campaign *campaign = findings->campaign;
	uint32_t i;

	(void)worker;
	campaign->hurry = stop;
	while (workers_take(findings->queue, findings->described_count, &i)) {
		struct described *one = &findings->described[i];

		if (describe_finding(campaign, group_at(findings, one->tallied),
			&findings->identified[one->tallied].identity,
			&one->finding, &one->window, &one->err) == 0)
			one->err.text[0] = '\0';
		stats->area[0].done++;
	}
}

static void
report_progress(void *arg, const struct stats *stats_list, unsigned jobs)
{
	const struct findings *findings = arg;
	const struct campaign_options *options = &findings->campaign->options;
	uint64_t done = 0;

	for (unsigned i = 0; i < jobs; i++)
		done += stats_list[i].area[0].done;
	if (options->progress != NULL)
		options->progress(options->progress_arg, findings->step, done,
		    findings->total, findings->described_count);
}

static int
run_step(struct findings *findings, const char *step, workers_work work,
    uint32_t total, struct tz_error *err)
{
	struct stats *unused = calloc(1, sizeof(*unused));
	unsigned jobs = findings->campaign->options.jobs;
	int error;

	if (unused == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	findings->step = step;
	findings->total = total;
	*findings->queue = 0;
	if (total != 0)
		report_progress(findings, NULL, 0);
	error = total == 0
	    ? 0
	    : workers_run(total < jobs ? total : jobs, work, report_progress,
		  findings, unused, &findings->interrupted, err);
	free(unused);
	return error;
}

static void
add_unshown(struct findings *findings, const char *text)
{
	snprintf(findings->unshown[findings->unshown_count++], CHECK_TEXT_BYTES,
	    "%.190s", text);
}

/*
 * Fills in the data of group I, which was identified, for
 * harness/finding/mistakes.h.
 */
static void
fill_group(
    const struct findings *findings, uint32_t i, struct finding_group *group)
{
	const struct stats_group *from = group_at(findings, i);
	const struct identity *identity = &findings->identified[i].identity;

	*group = (struct finding_group){ .cause = from->cause,
		.own = from->own,
		.kinds = from->kinds,
		.check = from->violation.id,
		.fault = stats_needs_fault(from),
		.event = from->violation.event,
		.mistake = identity->cause,
		.apart = check_info(identity->root.id)->family ==
			FAMILY_CRASH &&
		    identity->object[0] == '\0',
		.made = -1 };
	describe_symptom(findings->campaign, from, identity, &group->symptom);
}

/* Fills in SUMMARY's groups, in the campaign's order; TALLIED: the index of each. */
static void
fill_groups(struct findings *findings, struct finding_summary *summary,
    uint32_t *tallied)
{
	for (uint32_t i = 0; i < findings->group_count; i++) {
		if (!findings->identified[i].shown) {
			add_unshown(
			    findings, group_at(findings, i)->violation.text);
			continue;
		}
		tallied[summary->group_count] = i;
		fill_group(
		    findings, i, &summary->group[summary->group_count++]);
	}
}

/* Selects, for each mistake, the group that represents it, to be described. */
static int
choose_groups(struct findings *findings, struct finding_summary *summary,
    struct tz_error *err)
{
	size_t *first = calloc(findings->group_count + 1, sizeof(*first));
	uint32_t *tallied = calloc(findings->group_count + 1, sizeof(*tallied));

	summary->group = calloc(
	    findings->group_count + 1, sizeof(*summary->group));
	if (first == NULL || tallied == NULL || summary->group == NULL) {
		free(first);
		free(tallied);
		return tz_error(err, TZ_EIO, "out of memory for findings");
	}
	fill_groups(findings, summary, tallied);
	mistakes_part(summary->group, summary->group_count, first);
	for (size_t i = 0; i < summary->group_count; i++) {
		if (first[i] != i)
			continue;
		summary->group[i].made = (int)findings->described_count;
		findings->described[findings->described_count++].tallied =
		    tallied[i];
	}
	free(first);
	free(tallied);
	return 0;
}

/* Copies the described findings to SUMMARY. */
static int
take_described(struct findings *findings, struct finding_summary *summary,
    struct tz_error *err)
{
	summary->made = calloc(
	    findings->described_count + 1, sizeof(*summary->made));
	if (summary->made == NULL)
		return tz_error(err, TZ_EIO, "out of memory for findings");
	summary->made_count = findings->described_count;
	for (size_t i = 0; i < summary->group_count; i++) {
		int made = summary->group[i].made;
		const struct described *one;

		if (made < 0)
			continue;
		one = &findings->described[made];
		summary->made[made] = one->finding;
		if (one->err.text[0] == '\0')
			continue;
		add_unshown(findings, one->err.text);
		summary->group[i].made = -1;
	}
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
	findings->described_bytes = (count + 1) * sizeof(struct described);
	findings->described = map_shared(findings->described_bytes);
	findings->queue = workers_queue_create();
	if (findings->identified == NULL || findings->unshown == NULL ||
	    findings->described == NULL || findings->queue == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = run_step(
	    findings, "telling mistakes apart", identify_share, count, err);
	if (error == 0)
		error = choose_groups(findings, summary, err);
	if (error == 0)
		error = run_step(findings, "describing findings",
		    describe_share, findings->described_count, err);
	if (error == 0)
		error = take_described(findings, summary, err);
	return error != 0 ? error : mistakes_sum(summary, err);
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
	findings->summary = summary;
	findings->group_count = campaign->stats->group_count;
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
	if (findings->described != NULL)
		munmap(findings->described, findings->described_bytes);
	workers_queue_free(findings->queue);
	free(findings->unshown);
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

struct failure_window *
findings_window(struct findings *findings, size_t index)
{
	return &findings->described[findings->summary->finding[index].made]
		    .window;
}
