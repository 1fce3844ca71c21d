#define _GNU_SOURCE
/*
 * A campaign from the command line: progress, findings, reports.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "harness/cmd/campaign_options.h"
#include "harness/explore/describe.h"
#include "harness/explore/pool.h"
#include "harness/report/report.h"

static void
tell(void *arg, const char *what, uint64_t done, uint64_t total,
    uint64_t findings)
{
	struct campaign_teller *teller = arg;
	unsigned percent = total == 0 ? 0 : (unsigned)(100 * done / total);

	if (percent > 100)
		percent = 100;
	if (teller->mode == PROGRESS_BAR) {
		fprintf(stderr,
		    "\r%-10s %3u %%  %10" PRIu64 " / %-10" PRIu64 " %4" PRIu64
		    " to look at\x1b[K",
		    what, percent, done, total, findings);
		return;
	}
	if (strcmp(teller->what, what) == 0 && teller->tenths == percent / 10)
		return;
	snprintf(teller->what, sizeof(teller->what), "%s", what);
	teller->tenths = percent / 10;
	fprintf(stderr, "%-10s %3u %%  %" PRIu64 " / %" PRIu64 "\n", what,
	    percent, done, total);
}

static enum progress_mode
choose_mode(enum progress_mode mode)
{
	const char *term = getenv("TERM");

	if (mode != PROGRESS_AUTO)
		return mode;
	return isatty(STDERR_FILENO) && term != NULL &&
		strcmp(term, "dumb") != 0
	    ? PROGRESS_BAR
	    : PROGRESS_LINES;
}

void
campaign_tell(struct campaign_input *input, struct campaign_teller *teller)
{
	*teller = (struct campaign_teller){ .mode = choose_mode(
						input->progress) };
	if (teller->mode == PROGRESS_NONE)
		return;
	input->options.progress = tell;
	input->options.progress_arg = teller;
}

/* What workers make of the groups, in memory that they share. */
struct describing {
	struct campaign *campaign;
	const struct campaign_input *input;
	struct finding_summary *summary;
	struct described {
		struct finding finding;
		struct tz_error err;       /* "" if all went well */
		uint32_t group;            /* of the finding with that number */
		struct describe_kept kept; /* of the group */
	} * described;
	uint32_t count;
	bool interrupted; /* the rest in a hurry */
};

static void
describe_share(
    void *arg, unsigned worker, const volatile bool *stop, struct tally *tally)
{
	struct describing *all = arg;

	/* Each of them, hurry or not: a finding may not get lost. */
	all->campaign->hurry = stop;
	for (uint32_t i = worker; i < all->count;
	     i += all->input->options.jobs) {
		struct described *one = &all->described[i];

		if (describe_finding(all->campaign,
			&all->campaign->tally->group[i], &one->finding,
			&one->kept, &one->err) == 0)
			one->err.text[0] = '\0';
		tally->area[0].done++;
	}
}

/* The page of the finding numbered I, with its story if there is TIME. */
static int
write_page(struct describing *all, uint32_t i, bool time, struct tz_error *err)
{
	const uint32_t group = all->described[i].group;
	char path[PATH_MAX], name[REPORT_NAME_BYTES];
	struct finding_story story;
	int error;

	report_name(name, i, "html");
	snprintf(path, sizeof(path), "%s/%s", all->input->output, name);
	if (!time)
		return report_page(path, all->summary, i, NULL, err);
	error = describe_story(all->campaign, &all->summary->finding[i],
	    &all->described[group].kept, &story, err);
	if (error != 0)
		return error;
	error = report_page(path, all->summary, i, &story, err);
	finding_story_free(&story);
	return error;
}

/* Pages: each worker tells the stories of its own. */
static void
page_share(
    void *arg, unsigned worker, const volatile bool *stop, struct tally *tally)
{
	struct describing *all = arg;

	all->campaign->hurry = stop;
	for (uint32_t i = worker; i < all->count;
	     i += all->input->options.jobs) {
		struct described *one = &all->described[i];

		if (write_page(
			all, i, !*stop && !all->interrupted, &one->err) == 0)
			one->err.text[0] = '\0';
		tally->area[0].done++;
	}
}

