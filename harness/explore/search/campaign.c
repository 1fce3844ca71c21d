#include "harness/explore/search/campaign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "harness/explore/parts/campaign_area.h"
#include "harness/explore/parts/campaign_part.h"
#include "harness/explore/search/concurrent.h"
#include "harness/explore/search/corpus.h"
#include "harness/explore/search/faults.h"
#include "harness/explore/search/pairs.h"
#include "harness/explore/search/placements.h"

#define NO_ENTRY       UINT32_MAX
#define RANDOM_CHANGES 3

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

uint64_t
campaign_key(struct build_cache *build_cache,
    const struct campaign_options *options, uint16_t check)
{
	const char *const texts[] = { build_cache_config(build_cache)->driver,
		build_cache_sha256(build_cache),
		build_cache_models(build_cache),
		build_cache_config(build_cache)->errata, options->subject };
	const uint64_t words[] = { check, options->kinds, options->depth,
		options->shard, options->shards, options->effort,
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

static int
read_entry(
    struct campaign *campaign, const struct token *token, struct tz_error *err)
{
	struct campaign_entry entry;
	int error = campaign_entry_read(
	    build_cache_manifest(campaign->build_cache), token, &entry, err);

	if (error == 0 &&
	    campaign_entry_add(&campaign->entries, &entry) == SIZE_MAX)
		error = tz_error(err, TZ_EIO, "out of memory");
	return error;
}

/*
 * Adds the subject that the user named, or all scenarios.  -TZ_ENOENT: no such
 * scenario; -TZ_EUSAGE: invalid steps; -TZ_EIO: no memory.
 */
static int
make_entries(struct campaign *campaign, struct tz_error *err)
{
	const struct manifest *manifest = build_cache_manifest(
	    campaign->build_cache);
	struct token token = { .cpus = 0 };
	int error = 0;

	if (campaign->options.subject != NULL) {
		error = token_parse_subject(
		    campaign->options.subject, &token, err);
		return error != 0 ? error : read_entry(campaign, &token, err);
	}
	for (size_t i = 0; error == 0 && i < manifest_scenario_count(manifest);
	     i++) {
		snprintf(token.name, sizeof(token.name), "%s",
		    manifest_scenario_at(manifest, i)->name);
		error = read_entry(campaign, &token, err);
	}
	if (error == 0 && campaign->entries.count == 0 &&
	    !campaign->options.sequences)
		error = tz_error(err, TZ_ENOENT, "%s: there is no scenario",
		    build_cache_config(campaign->build_cache)->driver);
	return error;
}

/*
 * Runs each entry in the default schedule and selects its schedules with one
 * deviation.
 */
static int
survey_entries(struct campaign *campaign, const struct effort_parts *parts,
    struct tz_error *err)
{
	uint64_t total = 0;
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < campaign->entries.count &&
	     !campaign_part_is_over(campaign);
	     i++) {
		struct campaign_area *area = campaign_area_add(
		    campaign, AREA_ONE, i);

		if (area == NULL)
			return tz_error(err, TZ_EUSAGE, "too many scenarios");
		error = campaign_area_survey(campaign, area, err);
		total += area->total;
	}
	for (uint32_t i = 0; total > parts->one && i < campaign->area_count;
	     i++)
		campaign->area[i].keep = TRIAL_KEEP_ALL / total * parts->one;
	if (error != 0 || parts->insns == UINT64_MAX ||
	    campaign_part_is_over(campaign))
		return error;
	error = placements_bound(
	    campaign, (uint32_t)campaign->area_count, parts->insns, err);
	for (uint32_t i = 0; i < campaign->area_count; i++)
		campaign->area[i].each_call = true;
	return error;
}

static int
explore_sequences(
    struct campaign *campaign, uint64_t budget, struct tz_error *err)
{
	struct campaign_area *area = campaign_area_add(
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
	if (error == 0 && !corpus_gave_up(campaign->corpus) &&
	    !campaign_part_is_over(campaign))
		campaign_part_end_all(campaign, campaign->area_count - 1);
	return error;
}

/* Runs the areas from number BEGIN on, which were just added. */
static int
run_new(struct campaign *campaign, uint32_t begin, const char *name,
    struct tz_error *err)
{
	const struct campaign_areas areas = { name, begin,
		(uint32_t)campaign->area_count, CAMPAIGN_AREA_ALL };

	return campaign_area_run(campaign, &areas, err);
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
	     !campaign_part_is_over(campaign) &&
	     (novel = corpus_novel(campaign->corpus, i)) != NULL;
	     i++) {
		size_t entry = campaign_entry_add(&campaign->entries, novel);
		struct campaign_area *area;

		if (entry == SIZE_MAX)
			return tz_error(err, TZ_EIO, "out of memory");
		area = campaign_area_add(campaign, AREA_ONE, (uint32_t)entry);
		if (area == NULL)
			break;
		error = campaign_area_survey(campaign, area, err);
		if (area->total > parts->novel_each)
			area->keep = TRIAL_KEEP_ALL / area->total *
			    parts->novel_each;
		spent += area->total > parts->novel_each ? parts->novel_each
							 : area->total;
	}
	return error != 0 ? error
			  : run_new(campaign, begin,
				"placements in sequences with new code", err);
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
		area = campaign_area_add(campaign, AREA_RANDOM, i);
		if (area == NULL)
			return tz_error(err, TZ_EUSAGE, "too many scenarios");
		area->changes = RANDOM_CHANGES;
		area->endless = campaign->area[i].endless;
		area->total = area->endless ? 0 : parts->random / entries;
		area->boundaries = campaign->area[i].boundaries;
	}
	return run_new(
	    campaign, begin, "placements of two, and random schedules", err);
}

