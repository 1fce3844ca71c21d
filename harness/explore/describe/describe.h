/*
 * Makes findings that a human reads from the groups of a campaign: minimises operations
 * and deviations, determines where the run fails and where it passes, and records the
 * complete timeline of one run.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_DESCRIBE_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_DESCRIBE_H

#include "harness/explore/describe/identity.h"
#include "harness/explore/search/campaign.h"
#include "harness/finding/finding.h"

/*
 * The outcomes at the boundaries of a finding's window.  describe_finding() determines
 * them; describe_timeline() reuses them if the caller has memory for them.  A window
 * that is longer is run again.
 */
#define DESCRIBE_KEPT_MAX (128 * 1024)
struct describe_kept {
	uint32_t count;                     /* 0: not known */
	uint8_t outcome[DESCRIBE_KEPT_MAX]; /* enum tick_outcome */
};

/*
 * Makes FINDING of GROUP, whose IDENTITY is known; KEPT: all 0, or NULL.  While
 * CAMPAIGN's .hurry is true, nothing is minimised and no window is determined.
 * -TZ_EFORMAT: the violation does not occur again (a bug of topaz); others as of
 * runner_open().
 */
int describe_finding(struct campaign *campaign, const struct stats_group *group,
    const struct identity *identity, struct finding *finding,
    struct describe_kept *kept, struct tz_error *err);
/* Makes SYMPTOM of GROUP, whose IDENTITY is known. */
void describe_symptom(struct campaign *campaign,
    const struct stats_group *group, const struct identity *identity,
    struct finding_symptom *symptom);

/* Records only the events of the run of FINDING. */
int describe_events(struct campaign *campaign, const struct finding *finding,
    struct finding_timeline *timeline, struct tz_error *err);

/*
 * Records the complete run of FINDING for its page; KEPT or NULL.  If .hurry prevented
 * the search for a window, its outcomes are missing.
 */
int describe_timeline(struct campaign *campaign, const struct finding *finding,
    struct describe_kept *kept, struct finding_timeline *timeline,
    struct tz_error *err);

/* The outcomes of the finding's last deviation at all boundaries; KEPT or NULL. */
int describe_ticks(struct campaign *campaign, const struct finding *finding,
    struct describe_kept *kept, struct finding_timeline *timeline,
    struct tz_error *err);

/* Fills in the coverage rows of SUMMARY. */
void describe_coverage(
    const struct campaign *campaign, struct finding_summary *summary);

/* Describes the code location VA. */
void describe_place(
    struct runner *runner, uint64_t va, struct finding_place *place);

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

/* Runs TOKEN on a runner of RUNNER_POOL.  The caller compares its CHECK field. */
int describe_replay(struct runner_pool *runner_pool,
    const struct manifest *manifest, const struct token *token,
    const struct runner_observer *observer, enum machine_stepping stepping,
    struct replayed *replayed, struct runner **runner, struct tz_error *err);

#endif