static void
tell_described(void *arg, const struct tally *tallies, unsigned jobs)
{
	const struct describing *all = arg;
	const struct campaign_options *options = &all->input->options;
	uint64_t done = 0;

	for (unsigned i = 0; i < jobs; i++)
		done += tallies[i].area[0].done;
	if (options->progress != NULL)
		options->progress(options->progress_arg, "describing", done,
		    all->count, all->count);
}

/* One step of describing in all jobs; STRICT: the first thing that went wrong. */
static int
describe_step(
    struct describing *all, pool_work work, bool strict, struct tz_error *err)
{
	struct tally *unused = calloc(1, sizeof(*unused));
	int error = unused == NULL
	    ? tz_error(err, TZ_EIO, "out of memory")
	    : pool_run(all->input->options.jobs, work, tell_described, all,
		  unused, &all->interrupted, err);

	free(unused);
	for (uint32_t i = 0; strict && error == 0 && i < all->count; i++) {
		if (all->described[i].err.text[0] != '\0')
			error = tz_error(
			    err, TZ_EIO, "%s", all->described[i].err.text);
	}
	return error;
}

/* SARIF tells what each CPU did: the events are enough for it. */
static int
tell_events(struct campaign *campaign, struct campaign_report *report,
    struct tz_error *err)
{
	size_t count = report->summary->finding_count;
	int error = 0;

	report->story = calloc(count + 1, sizeof(*report->story));
	if (report->story == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	for (size_t i = 0; error == 0 && i < count; i++)
		error = describe_events(campaign, &report->summary->finding[i],
		    &report->story[i], err);
	return error;
}

/* Findings of all groups, in order, and their pages. */
static int
describe_all(struct campaign *campaign, const struct campaign_input *input,
    struct campaign_report *report, struct tz_error *err)
{
	struct finding_summary *summary = report->summary;
	struct describing all = { campaign, input, summary, NULL,
		campaign->tally->group_count, false };
	size_t bytes = (all.count + 1) * sizeof(*all.described);
	int error;

