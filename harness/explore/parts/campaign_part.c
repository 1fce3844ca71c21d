#include "harness/explore/parts/campaign_part.h"

#define WORKER_SCHEDULES 250

bool
campaign_part_is_over(struct campaign *campaign)
{
	const struct campaign_options *options = &campaign->options;
	uint32_t from = campaign->parts.asked;

	if (options->ends_at != NULL && !campaign->parts.ended_early &&
	    from != campaign->stats->group_count) {
		campaign->parts.asked = campaign->stats->group_count;
		campaign->parts.ended_early = options->ends_at(
		    options->ends_arg, campaign, from);
	}
	return campaign->parts.interrupted || campaign->parts.ended_early;
}

bool
campaign_part_is_resuming(const struct campaign *campaign)
{
	const struct checkpoint *resume = campaign->options.resume;

	return resume != NULL && campaign->parts.count <= resume->parts;
}

bool
campaign_part_ended(const struct campaign *campaign, size_t area)
{
	return campaign->area[area].endless ||
	    campaign->stats->area[area].ended == POOL_JOBS_MAX;
}

void
campaign_part_end(const struct campaign *campaign, size_t area, unsigned worker,
    struct stats *stats)
{
	stats->area[area].ended += worker == 0
	    ? POOL_JOBS_MAX + 1 - campaign->parts.workers
	    : 1;
}

void
campaign_part_end_all(const struct campaign *campaign, size_t area)
{
	campaign->stats->area[area].ended = POOL_JOBS_MAX;
}

void
campaign_part_share(const struct campaign *campaign, unsigned worker,
    unsigned *share, unsigned *shares)
{
	const struct campaign_options *options = &campaign->options;

	*share = worker * options->shards + options->shard - 1;
	*shares = campaign->parts.workers * options->shards;
}

uint64_t
campaign_part_expects(const struct campaign *campaign, size_t number)
{
	const struct campaign_area *area = &campaign->area[number];
	uint64_t all = area->expected;

	if (area->endless)
		return 0;
	if (all == 0)
		all = (uint64_t)((double)area->total * (double)area->keep /
		    (double)TRIAL_KEEP_ALL);
	return all / campaign->options.shards;
}

struct part {
	const struct campaign *campaign;
	const char *name;
	workers_work work;
	void *arg;
};

static void
do_work(
    void *arg, unsigned worker, const volatile bool *stop, struct stats *stats)
{
	const struct part *part = arg;

	part->work(part->arg, worker, stop, stats);
}

/* The statistics of the workers, STATS_LIST, are not joined yet. */
static void
report_progress(void *arg, const struct stats *stats_list, unsigned jobs)
{
	const struct part *part = arg;
	const struct campaign *campaign = part->campaign;
	const struct campaign_options *options = &campaign->options;
	uint64_t done = 0, left = campaign->ahead / options->shards;
	uint64_t groups = campaign->stats->group_count;

	if (options->progress == NULL)
		return;
	for (uint32_t i = 0; i < campaign->area_count; i++) {
		uint64_t have = campaign->stats->area[i].done;
		uint64_t want = campaign_part_expects(campaign, i);

		for (unsigned j = 0; j < jobs; j++)
			have += stats_list[j].area[i].done;
		done += have;
		if (have < want && !campaign_part_ended(campaign, i))
			left += want - have;
	}
	/* Workers may have found the same groups: this is a lower bound. */
	for (unsigned j = 0; j < jobs; j++) {
		if (stats_list[j].group_count > groups)
			groups = stats_list[j].group_count;
	}
	options->progress(
	    options->progress_arg, part->name, done, done + left, groups);
}

/*
 * How many workers SCHEDULES are worth: to fork one and to open the set-ups in it takes as
 * long as some hundred schedules.
 */
static unsigned
workers_for(const struct campaign *campaign, uint64_t schedules)
{
	uint64_t workers = schedules / WORKER_SCHEDULES;

	if (workers < 1)
		return 1;
	return workers < campaign->options.jobs ? (unsigned)workers
						: campaign->options.jobs;
}

int
campaign_part_run(struct campaign *campaign, const char *name,
    uint64_t schedules, workers_work work, void *arg, struct tz_error *err)
{
	const struct campaign_options *options = &campaign->options;
	struct campaign_parts *parts = &campaign->parts;
	struct part part = { campaign, name, work, arg };
	int error = 0;

	report_progress(&part, NULL, 0);
	parts->count++;
	parts->workers = workers_for(campaign, schedules);
	if (!campaign_part_is_resuming(campaign))
		error = workers_run(parts->workers, do_work, report_progress,
		    &part, campaign->stats, &parts->interrupted, err);
	else if (parts->count == options->resume->parts)
		*campaign->stats = options->resume->stats;
	if (error == 0 && !parts->interrupted && parts->checkpoint != NULL) {
		parts->checkpoint->parts = parts->count;
		parts->checkpoint->stats = *campaign->stats;
	}
	return error;
}

void
campaign_part_interrupt(struct campaign *campaign)
{
	campaign->parts.interrupted = true;
}

bool
campaign_part_is_own(const struct campaign *campaign, uint64_t index)
{
	return index % campaign->options.shards == campaign->options.shard - 1;
}
