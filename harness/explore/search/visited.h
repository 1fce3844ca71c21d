/*
 * States that runs have been in, by hash, and what became of them: a run that
 * comes to one of them needs not go on.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_VISITED_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_VISITED_H

#include "harness/explore/runner/outcome.h"

struct visited;

/* At most STATES_MAX states: beyond, nothing more is remembered.  NULL: memory. */
struct visited *visited_create(size_t states_max);
void visited_destroy(struct visited *visited);

/*
 * The outcome of the run that was in a state of that HASH; NULL: none was, or it
 * has not ended.  Otherwise the current run has now been there.
 */
const struct outcome *visited_meet(struct visited *visited, uint64_t hash);

/* As if the first run that ended had been in a state of that HASH, too. */
void visited_know(struct visited *visited, uint64_t hash);

/*
 * All that is known now is kept; visited_forget() drops what was added since.  To be
 * called once, when no run is going on.  False: memory.
 */
bool visited_keep(struct visited *visited);
void visited_forget(struct visited *visited);

/* The current run has ended with OUTCOME; another one begins.  False: memory. */
bool visited_end(struct visited *visited, const struct outcome *outcome);

#endif
