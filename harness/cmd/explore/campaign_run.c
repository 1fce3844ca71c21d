#define _GNU_SOURCE
/*
 * A campaign from the command line: progress, findings, reports.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <jansson.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/explore/campaign_options.h"
#include "harness/explore/describe/coverage.h"
#include "harness/explore/describe/findings.h"
#include "harness/explore/describe/timeline.h"
#include "harness/explore/parts/workers.h"
#include "harness/host/folder/output.h"
#include "harness/host/monotonic.h"
#include "harness/host/stop.h"
#include "harness/report/report.h"

#define CHECKPOINT_NAME "checkpoint"

/* The pages of all findings, written by workers. */
struct paging {
	struct campaign *campaign;
	const struct campaign_input *input;
	struct campaign_report *report;
	struct tz_error
	    *err; /* one for each finding, shared memory; "": no error */
	uint32_t *queue;
	bool interrupted; /* the remaining pages have no timeline */
};

/* Writes the page of finding I; TIME: with its timeline. */
static int
write_page(struct paging *all, uint32_t i, bool time, struct tz_error *err)
{
	const struct finding_summary *summary = all->report->summary;
	char path[PATH_MAX], name[REPORT_NAME_BYTES];
	struct finding_timeline timeline;
	int error;

	report_name(name, i, "html");
	snprintf(path, sizeof(path), "%s/%s", all->input->made, name);
	if (!time)
		return report_page(path, summary, i, NULL, err);
	error = timeline_make(all->campaign, &summary->finding[i],
	    findings_window(all->report->findings, i), &timeline, err);
	if (error != 0)
		return error;
	error = report_page(path, summary, i, &timeline, err);
	finding_timeline_free(&timeline);
	return error;
}

static void
page_share(
    void *arg, unsigned worker, const volatile bool *stop, struct stats *stats)
{
	struct paging *all = arg;
	uint32_t i;

	(void)worker;
	all->campaign->hurry = stop;
	while (workers_take(
	    all->queue, (uint32_t)all->report->summary->finding_count, &i)) {
		if (write_page(
			all, i, !*stop && !all->interrupted, &all->err[i]) == 0)
			all->err[i].text[0] = '\0';
		stats->area[0].done++;
	}
}

static void
tell_pages(void *arg, const struct stats *stats_list, unsigned jobs)
{
	const struct paging *all = arg;
	const struct campaign_options *options = &all->input->options;
	size_t count = all->report->summary->finding_count;
	uint64_t done = 0;

	for (unsigned i = 0; i < jobs; i++)
		done += stats_list[i].area[0].done;
	if (options->progress != NULL)
		options->progress(
		    options->progress_arg, "writing pages", done, count, count);
}

static int
write_pages(struct campaign *campaign, const struct campaign_input *input,
    struct campaign_report *report, struct tz_error *err)
{
	struct paging all = { .campaign = campaign,
		.input = input,
		.report = report,
		.queue = workers_queue_create(),
		.interrupted = report->interrupted };
	size_t count = report->summary->finding_count;
	size_t bytes = (count + 1) * sizeof(*all.err);
	struct stats *unused = calloc(1, sizeof(*unused));
	unsigned jobs = input->options.jobs;
	int error = 0;

	all.err = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (unused == NULL || all.err == MAP_FAILED || all.queue == NULL) {
		free(unused);
		workers_queue_free(all.queue);
		return tz_error(err, TZ_EIO, "out of memory");
	}
	tell_pages(&all, NULL, 0);
	if (count != 0)
		error = workers_run(count < jobs ? (unsigned)count : jobs,
		    page_share, tell_pages, &all, unused, &all.interrupted,
		    err);
	for (size_t i = 0; error == 0 && i < count; i++) {
		if (all.err[i].text[0] != '\0')
			error = tz_error(err, TZ_EIO, "%s", all.err[i].text);
	}
	report->interrupted |= all.interrupted;
	munmap(all.err, bytes);
	workers_queue_free(all.queue);
	free(unused);
	return error;
}

