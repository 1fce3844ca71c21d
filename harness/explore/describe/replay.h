/*
 * One run of a token.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_REPLAY_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_REPLAY_H

#include "harness/explore/runner/outcome.h"
#include "harness/finding/finding.h"

struct runner_pool;

/* The result of running one token. */
struct replayed {
	struct outcome outcome;
	/* the trace was decoded and compared with the execution log */
	bool compared;
	uint64_t state_hash, events;
	struct machine_result result;
	/* Place of the first violation, as in its finding, or of the run's end. */
	struct finding_place where;
};

/*
 * Runs TOKEN on a runner of RUNNER_POOL, with OBSERVER (or NULL) attached.  The caller
 * compares its CHECK field.  Errors as of campaign_entry_read(), runner_pool_get() and
 * trial_open().
 */
int replay_token(struct runner_pool *runner_pool,
    const struct manifest *manifest, const struct token *token,
    const struct runner_observer *observer, enum machine_stepping stepping,
    struct replayed *replayed, struct runner **runner, struct tz_error *err);

#endif
