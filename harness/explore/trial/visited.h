/*
 * States that earlier runs have been in, by hash, and the outcomes of those runs: a run
 * that reaches one of them can end there.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_TRIAL_VISITED_H
#define TOPAZ_HARNESS_EXPLORE_TRIAL_VISITED_H

#include "harness/explore/runner/outcome.h"

struct visited;

/* At most STATES_MAX states; further ones are not recorded.  NULL: no memory. */
struct visited *visited_create(size_t states_max);
void visited_destroy(struct visited *visited);

/*
 * The outcome of the run that was in a state with HASH; NULL: there is none, or it has
 * not ended.  If NULL, the state is recorded for the current run.
 */
const struct outcome *visited_meet(struct visited *visited, uint64_t hash);

/* Records the state with HASH for the first run that ended. */
void visited_know(struct visited *visited, uint64_t hash);

/*
 * Makes all current entries permanent; visited_forget() then drops only later ones.  To
 * be called once, between runs.  False: no memory.
 */
bool visited_keep(struct visited *visited);
void visited_forget(struct visited *visited);

/* The current run has ended with OUTCOME; the next one begins.  False: no memory. */
bool visited_end(struct visited *visited, const struct outcome *outcome);

#endif
