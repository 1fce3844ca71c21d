/*
 * From what a campaign found to findings that a human reads: the fewest operations
 * and deviations, where it fails and where not, the whole timeline of one run.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_DESCRIBE_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_DESCRIBE_H

#include "harness/explore/describe/identity.h"
#include "harness/explore/search/campaign.h"
#include "harness/finding/finding.h"

/*
 * The outcomes at the boundaries of a finding's window, which describe_finding()
 * finds and describe_timeline() tells: kept from one to the other where the caller
 * has memory for it.  A longer window is judged twice.
 */
#define DESCRIBE_KEPT_MAX (128 * 1024)
struct describe_kept {
	uint32_t count;                     /* 0: not known */
	uint8_t outcome[DESCRIBE_KEPT_MAX]; /* enum tick_outcome */
};

/*
 * Makes FINDING of GROUP, whose IDENTITY is known; KEPT: all 0, or NULL.  Once
 * CAMPAIGN's .hurry is true nothing is made smaller and no window looked for.
 * -TZ_EFORMAT: it does not show again (a bug of topaz); others as of runner_open().
 */
int describe_finding(struct campaign *campaign, const struct stats_group *group,
    const struct identity *identity, struct finding *finding,
    struct describe_kept *kept, struct tz_error *err);
/* Makes SYMPTOM of GROUP, whose IDENTITY is known. */
void describe_symptom(struct campaign *campaign,
    const struct stats_group *group, const struct identity *identity,
    struct finding_symptom *symptom);

/* The run of FINDING: its events alone. */
int describe_events(struct campaign *campaign, const struct finding *finding,
    struct finding_timeline *timeline, struct tz_error *err);

/*
 * The run of FINDING, at full length, for its page; KEPT or NULL.  No window's
 * outcomes are in it that .hurry kept from being looked for.
 */
int describe_timeline(struct campaign *campaign, const struct finding *finding,
    struct describe_kept *kept, struct finding_timeline *timeline,
    struct tz_error *err);

/* The outcomes at all boundaries, of the finding's last deviation; KEPT or NULL. */
int describe_ticks(struct campaign *campaign, const struct finding *finding,
    struct describe_kept *kept, struct finding_timeline *timeline,
    struct tz_error *err);

/* The lines about what was covered. */
void describe_coverage(
    const struct campaign *campaign, struct finding_summary *summary);

/* Where VA is, in words. */
void describe_place(
    struct runner *runner, uint64_t va, struct finding_place *place);

/* What one token shows when it runs. */
struct replayed {
	struct outcome outcome;
	bool compared; /* its trace was decoded and compared */
	uint64_t state_hash, events;
	struct machine_result result;
	/* Of the first violation, as in its finding, or of the end. */
	struct finding_place where;
};

/* Runs TOKEN on a runner of SETUPS.  Its check is the caller's business. */
int describe_replay(struct runner_pool *runner_pool,
    const struct manifest *manifest, const struct token *token,
    const struct runner_observer *observer, enum machine_stepping stepping,
    struct replayed *replayed, struct runner **runner, struct tz_error *err);

#endif
