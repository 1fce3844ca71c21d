#include "harness/explore/search/campaign.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "harness/explore/runner/decode_check.h"
#include "harness/explore/runner/runner_pool.h"
#include "harness/explore/search/campaign_progress.h"
#include "harness/explore/search/concurrent.h"
#include "harness/explore/search/corpus.h"
#include "harness/explore/search/faults.h"
#include "harness/explore/search/pairs.h"
#include "harness/explore/search/workers.h"

#define NO_ENTRY       UINT32_MAX
#define RANDOM_CHANGES 3
/*
 * If the exploration may end early, this fraction (of 2^32) of the schedules with
 * one deviation runs first.
 */
#define KEEP_FIRST (TRIAL_KEEP_ALL / 64)

struct campaign_options
campaign_defaults(void)
{
	return (struct campaign_options){
		.kinds = deviation_kinds(DEVIATION_IN_EXPLORE),
		.depth = 1,
		.effort = EFFORT_NORMAL,
		.jobs = 1,
		.shard = 1,
		.shards = 1,
		.merge = true,
		.reduce = true,
		.sequences = true,
	};
}

int
campaign_runner(struct campaign *campaign, const struct campaign_entry *entry,
    struct runner **runner, struct tz_error *err)
{
	return runner_pool_get(campaign->runner_pool, entry->cpus,
	    entry->layout, entry->settings, runner, err);
}

bool
campaign_is_over(struct campaign *campaign)
{
	const struct campaign_options *options = &campaign->options;
	uint32_t from = campaign->asked;

	if (options->ends_at != NULL && !campaign->ended_early &&
	    from != campaign->stats->group_count) {
		campaign->asked = campaign->stats->group_count;
		campaign->ended_early = options->ends_at(
		    options->ends_arg, campaign, from);
	}
	return campaign->interrupted || campaign->ended_early;
}

bool
campaign_is_resuming(const struct campaign *campaign)
{
	const struct checkpoint *resume = campaign->options.resume;

	return resume != NULL && campaign->parts <= resume->parts;
}

int
campaign_pool(struct campaign *campaign, workers_work work,
    workers_progress progress, void *arg, struct tz_error *err)
{
	const struct campaign_options *options = &campaign->options;
	struct checkpoint *checkpoint = campaign->checkpoint;
	int error = 0;

	campaign->parts++;
	if (!campaign_is_resuming(campaign))
		error = workers_run(options->jobs, work, progress, arg,
		    campaign->stats, &campaign->interrupted, err);
	else if (campaign->parts == options->resume->parts)
		*campaign->stats = options->resume->stats;
	if (error == 0 && !campaign->interrupted && checkpoint != NULL) {
		checkpoint->parts = campaign->parts;
		checkpoint->stats = *campaign->stats;
	}
	return error;
}

uint64_t
campaign_key(struct build_cache *build_cache,
    const struct campaign_options *options, uint16_t check)
{
	const char *const texts[] = { build_cache_config(build_cache)->driver,
		build_cache_sha256(build_cache),
		build_cache_models(build_cache),
		build_cache_config(build_cache)->errata, options->subject };
	const uint64_t words[] = { check, options->kinds, options->depth,
		options->jobs, options->shard, options->shards, options->effort,
		options->budget, options->seed, options->insns_max,
		options->merge, options->reduce, options->sequences,
		options->kinds_named, options->faults, options->each_point,
		sizeof(struct checkpoint) };
	uint64_t key = XXH3_64bits(words, sizeof(words));

	for (size_t i = 0; i < TZ_ARRAY_LEN(texts); i++) {
		const char *text = texts[i] != NULL ? texts[i] : "";

		key = XXH3_64bits_withSeed(text, strlen(text) + 1, key);
	}
	return key;
}

bool
campaign_is_own(const struct campaign *campaign, uint64_t index)
{
	return index % campaign->options.shards == campaign->options.shard - 1;
}

struct campaign_area *
campaign_add_area(
    struct campaign *campaign, enum area_kind kind, uint32_t entry)
{
	struct campaign_area *area;

