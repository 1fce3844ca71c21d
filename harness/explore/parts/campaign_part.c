#include "harness/explore/parts/campaign_part.h"

#include "harness/explore/parts/campaign_progress.h"

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

static void
report_progress(void *arg, const struct stats *stats_list, unsigned jobs)
{
	const struct part *part = arg;

	campaign_progress_report(part->campaign, part->name, stats_list, jobs);
}

int
campaign_part_run(struct campaign *campaign, const char *name,
    workers_work work, void *arg, struct tz_error *err)
{
	const struct campaign_options *options = &campaign->options;
	struct campaign_parts *parts = &campaign->parts;
	struct part part = { campaign, name, work, arg };
	int error = 0;

	report_progress(&part, NULL, 0);
	parts->count++;
	if (!campaign_part_is_resuming(campaign))
		error = workers_run(options->jobs, do_work, report_progress,
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
