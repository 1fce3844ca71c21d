#include "harness/explore/visited.h"

#include <stdlib.h>
#include <string.h>

struct state {
	uint64_t hash;
	uint32_t run; /* 0: the place is free; else number of a run */
};

#define ROOM_FIRST 1024

/* It begins small: each page of it that is new costs RAM's owner a look at its own. */
struct visited {
	size_t room, states, states_max; /* room: a power of two */
	size_t states_ended;             /* of runs that have ended */
	struct state *state;
	uint32_t *run; /* [number - 1] of those that have ended: its .outcome */
	uint32_t ended, run_room;
	struct outcome *outcome;
	uint32_t outcomes, outcome_room;
};

struct visited *
visited_create(size_t states_max)
{
	struct visited *visited = calloc(1, sizeof(*visited));

	if (visited == NULL)
		return NULL;
	visited->states_max = states_max;
	visited->room = ROOM_FIRST;
	visited->state = calloc(visited->room, sizeof(*visited->state));
	if (visited->state == NULL) {
		free(visited);
		return NULL;
	}
	return visited;
}

void
visited_destroy(struct visited *visited)
{
	if (visited == NULL)
		return;
	free(visited->state);
	free(visited->run);
	free(visited->outcome);
	free(visited);
}

/* The state of that HASH, or the free place where it belongs. */
static struct state *
find_state(const struct visited *visited, uint64_t hash)
{
	size_t at = hash & (visited->room - 1);

	while (visited->state[at].run != 0 && visited->state[at].hash != hash)
		at = (at + 1) & (visited->room - 1);
	return &visited->state[at];
}

/* At most half of the places are taken; false: no room for one more state. */
static bool
make_room(struct visited *visited)
{
	struct visited old = *visited;

	if (visited->states == visited->states_max)
		return false;
	if (2 * (visited->states + 1) <= visited->room)
		return true;
	visited->room *= 2;
	visited->state = calloc(visited->room, sizeof(*visited->state));
	if (visited->state == NULL) {
		*visited = old;
		return false;
	}
	for (size_t i = 0; i < old.room; i++) {
		if (old.state[i].run != 0)
			*find_state(visited, old.state[i].hash) = old.state[i];
	}
	free(old.state);
	return true;
}

/* False: nothing more is remembered. */
static bool
add_state(struct visited *visited, uint64_t hash, uint32_t run)
{
	if (!make_room(visited))
		return false;
	*find_state(visited, hash) = (struct state){ hash, run };
	visited->states++;
	return true;
}

const struct outcome *
visited_meet(struct visited *visited, uint64_t hash)
{
	const struct state *state = find_state(visited, hash);

	if (state->run == 0)
		(void)add_state(visited, hash, visited->ended + 1);
	else if (state->run <= visited->ended)
		return &visited->outcome[visited->run[state->run - 1]];
	return NULL;
}

void
visited_know(struct visited *visited, uint64_t hash)
{
	TZ_ASSERT(visited->states == visited->states_ended);
	if (visited->ended != 0 && find_state(visited, hash)->run == 0 &&
	    add_state(visited, hash, 1))
		visited->states_ended++;
}

/* Of those with no violation: they are most, and alike. */
static bool
is_same(const struct outcome *a, const struct outcome *b)
{
	return a->count == 0 && b->count == 0 && a->end == b->end &&
	    a->how == b->how && a->failed == b->failed &&
	    a->faulty == b->faulty && a->results == b->results &&
	    a->reports == b->reports;
}

/* Finds a place for OUTCOME; false: memory. */
static bool
keep_outcome(
    struct visited *visited, const struct outcome *outcome, uint32_t *at)
{
	for (*at = 0; *at < visited->outcomes && *at < 4; ++*at) {
		if (is_same(&visited->outcome[*at], outcome))
			return true;
	}
	if (visited->outcomes == visited->outcome_room) {
		uint32_t room = 2 * visited->outcome_room + 16;
		struct outcome *more = realloc(
		    visited->outcome, room * sizeof(*more));

		if (more == NULL)
			return false;
		visited->outcome = more;
		visited->outcome_room = room;
	}
	*at = visited->outcomes++;
	visited->outcome[*at] = *outcome;
	return true;
}

bool
visited_end(struct visited *visited, const struct outcome *outcome)
{
	/* A run that was in no new state will never be asked for. */
	if (visited->states == visited->states_ended)
		return true;
	if (visited->ended == visited->run_room) {
		uint32_t room = 2 * visited->run_room + 256;
		uint32_t *run = realloc(visited->run, room * sizeof(*run));

		if (run == NULL)
			return false;
		visited->run = run;
		visited->run_room = room;
	}
	if (!keep_outcome(visited, outcome, &visited->run[visited->ended]))
		return false;
	visited->ended++;
	visited->states_ended = visited->states;
	return true;
}
