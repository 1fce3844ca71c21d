#include "harness/explore/describe/replay.h"

#include "harness/explore/describe/place.h"
#include "harness/explore/runner/runner_pool.h"
#include "harness/explore/search/campaign.h"

/*
 * Finds where the driver was at the first violation, or, without one, where the run
 * ended.
 */
static void
find_where(struct runner *runner, struct replayed *replayed)
{
	const struct check_violation *first =
	    &replayed->outcome.violation[0].violation;
	uint64_t rip = replayed->result.rip;

	if (replayed->outcome.count != 0 && first->blame.rip != 0)
		rip = first->blame.rip;
	if (replayed->outcome.count != 0 && first->site.rip != 0)
		rip = first->site.rip;
	place_find_own(runner, rip, &replayed->where);
}

int
replay_token(struct runner_pool *runner_pool, const struct manifest *manifest,
    const struct token *token, const struct runner_observer *observer,
    enum machine_stepping stepping, struct replayed *replayed,
    struct runner **runner, struct tz_error *err)
{
	struct campaign_entry entry;
	struct trial_options options = { .merge = false };
	struct runner_counts counts;
	struct trial place;
	int error = campaign_entry_read(manifest, token, &entry, err);

	if (error == 0)
		error = runner_pool_get(runner_pool, entry.cpus, entry.layout,
		    entry.settings, runner, err);
	if (error == 0)
		error = trial_open(
		    &place, *runner, &entry.sequence, &options, err);
	if (error != 0)
		return error;
	runner_explain(*runner, true);
	replayed->compared = trial_run_decoded(
	    &place, &token->schedule, observer, stepping, &replayed->outcome);
	runner_explain(*runner, false);
	replayed->result = *runner_result(*runner);
	replayed->state_hash = runner_hash(*runner);
	runner_counts(*runner, &counts);
	replayed->events = counts.events;
	find_where(*runner, replayed);
	trial_close(&place);
	return 0;
}