	if (campaign->area_count == STATS_AREAS_MAX)
		return NULL;
	area = &campaign->area[campaign->area_count++];
	*area = (struct campaign_area){ .kind = kind,
		.entry = entry,
		.kinds = campaign->options.kinds,
		.keep = TRIAL_KEEP_ALL };
	return area;
}

static struct trial_options
trial_options_of(
    const struct campaign *campaign, const struct campaign_area *area)
{
	/* An entry that the user or the manifest names is expected to run the
	 * driver. */
	bool named = campaign->entry[area->entry].name[0] != '\0' ||
	    campaign->options.subject != NULL;

	return (struct trial_options){ .decode = area->decodes,
		.must_run = named,
		.insns_max = campaign->options.insns_max,
		.kinds = area->kinds,
		.kinds2 = area->kinds,
		.merge = campaign->options.merge,
		.reduce = campaign->options.reduce };
}

/* Runs an area's entry in the default schedule, ready for placements. */
static int
open_area(struct campaign *campaign, const struct campaign_area *area,
    struct trial *place, struct tz_error *err)
{
	const struct campaign_entry *entry = &campaign->entry[area->entry];
	struct trial_options options = trial_options_of(campaign, area);
	struct runner *runner;
	int error = campaign_runner(campaign, entry, &runner, err);

	if (error != 0)
		return error;
	return trial_open(place, runner, &entry->sequence, &options, err);
}

/*
 * Decodes the default schedule's trace.  Each shard needs the result: schedules are
 * sampled only if it decodes.
 */
static void
decode_base(struct campaign *campaign, uint32_t number, struct trial *place)
{
	const struct rank rank = { number, 0, 0 };
	const struct schedule none = { .count = 0 };
	struct campaign_area *area = &campaign->area[number];
	struct outcome base;

	if (!trial_run_decoded(place, &none, NULL, STEPPING_NONE, &base))
		return;
	area->decodes = !decode_check_differs(&base);
	if (campaign_is_own(campaign, number))
		campaign->stats->area[number].decoded++;
	stats_add(campaign->stats, rank, &none, &base, &place->base);
	campaign->stats->area[number].base_fails |= !area->decodes;
}

static int
tell_reached(struct campaign *campaign, const struct campaign_entry *entry,
    struct tz_error *err)
{
	struct runner *runner;
	struct reach reach;
	int error = campaign_runner(campaign, entry, &runner, err);

	if (error == 0)
		error = reach_run(runner, &entry->sequence,
		    campaign->options.insns_max, &reach, err);
	if (error == 0)
		campaign->options.reached(
		    campaign->options.reached_arg, runner, entry, &reach);
	return error;
}

/* Runs the default schedule and counts the schedules of the area. */
int
campaign_survey(
    struct campaign *campaign, uint32_t number, struct tz_error *err)
{
	struct campaign_area *area = &campaign->area[number];
	const struct rank rank = { number, 0, 0 };
	const struct schedule none = { .count = 0 };
	struct trial place;
	int error = open_area(campaign, area, &place, err);

	if (error != 0)
		return error;
	area->total = area->kind == AREA_ONE ? trial_count(&place) : 0;
	area->boundaries = place.list.count;
	area->endless = place.base.end == MACHINE_LIMIT;
	stats_add(campaign->stats, rank, &none, &place.base, NULL);
	stats_count(campaign->stats, number, &place.base, NULL);
	if (area->kind == AREA_ONE)
		decode_base(campaign, number, &place);
	trial_close(&place);
	return campaign->options.reached == NULL
	    ? 0
	    : tell_reached(campaign, &campaign->entry[area->entry], err);
}

/* Which of an area's schedules to run: those that come first, the rest, or all. */
enum part { PART_FIRST, PART_REST, PART_ALL };

struct share_work {
	struct campaign *campaign;
	uint32_t begin, end; /* areas */
	enum part part;
};