/* Makes the timelines for SARIF, which contains only the events of each CPU. */
static int
tell_events(struct campaign *campaign, struct campaign_report *report,
    struct tz_error *err)
{
	size_t count = report->summary->finding_count;
	int error = 0;

	report->timeline = calloc(count + 1, sizeof(*report->timeline));
	if (report->timeline == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	for (size_t i = 0; error == 0 && i < count; i++)
		error = timeline_make_events(campaign,
		    &report->summary->finding[i], &report->timeline[i], err);
	return error;
}

/* Describes the findings of all groups, in order, and writes their pages. */
static int
describe_all(struct campaign *campaign, const struct campaign_input *input,
    struct campaign_report *report, struct tz_error *err)
{
	int error = findings_make(campaign, report->summary,
	    &report->interrupted, &report->findings, err);

	if (error != 0)
		return error;
	/* These are bugs of topaz; the other findings are still reported. */
	for (size_t i = 0; i < findings_unshown(report->findings); i++)
		fprintf(stderr,
		    "topaz: bug: '%s' does not show again: please report "
		    "this\n",
		    findings_unshown_text(report->findings, i));
	report->unshown = (unsigned)findings_unshown(report->findings);
	if (input->pages && report->summary->finding_count != 0)
		error = write_pages(campaign, input, report, err);
	if (error == 0 && !report->interrupted)
		error = tell_events(campaign, report, err);
	return error;
}

/*
 * The folder of the driver's sources, relative to the current folder, as code hosting
 * sites expect it in SARIF.  "" if the sources are not below the current folder.
 */
static void
find_folder(
    const struct build_cache *build_cache, char *folder, size_t folder_size)
{
	const char *source = build_cache_source(build_cache);
	char *path = source != NULL ? realpath(source, NULL) : NULL;
	char *here = realpath(".", NULL);
	char *slash = path != NULL ? strrchr(path, '/') : NULL;
	size_t length = here != NULL ? strlen(here) : 0;

	folder[0] = '\0';
	if (slash != NULL && here != NULL) {
		*slash = '\0';
		if (strncmp(path, here, length) == 0 && path[length] == '/' &&
		    strlen(path + length + 1) < folder_size)
			strcpy(folder, path + length + 1);
	}
	free(path);
	free(here);
}

/* The key of the checkpoint of INPUT's exploration. */
static int
find_key(const struct campaign_input *input, struct build_cache *build_cache,
    uint64_t *key, struct tz_error *err)
{
	uint16_t check;
	int error = build_cache_check(build_cache, &check, err);

	if (error == 0)
		*key = campaign_key(build_cache, &input->options, check);
	return error;
}

/* If the exploration was interrupted, writes a checkpoint to resume from. */
static int
write_checkpoint(const struct campaign_input *input,
    struct build_cache *build_cache, const struct campaign *campaign,
    struct tz_error *err)
{
	char path[PATH_MAX];
	uint64_t key;
	int error = find_key(input, build_cache, &key, err);

	snprintf(path, sizeof(path), "%s/" CHECKPOINT_NAME, input->made);
	if (error != 0 || !campaign->parts.interrupted ||
	    campaign->parts.checkpoint->parts == 0)
		return error;
	return checkpoint_write(path, key, campaign->parts.checkpoint, err);
}

/* Resumes an interrupted exploration of the same command. */
static int
read_checkpoint(struct campaign_input *input, struct build_cache *build_cache,
    struct checkpoint **checkpoint, struct tz_error *err)
{
	char path[PATH_MAX];
	uint64_t key;
	int error = find_key(input, build_cache, &key, err);

	snprintf(path, sizeof(path), "%s/" CHECKPOINT_NAME, input->output);
	if (error == 0)
		error = checkpoint_read(path, key, checkpoint, err);
	if (error == 0)
		fprintf(stderr, "topaz: goes on where it was interrupted: %s\n",
		    path);
	return error == -TZ_ENOENT ? 0 : error;
}

static int
write_reports(const struct campaign_input *input,
    struct build_cache *build_cache, const struct campaign_report *report,
    struct tz_error *err)
{
	int error = report_write_forms(
	    input->made, report->summary, report->timeline, err);