	summary->finding = calloc(all.count + 1, sizeof(*summary->finding));
	all.described = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (summary->finding == NULL || all.described == MAP_FAILED)
		return tz_error(err, TZ_EIO, "out of memory");
	error = describe_step(&all, describe_share, false, err);
	for (uint32_t i = 0; error == 0 && i < all.count; i++) {
		if (all.described[i].err.text[0] == '\0') {
			all.described[summary->finding_count].group = i;
			summary->finding[summary->finding_count++] =
			    all.described[i].finding;
			continue;
		}
		/* A bug of topaz, which may not hide the others. */
		fprintf(stderr, "topaz: bug: %s\n", all.described[i].err.text);
		report->unshown++;
	}
	all.count = (uint32_t)summary->finding_count;
	if (error == 0 && input->pages)
		error = describe_step(&all, page_share, true, err);
	munmap(all.described, bytes);
	report->interrupted = all.interrupted;
	if (error == 0 && !all.interrupted)
		error = tell_events(campaign, report, err);
	return error;
}

/*
 * The folder of the driver's sources as code hosts want it: below the one in which
 * topaz is called.  "" if they are elsewhere.
 */
static void
find_folder(const struct workshop *workshop, char *folder, size_t folder_size)
{
	const char *source = workshop_source(workshop);
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

static int
make_folder(const char *path, struct tz_error *err)
{
	struct stat st;

	if (mkdir(path, 0777) == 0)
		return 0;
	if (errno == EEXIST && stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		errno = ENOTDIR;
	if (errno != EEXIST || access(path, W_OK | X_OK) != 0)
		return tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	return 0;
}

static int
write_reports(const struct campaign_input *input, struct workshop *workshop,
    const struct campaign_report *report, struct tz_error *err)
{
	int error = report_write_forms(
	    input->output, report->summary, report->story, err);

	if (error == 0)
		error = workshop_keep(workshop, input->output, err);
	if (error == 0 && input->write_baseline != NULL)
		error = report_baseline_write(
		    input->write_baseline, report->summary, err);
	return error;
}

/* Of --stop-at-finding: a finding that the baseline, if there is one, does not have. */
static bool
has_new(void *arg, struct campaign *campaign, uint32_t from)
{
	const struct report_baseline *baseline = arg;
	const struct tally *tally = campaign->tally;
	struct finding finding;
	struct tz_error err;
	bool is_new = baseline->count == 0;

	/* One that does not show again is reported at the end. */
	for (uint32_t i = from; !is_new && i < tally->group_count; i++)
		is_new = describe_finding(campaign, &tally->group[i], &finding,
			     NULL, &err) != 0 ||
		    !report_baseline_has(baseline, &finding);
	return is_new;
}

int
campaign_do(struct campaign_input *input, struct workshop **workshop,
    struct campaign *campaign, struct campaign_report *report,
    struct tz_error *err)
{
	struct campaign_teller teller;
	int error = workshop_open(&input->workshop, workshop, err);

	/* What cannot be read or written is to be said before the work. */
	if (error == 0 && input->baseline != NULL)
		error = report_baseline_read(
		    input->baseline, &report->baseline, err);
	if (error == 0)
		error = make_folder(input->output, err);
	if (error != 0)
		return error;
	report->summary = calloc(1, sizeof(*report->summary));
	if (report->summary == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	campaign_tell(input, &teller);
	if (input->stop_at_finding) {
		input->options.ends_at = has_new;
		input->options.ends_arg = &report->baseline;
	}
	error = campaign_run(campaign, *workshop, &input->options, err);
	if (error != 0)
		return error;
	snprintf(report->summary->driver, sizeof(report->summary->driver), "%s",
	    input->driver);
	snprintf(report->summary->profile, sizeof(report->summary->profile),
	    "%s", workshop_models(*workshop));
	snprintf(report->summary->sha256, sizeof(report->summary->sha256), "%s",
	    workshop_sha256(*workshop));
	memcpy(report->summary->command, input->command,
	    sizeof(report->summary->command));
	find_folder(*workshop, report->summary->folder,
	    sizeof(report->summary->folder));
	describe_coverage(campaign, report->summary);
	error = describe_all(campaign, input, report, err);
	if (teller.mode == PROGRESS_BAR)
		fputc('\n', stderr);
	if (report->interrupted)
		fputs("topaz: interrupted: findings may be larger than they "
		      "need be, without a window or a time line\n",
		    stderr);
	return error != 0 ? error
			  : write_reports(input, *workshop, report, err);
}

void
campaign_report_free(struct campaign_report *report)
{
	for (size_t i = 0;
	     report->story != NULL && i < report->summary->finding_count; i++)
		finding_story_free(&report->story[i]);
	free(report->story);
	if (report->summary != NULL)
		free(report->summary->finding);
	free(report->summary);
	report_baseline_free(&report->baseline);
	*report = (struct campaign_report){ .story = NULL };
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
	error = report_text_finding(stdout, &report->summary->finding[index],
	    token, input->pages ? page : NULL, err);
	free(token);
	free(page);
	return error;
}

bool
campaign_found(
    const struct campaign_input *input, const struct campaign_report *report)
{
	struct report_comparison comparison;

	if (input->baseline == NULL)
		return report->summary->finding_count != 0;
	report_baseline_compare(
	    &report->baseline, report->summary, &comparison);
	return comparison.new_count != 0;
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
	json_dumpf(line, stdout, JSON_SORT_KEYS | JSON_COMPACT);
	putchar('\n');
	json_decref(line);
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