/* A worker's share of some areas. */
static void
work(void *arg, unsigned worker, const volatile bool *stop, struct stats *stats)
{
	const struct share_work *share_work = arg;
	struct campaign *campaign = share_work->campaign;
	const struct campaign_options *options = &campaign->options;
	struct trial_share share = {
		.worker = (options->shard - 1) * options->jobs + worker,
		.workers = options->shards * options->jobs,
		.seed = options->seed,
		.stop = stop,
	};
	struct tz_error err;

	for (uint32_t i = share_work->begin; i < share_work->end && !*stop;
	     i++) {
		const struct campaign_area *area = &campaign->area[i];
		struct trial place;

		if (area->kind == AREA_FAULT || area->kind == AREA_SEQUENCES)
			continue;
		if (area->endless ||
		    open_area(campaign, area, &place, &err) != 0)
			continue;
		share.each_max = area->each_max;
		share.from = share_work->part == PART_REST ? KEEP_FIRST : 0;
		share.keep = share_work->part == PART_FIRST &&
			area->keep > KEEP_FIRST
		    ? KEEP_FIRST
		    : area->keep;
		if (area->kind == AREA_ONE)
			trial_one(&place, &share, stats, i);
		else if (area->kind == AREA_TWO)
			trial_two(&place, &share, stats, i);
		else
			trial_random(&place, &share, area->changes, area->total,
			    stats, i);
		trial_close(&place);
		stats->area[i].ended += !*stop &&
		    share_work->part != PART_FIRST;
	}
}

/* A description of the areas of a part. */
static const char *
part_name(const struct campaign *campaign, uint32_t begin)
{
	const struct campaign_area *area = &campaign->area[begin];

	if (campaign->options.faults)
		return "placements of faults";
	if (area->kind != AREA_ONE)
		return "placements of two, and random schedules";
	return campaign->corpus == NULL || begin < campaign->entry_surveyed
	    ? "placements of one deviation"
	    : "placements in sequences with new code";
}

static void
tell_progress(void *arg, const struct stats *stats_list, unsigned jobs)
{
	const struct share_work *share_work = arg;
	const struct campaign *campaign = share_work->campaign;

	campaign_progress_tell(
	    campaign, part_name(campaign, share_work->begin), stats_list, jobs);
}

/*
 * How many of COUNT areas make a part: few if the exploration may end after each, or
 * if each takes long.
 */
static uint32_t
part_areas(const struct campaign *campaign, uint32_t count)
{
	const struct campaign_options *options = &campaign->options;

	if (options->ends_at != NULL)
		return 1;
	return options->effort == EFFORT_DEEP && options->budget == 0 ? 2
								      : count;
}

/* Runs PART of areas [BEGIN, END): all at once, or some at a time. */
static int
run_part(struct campaign *campaign, uint32_t begin, uint32_t end,
    enum part part, struct tz_error *err)
{
	uint32_t step = part_areas(campaign, end - begin);
	int error = 0;

	for (uint32_t i = begin;
	     error == 0 && i < end && !campaign_is_over(campaign); i += step) {
		struct share_work share_work = { campaign, i,
			end - i < step ? end : i + step, part };

		tell_progress(&share_work, NULL, 0);
		error = campaign_pool(
		    campaign, work, tell_progress, &share_work, err);
	}
	return error;
}

int
campaign_run_areas(struct campaign *campaign, uint32_t begin, uint32_t end,
    struct tz_error *err)
{
	return run_part(campaign, begin, end, PART_ALL, err);
}

/*
 * Runs each entry in the default schedule and selects its schedules with one
 * deviation.
 */
static int
survey_entries(struct campaign *campaign, uint64_t budget, struct tz_error *err)
{
	uint64_t total = 0;
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < campaign->entry_count &&
	     !campaign_is_over(campaign);
	     i++) {
		struct campaign_area *area = campaign_add_area(
		    campaign, AREA_ONE, i);

		if (area == NULL)
			return tz_error(err, TZ_EUSAGE, "too many scenarios");
		error = campaign_survey(
		    campaign, (uint32_t)campaign->area_count - 1, err);
		total += area->total;
	}
	for (uint32_t i = 0; total > budget && i < campaign->area_count; i++)
		campaign->area[i].keep = TRIAL_KEEP_ALL / total * budget;
	return error;
}

static int
explore_sequences(
    struct campaign *campaign, uint64_t budget, struct tz_error *err)
{
	struct campaign_area *area = campaign_add_area(
	    campaign, AREA_SEQUENCES, NO_ENTRY);
	struct corpus_counts counts;
	int error;

