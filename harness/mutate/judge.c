#define _GNU_SOURCE
/*
 * One exploration: of the driver itself, or of a mutant up to the first finding that the
 * driver itself does not have.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/explore/build/build_cache_state.h"
#include "harness/explore/search/faults.h"
#include "harness/mutate/bench.h"

/* True if the runs of GROUP ended before they could be judged. */
static bool
is_unjudged(const struct stats_group *group)
{
	return check_info(group->violation.id)->family == FAMILY_UNJUDGED;
}

/* True if the driver itself does not have the cause of GROUP. */
static bool
is_new(const struct mutate_baseline *baseline, const struct stats_group *group)
{
	for (size_t i = 0; i < baseline->cause_count; i++) {
		if (baseline->cause[i] == group->cause)
			return false;
	}
	return true;
}

/* For campaign_options.ends_at: true if a finding kills the mutant. */
static bool
kills(void *arg, struct campaign *campaign, uint32_t from)
{
	const struct stats *stats = campaign->stats;

	for (uint32_t i = from; i < stats->group_count; i++) {
		if (!is_unjudged(&stats->group[i]) &&
		    is_new(arg, &stats->group[i]))
			return true;
	}
	return false;
}

static uint64_t
count_schedules(const struct campaign *campaign)
{
	uint64_t count = 0;

	for (size_t i = 0; i < campaign->area_count; i++)
		count += campaign->stats->area[i].done;
	return count;
}

/* "it-wrap", or "insntrace@2,pages=load+open". */
static char *
subject_of(const struct campaign *campaign, const struct stats_group *group)
{
	const struct campaign_entry *entry = campaign_entry_of(campaign, group);
	const char *driver = build_cache_config(campaign->build_cache)->driver;
	char steps[TOKEN_TEXT_BYTES];
	char *text;

	if (entry->name[0] != '\0')
		return strdup(entry->name);
	if (!sequence_format(build_cache_manifest(campaign->build_cache),
		&entry->sequence, steps, sizeof(steps)))
		steps[0] = '\0';
	if (asprintf(&text, "%s@%u%s%s=%s", driver, entry->cpus,
		entry->layout[0] != '\0' ? "," : "", entry->layout, steps) < 0)
		return NULL;
	return text;
}

static void
describe_kill(const struct campaign *campaign, const struct stats_group *group,
    struct mutate_result *result)
{
	char kinds[TOKEN_WORDS_BYTES];

	schedule_kinds(&group->schedule, kinds, sizeof(kinds));
	free(result->message);
	result->class = MUTATE_KILLED;
	result->check = strdup(check_info(group->violation.id)->name);
	result->message = strdup(group->violation.text);
	result->kinds = strdup(kinds);
	result->subject = subject_of(campaign, group);
}

/* The result of a mutant whose campaign was completed or ended by a kill. */
static void
conclude(const struct bench *bench, struct campaign *campaign,
    struct mutate_result *result)
{
	result->class = MUTATE_SURVIVED;
	result->schedules += count_schedules(campaign);
	for (uint32_t i = 0; i < campaign->stats->group_count; i++) {
		const struct stats_group *group = &campaign->stats->group[i];

		if (!is_new(bench->baseline, group))
			continue;
		if (!is_unjudged(group)) {
			describe_kill(campaign, group, result);
			return;
		}
		result->class = MUTATE_NOT_JUDGED;
		if (result->message == NULL)
			result->message = strdup(group->violation.text);
	}
}

/* The result of a mutant with which the guest does not boot, or which the model lacks. */
static void
conclude_error(int error, const char *text, struct mutate_result *result)
{
	result->class = MUTATE_FAILED;
	if (error == -TZ_EMODEL)
		result->class = MUTATE_NOT_JUDGED;
	if (error == -TZ_EFORMAT) {
		result->class = MUTATE_KILLED;
		result->check = strdup("boot");
	}
	result->message = strdup(text);
}

/*
 * The campaigns that judge a driver: the exploration, then the faults, which show what
 * the driver does about hardware that fails.
 */
enum part { PART_EXPLORE, PART_FAULTS, PARTS };

static struct campaign_options
part_options(const struct bench *bench, enum part part)
{
	struct campaign_options options = bench->options->campaign;

	if (part == PART_FAULTS) {
		options.faults = true;
		options.kinds = deviation_kinds(DEVIATION_IN_FAULTS);
		if (options.budget == 0 && options.effort == EFFORT_QUICK)
			options.budget = FAULTS_BUDGET_DEFAULT / 8;
	}
	return options;
}