	return error != 0 ? error
			  : build_cache_keep(build_cache, input->made, err);
}

static int
write_baseline(const struct output *output,
    const struct campaign_report *report, struct tz_error *err)
{
	int error = report_baseline_write(
	    output_new(output), report->summary, err);

	if (error != 0)
		output_rename(output, err);
	return error;
}

/* True if the finding of GROUP is in the baseline. */
static bool
is_known(const struct report_baseline *baseline, struct campaign *campaign,
    const struct stats_group *group)
{
	const struct witness witness = { *campaign_entry_of(campaign, group),
		group->schedule, group->violation.id, group->own };
	struct identity *identity = calloc(1, sizeof(*identity));
	struct finding *finding = calloc(1, sizeof(*finding));
	struct tz_error err;
	bool known = identity != NULL && finding != NULL &&
	    identity_find(campaign, &witness, identity) &&
	    describe_finding(campaign, group, identity, finding, NULL, &err) ==
		0;

	known = known &&
	    (!finding->judged || report_baseline_has(baseline, finding));
	free(identity);
	free(finding);
	return known;
}

/* For --stop-at-finding: true if a finding is not in the baseline, if there is one. */
static bool
has_new(void *arg, struct campaign *campaign, uint32_t from)
{
	const struct report_baseline *baseline = arg;
	const struct stats *stats = campaign->stats;
	bool is_new = false;

	for (uint32_t i = from; !is_new && i < stats->group_count; i++)
		is_new = check_info(stats->group[i].violation.id)->family !=
			FAMILY_UNJUDGED &&
		    (baseline->count == 0 ||
			!is_known(baseline, campaign, &stats->group[i]));
	return is_new;
}

/* The explored driver, and the options that a replay needs. */
static void
fill_summary(const struct campaign_input *input,
    struct build_cache *build_cache, struct finding_summary *summary)
{
	const struct driver_input *from = &input->from;
	/* Without these options, a replay builds the driver's own sources. */
	bool built = from->source != NULL || from->tree != NULL ||
	    from->cc != NULL || from->cc_seconds != 0;

	snprintf(summary->driver, sizeof(summary->driver), "%s", input->driver);
	snprintf(summary->profile, sizeof(summary->profile), "%s",
	    build_cache_models(build_cache));
	snprintf(summary->sha256, sizeof(summary->sha256), "%s",
	    build_cache_sha256(build_cache));
	snprintf(summary->from, sizeof(summary->from), "%s",
	    built ? input->output : "");
	snprintf(summary->drivers, sizeof(summary->drivers), "%s",
	    from->drivers != NULL ? from->drivers : "");
	summary->tsc_hz = build_cache_tsc_hz(build_cache);
	memcpy(summary->command, input->command, sizeof(summary->command));
	find_folder(build_cache, summary->folder, sizeof(summary->folder));
}

/* The campaign, from the first schedule to the reports in the new folder. */
static int
explore_and_report(struct campaign_input *input,
    struct build_cache *build_cache, struct campaign *campaign,
    struct campaign_report *report, struct tz_error *err)
{
	struct campaign_teller teller;
	double begin = monotonic_seconds();
	int error;

	report->summary = calloc(1, sizeof(*report->summary));
	if (report->summary == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	campaign_tell(input, &teller);
	if (input->stop_at_finding) {
		input->options.ends_at = has_new;
		input->options.ends_arg = &report->baseline;
	}
	error = campaign_run(campaign, build_cache, &input->options, err);
	if (error != 0)
		return error;
	fill_summary(input, build_cache, report->summary);
	coverage_fill(campaign, report->summary);
	error = describe_all(campaign, input, report, err);
	campaign_tell_end(&teller);
	if (report->interrupted)
		fputs("topaz: interrupted: findings may be larger than they "
		      "need be, without a window or a time line\n",
		    stderr);
	if (error == 0)
		error = write_checkpoint(input, build_cache, campaign, err);
	if (error != 0)
		return error;
	report->summary->exit_code = campaign_exit_code(
	    input, campaign, report);
	report->summary->host_seconds = monotonic_seconds() - begin;
	return write_reports(input, build_cache, report, err);
}

int
campaign_do(struct campaign_input *input, struct build_cache **build_cache,
    struct campaign *campaign, struct campaign_report *report,
    struct tz_error *err)
{
	struct output *folder = NULL, *known = NULL;
	struct checkpoint *checkpoint = NULL;
	int error = build_cache_open(&input->build_cache, build_cache, err);

