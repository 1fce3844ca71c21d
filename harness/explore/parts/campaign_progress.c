#include "harness/explore/parts/campaign_progress.h"

/* The number of schedules of AREA in this shard, as far as known. */
static uint64_t
expected(const struct campaign *campaign, const struct campaign_area *area)
{
	uint64_t all = area->expected;

	if (area->endless)
		return 0;
	if (all == 0)
		all = (uint64_t)((double)area->total * (double)area->keep /
		    (double)TRIAL_KEEP_ALL);
	return all / campaign->options.shards;
}

bool
campaign_progress_ended(const struct campaign *campaign, size_t area)
{
	return campaign->area[area].endless ||
	    campaign->stats->area[area].ended == campaign->options.jobs;
}

void
campaign_progress_report(const struct campaign *campaign, const char *part,
    const struct stats *stats_list, unsigned jobs)
{
	const struct campaign_options *options = &campaign->options;
	uint64_t done = 0, left = campaign->ahead / options->shards;
	uint64_t groups = campaign->stats->group_count;

	if (options->progress == NULL)
		return;
	for (uint32_t i = 0; i < campaign->area_count; i++) {
		uint64_t have = campaign->stats->area[i].done;
		uint64_t want = expected(campaign, &campaign->area[i]);

		for (unsigned j = 0; j < jobs; j++)
			have += stats_list[j].area[i].done;
		done += have;
		if (have < want && !campaign_progress_ended(campaign, i))
			left += want - have;
	}
	/* Workers may have found the same groups: this is a lower bound. */
	for (unsigned j = 0; j < jobs; j++) {
		if (stats_list[j].group_count > groups)
			groups = stats_list[j].group_count;
	}
	options->progress(
	    options->progress_arg, part, done, done + left, groups);
}