/*
 * Runs entries and sequences in the default schedule, then one deviation in each entry.
 * If the exploration may end early, some of the latter run before the sequences.
 */
static int
explore_shallow(struct campaign *campaign, bool sequences,
    uint64_t sequence_part, struct tz_error *err)
{
	struct campaign_areas areas = { .name = "placements of one deviation",
		.end = (uint32_t)campaign->area_count };
	bool early = campaign->options.ends_at != NULL;
	int error = 0;

	if (early) {
		areas.which = CAMPAIGN_AREA_FIRST;
		error = campaign_area_run(campaign, &areas, err);
		areas.which = CAMPAIGN_AREA_REST;
	}
	if (error == 0 && sequences && !campaign_part_is_over(campaign))
		error = explore_sequences(campaign, sequence_part, err);
	return error != 0 ? error : campaign_area_run(campaign, &areas, err);
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
	uint32_t entries = (uint32_t)campaign->entries.count;
	const struct effort_parts parts = parts_of(campaign, sequences);
	int error = survey_entries(campaign, &parts, err);

	campaign->surveyed = (uint32_t)campaign->area_count;
	campaign->ahead = parts.sequences + parts.calls + parts.novel +
	    parts.pairs + parts.random;
	if (error == 0)
		error = explore_shallow(
		    campaign, sequences, parts.sequences, err);
	if (error == 0 && sequences)
		campaign->ahead = parts.novel + parts.pairs + parts.random;
	/* What is derived from sequences and life cycles would not end, either. */
	if (error == 0 && sequences && !corpus_gave_up(campaign->corpus))
		error = concurrent_explore(campaign, parts.calls, err);
	if (error == 0 && sequences && !corpus_gave_up(campaign->corpus))
		error = explore_novel(campaign, &parts, err);
	if (error == 0 && entries != 0 && !campaign_part_is_over(campaign))
		error = explore_deeper(campaign, entries, &parts, err);
	return error;
}

/* True if anything was run that can be reported. */
static bool
has_begun(const struct campaign *campaign)
{
	uint64_t done = campaign->stats->group_count + campaign->surveyed;

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
	campaign->parts.checkpoint = calloc(
	    1, sizeof(*campaign->parts.checkpoint));
	if (campaign->runner_pool == NULL || campaign->area == NULL ||
	    campaign->stats == NULL || campaign->parts.checkpoint == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = make_entries(campaign, err);
	build_cache_cut(build_cache, true);
	if (error == 0)
		error = options->faults ? faults_explore(campaign, err)
					: explore(campaign, err);
	build_cache_cut(build_cache, false);
	if (error == -TZ_ESTOP && has_begun(campaign)) {
		campaign_part_interrupt(campaign);
		error = 0;
	}
	if (error == 0)
		stats_sort(campaign->stats);
	return error;
}

void
campaign_close(struct campaign *campaign)
{
	corpus_destroy(campaign->corpus);
	runner_pool_destroy(campaign->runner_pool);
	free(campaign->area);
	checkpoint_free(campaign->parts.checkpoint);
	free(campaign->stats);
	free(campaign->entries.at);
	free(campaign->generated.at);
}