	stop_gently();
	/* Errors of input and output files are reported before the exploration. */
	if (error == 0 && input->baseline != NULL)
		error = report_baseline_read(
		    input->baseline, &report->baseline, err);
	if (error == 0)
		error = output_claim(
		    input->output, OUTPUT_FINDINGS, &folder, err);
	if (error == 0 && input->write_baseline != NULL)
		error = output_claim_file(input->write_baseline, &known, err);
	if (error == 0) {
		input->made = output_new(folder);
		error = read_checkpoint(input, *build_cache, &checkpoint, err);
	}
	if (error == 0) {
		input->options.resume = checkpoint;
		error = explore_and_report(
		    input, *build_cache, campaign, report, err);
		if (error != 0)
			output_rename(folder, err);
	}
	if (error == 0 && known != NULL)
		error = write_baseline(known, report, err);
	if (error == 0) {
		error = output_publish(folder, err);
		folder = NULL;
	}
	if (error == 0 && known != NULL) {
		error = output_publish(known, err);
		known = NULL;
	}
	output_abandon(folder);
	output_abandon(known);
	checkpoint_free(checkpoint);
	return error;
}

void
campaign_report_free(struct campaign_report *report)
{
	for (size_t i = 0;
	     report->timeline != NULL && i < report->summary->finding_count;
	     i++)
		finding_timeline_free(&report->timeline[i]);
	free(report->timeline);
	findings_free(report->findings);
	if (report->summary != NULL)
		report_summary_free(report->summary);
	free(report->summary);
	report_baseline_free(&report->baseline);
	*report = (struct campaign_report){ .timeline = NULL };
}

static int
print_finding(const struct campaign_input *input,
    const struct campaign_report *report, size_t index, struct tz_error *err)
{
	char name[REPORT_NAME_BYTES], *token = NULL, *page = NULL;
	int error;

	report_name(name, index, "token");
	if (asprintf(&token, "%s/%s", input->output, name) < 0)
		return tz_error(err, TZ_EIO, "out of memory");
	report_name(name, index, "html");
	if (asprintf(&page, "%s/%s", input->output, name) < 0) {
		free(token);
		return tz_error(err, TZ_EIO, "out of memory");
	}
	error = report_text_finding(stdout, report->summary, index,
	    &(struct report_files){ token, input->pages ? page : NULL }, err);
	free(token);
	free(page);
	return error;
}

int
campaign_print_comparison(const struct report_baseline *baseline,
    const struct finding_summary *summary, bool json, struct tz_error *err)
{
	struct report_comparison comparison;
	json_t *line;

	if (!json)
		return report_text_comparison(stdout, baseline, summary, err);
	report_baseline_compare(baseline, summary, &comparison);
	line = json_pack("{s:i, s:s, s:I, s:I, s:I}", "schema", REPORT_SCHEMA,
	    "kind", "comparison", "new", (json_int_t)comparison.new_count,
	    "fixed", (json_int_t)comparison.fixed_count, "still",
	    (json_int_t)comparison.still_count);
	cmd_print_json_line(line);
	return 0;
}

int
campaign_print(const struct campaign_input *input,
    const struct campaign_report *report, struct tz_error *err)
{
	int error = 0;

	if (input->json)
		error = report_json(stdout, report->summary, err);
	for (size_t i = 0;
	     error == 0 && !input->json && i < report->summary->finding_count;
	     i++)
		error = print_finding(input, report, i, err);
	if (error == 0 && !input->json)
		error = report_text_coverage(stdout, report->summary, err);
	if (error == 0 && input->baseline != NULL)
		error = campaign_print_comparison(
		    &report->baseline, report->summary, input->json, err);
	if (error == 0 && !input->json)
		error = report_text_last(stdout, report->summary, err);
	return error;
}