static unsigned
part_count(const struct bench *bench)
{
	return bench->options->faults ? PARTS : PART_FAULTS;
}

/* One campaign with a mutant; false: it was interrupted. */
static bool
run_part(const struct bench *bench, enum part part,
    struct build_cache *build_cache, struct mutate_result *result)
{
	struct campaign_options options = part_options(bench, part);
	struct campaign campaign = { .build_cache = NULL };
	struct tz_error err;
	bool interrupted;
	int error;

	options.jobs = 1;
	options.progress = NULL;
	options.ends_at = kills;
	options.ends_arg = (void *)(uintptr_t)bench->baseline;
	error = campaign_run(&campaign, build_cache, &options, &err);
	interrupted = campaign.parts.interrupted;
	if (error != 0)
		conclude_error(error, err.text, result);
	else if (!interrupted)
		conclude(bench, &campaign, result);
	campaign_close(&campaign);
	return !interrupted;
}

/* Explores the objects in DIR. */
static bool
explore(
    const struct bench *bench, const char *dir, struct mutate_result *result)
{
	struct build_cache_config config = *build_cache_config(
	    bench->build_cache);
	struct build_cache *build_cache;
	struct tz_error err;
	bool whole = true;
	int error;

	config.objects = dir;
	config.source = config.tree = NULL;
	error = build_cache_open(&config, &build_cache, &err);
	if (error != 0) {
		conclude_error(-TZ_EIO, err.text, result);
		return true;
	}
	for (unsigned part = 0; whole && part < part_count(bench); part++) {
		whole = run_part(bench, (enum part)part, build_cache, result);
		if (result->class != MUTATE_SURVIVED)
			break;
	}
	build_cache_close(build_cache);
	return whole;
}

/* The compiler's first error in DIR/stderr, the standard error of this process. */
static char *
read_complaint(const char *dir)
{
	char path[TREE_PATH_BYTES + 64];
	char *line = NULL, *found = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/stderr", dir);
	file = fopen(path, "r");
	while (
	    file != NULL && found == NULL && getline(&line, &room, file) >= 0) {
		const char *at = strstr(line, "error: ");

		line[strcspn(line, "\n")] = '\0';
		if (at != NULL)
			found = strdup(at + strlen("error: "));
	}
	free(line);
	if (file != NULL)
		fclose(file);
	return found;
}

bool
judge_mutant(const struct bench *bench, size_t index, const char *dir,
    struct mutate_result *result)
{
	const struct mutate_list *list = bench->list;
	struct tz_error err;
	int error = bench_compile(bench, &list->mutants.at[list->drawn[index]],
	    dir, &result->class, &err);

	result->known = true;
	if (error != 0) {
		result->class = MUTATE_FAILED;
		result->message = strdup(err.text);
		return true;
	}
	if (result->class == MUTATE_NOT_COMPILED)
		result->message = read_complaint(dir);
	return result->class != MUTATE_SURVIVED || explore(bench, dir, result);
}

/* Adds the causes that CAMPAIGN has found. */
static int
note_causes(struct mutate_baseline *baseline, const struct campaign *campaign,
    struct tz_error *err)
{
	uint32_t count = campaign->stats->group_count;
	uint64_t *cause = realloc(baseline->cause,
	    (baseline->cause_count + count + 1) * sizeof(*cause));

	if (cause == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	baseline->cause = cause;
	for (uint32_t i = 0; i < count; i++)
		cause[baseline->cause_count++] =
		    campaign->stats->group[i].cause;
	baseline->schedules += count_schedules(campaign);
	return 0;
}

int
judge_baseline(const struct bench *bench, struct mutate_baseline *baseline,
    struct mutate_result *result, struct tz_error *err)
{
	struct cover *cover = cover_create(bench->list, result);
	bool whole = true;
	int error = 0;

	if (cover == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	for (unsigned part = 0; error == 0 && whole && part < part_count(bench);
	     part++) {
		struct campaign_options options = part_options(
		    bench, (enum part)part);
		struct campaign campaign = { .build_cache = NULL };

		if (part == PART_EXPLORE) {
			options.reached = cover_reached;
			options.reached_arg = cover;
		}
		error = campaign_run(
		    &campaign, bench->build_cache, &options, err);
		if (error == 0)
			error = note_causes(baseline, &campaign, err);
		/* An interrupted exploration cannot be compared with. */
		whole = !campaign.parts.interrupted;
		campaign_close(&campaign);
	}
	cover_counts(cover, &baseline->scenarios, &baseline->sequences);
	cover_destroy(cover);
	baseline->known = error == 0 && whole;
	return error;
}
