/*
 * Generated sequences of operations, run in the default schedule, in rounds: what reaches
 * code of the driver that none before it reached, or makes the operations return
 * what none made them, is kept and changed further.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_CORPUS_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_CORPUS_H

#include "harness/explore/search/campaign.h"

struct corpus;

/*
 * Runs sequences until BUDGET runs are done, their violations into AREA of the
 * campaign's statistics.  Errors as of runner_open() and workers_run().
 */
int corpus_run(struct campaign *campaign, uint32_t area, uint64_t budget,
    struct corpus **corpus, struct tz_error *err);
void corpus_destroy(struct corpus *corpus);

/* What ran as number FIRST of a rank. */
const struct campaign_entry *corpus_entry(
    const struct corpus *corpus, uint32_t first);

/* Those that reached something new, in order; NULL past the last. */
const struct campaign_entry *corpus_novel(
    const struct corpus *corpus, size_t index);

struct corpus_counts {
	uint64_t runs;           /* sequences run, on all set-ups */
	uint64_t exhaustive;     /* short sequences that were among them ... */
	uint64_t exhaustive_all; /* ... of so many that there are */
	uint64_t code_reached;   /* instructions of the driver */
};
void corpus_counts(const struct corpus *corpus, struct corpus_counts *counts);

#endif