	TZ_ASSERT(area != NULL);
	area->total = budget;
	campaign->ahead -= budget;
	error = corpus_run(campaign, (uint32_t)campaign->area_count - 1, budget,
	    &campaign->corpus, err);
	if (error == 0) {
		corpus_counts(campaign->corpus, &counts);
		if (counts.runs > budget)
			area->total = counts.runs;
	}
	if (error == 0 && !campaign->gave_up && !campaign_is_over(campaign))
		campaign->stats->area[campaign->area_count - 1].ended =
		    campaign->options.jobs;
	return error;
}

/* Runs placements in sequences that reached something new. */
static int
explore_novel(struct campaign *campaign, const struct effort_parts *parts,
    struct tz_error *err)
{
	uint32_t begin = (uint32_t)campaign->area_count;
	const struct campaign_entry *novel;
	uint64_t spent = 0;
	int error = 0;

	campaign->ahead -= parts->novel;
	for (size_t i = 0; error == 0 && spent < parts->novel &&
	     !campaign_is_over(campaign) &&
	     (novel = corpus_novel(campaign->corpus, i)) != NULL;
	     i++) {
		size_t entry = campaign_add_entry(campaign, novel);
		struct campaign_area *area;

		if (entry == SIZE_MAX)
			return tz_error(err, TZ_EIO, "out of memory");
		area = campaign_add_area(campaign, AREA_ONE, (uint32_t)entry);
		if (area == NULL)
			break;
		error = campaign_survey(
		    campaign, (uint32_t)campaign->area_count - 1, err);
		if (area->total > parts->novel_each)
			area->keep = TRIAL_KEEP_ALL / area->total *
			    parts->novel_each;
		spent += area->total > parts->novel_each ? parts->novel_each
							 : area->total;
	}
	return error != 0 ? error
			  : campaign_run_areas(campaign, begin,
				(uint32_t)campaign->area_count, err);
}

/* Runs pairs and random schedules of the first ENTRIES. */
static int
explore_deeper(struct campaign *campaign, uint32_t entries,
    const struct effort_parts *parts, struct tz_error *err)
{
	uint32_t begin = (uint32_t)campaign->area_count;
	struct campaign_area *area;
	int error = pairs_add(campaign, entries, parts->pairs, err);

	if (error != 0)
		return error;
	campaign->ahead = 0;
	for (uint32_t i = begin; i < campaign->area_count; i++) {
		area = &campaign->area[i];
		/* The number of pairs that merge is not known in advance: at least
		 * half. */
		area->expected = area->keep == TRIAL_KEEP_ALL &&
			area->each_max == 0
		    ? campaign->area[i - begin].total *
			campaign->area[i - begin].total / 4
		    : parts->pairs / entries;
	}
	for (uint32_t i = 0; i < entries; i++) {
		area = campaign_add_area(campaign, AREA_RANDOM, i);
		if (area == NULL)
			return tz_error(err, TZ_EUSAGE, "too many scenarios");
		area->changes = RANDOM_CHANGES;
		area->endless = campaign->area[i].endless;
		area->total = area->endless ? 0 : parts->random / entries;
		area->boundaries = campaign->area[i].boundaries;
	}
	return campaign_run_areas(
	    campaign, begin, (uint32_t)campaign->area_count, err);
}

/*
 * Runs entries and sequences in the default schedule, then one deviation in each entry.
 * If the exploration may end early, some of the latter run before the sequences.
 */
static int
explore_shallow(struct campaign *campaign, bool sequences,
    uint64_t sequence_part, struct tz_error *err)
{
	uint32_t entries = (uint32_t)campaign->area_count;
	bool early = campaign->options.ends_at != NULL;
	int error = 0;

	if (early)
		error = run_part(campaign, 0, entries, PART_FIRST, err);
	if (error == 0 && sequences && !campaign_is_over(campaign))
		error = explore_sequences(campaign, sequence_part, err);
	if (error == 0)
		error = run_part(
		    campaign, 0, entries, early ? PART_REST : PART_ALL, err);
	return error;
}

