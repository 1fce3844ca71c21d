/*
 * Generated sequences of operations, run in the default schedule, in rounds.  A
 * sequence that reaches driver code that no earlier one reached, or makes the
 * operations return new results, is kept and mutated.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_CORPUS_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_CORPUS_H

#include "harness/explore/parts/campaign_state.h"

struct corpus;

/*
 * Runs sequences until BUDGET runs are done, and counts their violations in AREA of the
 * campaign's statistics; the runs are added to its .generated.  Errors as of
 * runner_open() and workers_run().
 */
int corpus_run(struct campaign *campaign, uint32_t area, uint64_t budget,
    struct corpus **corpus, struct tz_error *err);
void corpus_destroy(struct corpus *corpus);

/*
 * True if the rest was given up, because too many sequences reached their limit.
 * CORPUS or NULL.
 */
bool corpus_gave_up(const struct corpus *corpus);

/* The sequences that reached something new, in order; NULL after the last. */
const struct campaign_entry *corpus_novel(
    const struct corpus *corpus, size_t index);

struct corpus_counts {
	uint64_t runs;           /* sequences run, on all set-ups */
	uint64_t exhaustive;     /* short sequences among them ... */
	uint64_t exhaustive_all; /* ... and all short sequences that exist */
	/* instructions of the driver that were executed */
	uint64_t code_reached;
};
void corpus_counts(const struct corpus *corpus, struct corpus_counts *counts);

#endif
