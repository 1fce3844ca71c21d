#include "harness/explore/parts/campaign_area.h"

#include "harness/explore/parts/campaign_entry.h"
#include "harness/explore/parts/campaign_part.h"
#include "harness/explore/runner/decode_check.h"

/*
 * If the exploration may end early, this fraction (of 2^32) of the schedules with
 * one deviation runs first.
 */
#define KEEP_FIRST (TRIAL_KEEP_ALL / 64)

struct campaign_area *
campaign_area_add(
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

/* Runs an area's entry in the default schedule, ready for placements. */
static int
open_area(struct campaign *campaign, const struct campaign_area *area,
    struct trial *place, struct tz_error *err)
{
	const struct campaign_entry *entry = &campaign->entries.at[area->entry];
	/* An entry that the user or the manifest names is expected to run the
	 * driver. */
	const struct trial_options options = { .decode = area->decodes,
		.must_run = entry->name[0] != '\0' ||
		    campaign->options.subject != NULL,
		.kinds = area->kinds,
		.kinds2 = area->kinds,
		.merge = campaign->options.merge,
		.reduce = campaign->options.reduce };

	return campaign_entry_open(campaign, entry, options, place, err);
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
	if (campaign_part_is_own(campaign, number))
		campaign->stats->area[number].decoded += !base.untraced;
	stats_add(campaign->stats, rank, &none, &base, &place->base);
	campaign->stats->area[number].base_fails |= !area->decodes;
}

static int
report_reached(struct campaign *campaign, const struct campaign_entry *entry,
    struct tz_error *err)
{
	struct runner *runner;
	struct reach reach;
	int error = campaign_entry_runner(campaign, entry, &runner, err);

	if (error == 0)
		error = reach_run(runner, &entry->sequence,
		    campaign->options.insns_max, &reach, err);
	if (error == 0)
		campaign->options.reached(
		    campaign->options.reached_arg, runner, entry, &reach);
	return error;
}

int
campaign_area_survey(
    struct campaign *campaign, struct campaign_area *area, struct tz_error *err)
{
	uint32_t number = (uint32_t)(area - campaign->area);
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
	    : report_reached(campaign, &campaign->entries.at[area->entry], err);
}

/* Areas that are run in one part. */
struct share {
	struct campaign *campaign;
	struct campaign_areas areas;
};

/* A worker's share of some areas. */
static void
work(void *arg, unsigned worker, const volatile bool *stop, struct stats *stats)
{
	const struct share *all = arg;
	const struct campaign_areas *areas = &all->areas;
	struct campaign *campaign = all->campaign;
	struct trial_share share = {
		.seed = campaign->options.seed,
		.stop = stop,
	};
	struct tz_error err;

	campaign_part_share(campaign, worker, &share.worker, &share.workers);
	for (uint32_t i = areas->begin; i < areas->end && !*stop; i++) {
		const struct campaign_area *area = &campaign->area[i];
		struct trial place;

		if (area->kind == AREA_FAULT || area->kind == AREA_SEQUENCES)
			continue;
		if (area->endless ||
		    open_area(campaign, area, &place, &err) != 0)
			continue;
		share.each_max = area->each_max;
		share.calls = !area->each_call           ? TRIAL_CALLS_DRAWN
		    : areas->which == CAMPAIGN_AREA_REST ? TRIAL_CALLS_NONE
							 : TRIAL_CALLS_ALL;
		share.from = areas->which == CAMPAIGN_AREA_REST ? KEEP_FIRST
								: 0;
		share.keep = areas->which == CAMPAIGN_AREA_FIRST &&
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
		if (!*stop && areas->which != CAMPAIGN_AREA_FIRST)
			campaign_part_end(campaign, i, worker, stats);
	}
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

static uint64_t
count_schedules(
    const struct campaign *campaign, const struct campaign_areas *areas)
{
	uint64_t count = 0;

	for (uint32_t i = areas->begin; i < areas->end; i++)
		count += campaign_part_expects(campaign, i);
	return count;
}

int
campaign_area_run(struct campaign *campaign, const struct campaign_areas *areas,
    struct tz_error *err)
{
	uint32_t step = part_areas(campaign, areas->end - areas->begin);
	int error = 0;

	for (uint32_t i = areas->begin;
	     error == 0 && i < areas->end && !campaign_part_is_over(campaign);
	     i += step) {
		struct share share = { campaign, *areas };

		share.areas.begin = i;
		if (areas->end - i > step)
			share.areas.end = i + step;
		error = campaign_part_run(campaign, areas->name,
		    count_schedules(campaign, &share.areas), work, &share, err);
	}
	return error;
}

int
campaign_area_try(struct campaign *campaign, uint32_t begin, uint32_t end,
    struct stats *stats, struct tz_error *err)
{
	const struct campaign_areas areas = { .begin = begin, .end = end };
	struct campaign apart = *campaign;
	int error;

	apart.stats = stats;
	apart.options.shard = apart.options.shards = 1;
	apart.options.progress = NULL;
	apart.options.ends_at = NULL;
	apart.options.resume = NULL;
	apart.parts.checkpoint = NULL;
	error = campaign_area_run(&apart, &areas, err);
	if (apart.parts.interrupted)
		campaign_part_interrupt(campaign);
	return error;
}