/* A scenario that is explored alone gets the share that it has among all scenarios. */
static struct effort_parts
parts_of(const struct campaign *campaign, bool sequences)
{
	const struct campaign_options *options = &campaign->options;
	struct effort_parts parts = effort_info(options->effort)->parts;
	size_t scenarios = manifest_scenario_count(
	    build_cache_manifest(campaign->build_cache));

	if (options->budget != 0)
		return effort_of_budget(options->budget, sequences);
	if (!sequences)
		parts.sequences = parts.calls = parts.novel = 0;
	if (options->subject != NULL && scenarios != 0) {
		parts.pairs /= scenarios;
		parts.random /= scenarios;
	}
	return parts;
}

static int
explore(struct campaign *campaign, struct tz_error *err)
{
	const struct campaign_options *options = &campaign->options;
	bool sequences = options->sequences && options->subject == NULL;
	uint32_t entries = (uint32_t)campaign->entry_count;
	const struct effort_parts parts = parts_of(campaign, sequences);
	int error = survey_entries(campaign, parts.one, err);

	campaign->entry_surveyed = (uint32_t)campaign->area_count;
	campaign->ahead = parts.sequences + parts.calls + parts.novel +
	    parts.pairs + parts.random;
	if (error == 0)
		error = explore_shallow(
		    campaign, sequences, parts.sequences, err);
	/* What is derived from sequences and life cycles would not end, either. */
	if (error == 0 && sequences && !campaign->gave_up)
		error = concurrent_explore(campaign, parts.calls, err);
	if (error == 0 && sequences)
		campaign->ahead = parts.novel + parts.pairs + parts.random;
	if (error == 0 && sequences && !campaign->gave_up)
		error = explore_novel(campaign, &parts, err);
	if (error == 0 && entries != 0 && !campaign_is_over(campaign))
		error = explore_deeper(campaign, entries, &parts, err);
	return error;
}

/* True if anything was run that can be reported. */
static bool
has_begun(const struct campaign *campaign)
{
	uint64_t done = campaign->stats->group_count + campaign->entry_surveyed;

	for (size_t i = 0; i < campaign->area_count; i++)
		done += campaign->stats->area[i].done;
	return done != 0;
}

int
campaign_run(struct campaign *campaign, struct build_cache *build_cache,
    const struct campaign_options *options, struct tz_error *err)
{
	int error;

	*campaign = (struct campaign){ .build_cache = build_cache,
		.options = *options };
	campaign->runner_pool = runner_pool_create(build_cache);
	campaign->area = calloc(STATS_AREAS_MAX, sizeof(*campaign->area));
	campaign->stats = calloc(1, sizeof(*campaign->stats));
	campaign->checkpoint = calloc(1, sizeof(*campaign->checkpoint));
	if (campaign->runner_pool == NULL || campaign->area == NULL ||
	    campaign->stats == NULL || campaign->checkpoint == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = campaign_make_entries(campaign, err);
	build_cache_cut(build_cache, true);
	if (error == 0)
		error = options->faults ? faults_explore(campaign, err)
					: explore(campaign, err);
	build_cache_cut(build_cache, false);
	if (error == -TZ_ESTOP && has_begun(campaign)) {
		campaign->interrupted = true;
		error = 0;
	}
	if (error == 0)
		stats_sort(campaign->stats);
	return error;
}

bool
campaign_ended(const struct campaign *campaign, size_t area)
{
	return campaign->area[area].endless ||
	    campaign->stats->area[area].ended == campaign->options.jobs;
}

void
campaign_close(struct campaign *campaign)
{
	corpus_destroy(campaign->corpus);
	runner_pool_destroy(campaign->runner_pool);
	free(campaign->area);
	checkpoint_free(campaign->checkpoint);
	free(campaign->stats);
	free(campaign->entry);
}

const struct campaign_entry *
campaign_entry_of(
    const struct campaign *campaign, const struct stats_group *group)
{
	const struct campaign_area *area = &campaign->area[group->rank.area];

	if (area->kind == AREA_SEQUENCES)
		return corpus_entry(campaign->corpus, group->rank.first);
	/* A fault that is no deviation has entries of its own. */
	return &campaign->entry[area->kind == AREA_FAULT ? group->rank.first
							 : area->entry];
}
