#include "harness/explore/visited.h"

#include <stdlib.h>
#include <string.h>

struct state {
	uint64_t hash;
	uint32_t run; /* 0: the place is free; else number of a run */
};

struct visited {
	size_t room, states, states_max; /* room: a power of two */
	size_t states_ended;             /* of runs that have ended */
	struct state *state;
	struct outcome *run; /* [number - 1] of those that have ended */
	uint32_t ended, run_room;
};

struct visited *
visited_create(size_t states_max)
{
	struct visited *visited = calloc(1, sizeof(*visited));

	if (visited == NULL)
		return NULL;
	visited->states_max = states_max;
	visited->room = 64;
	while (visited->room < 2 * states_max)
		visited->room *= 2;
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
	free(visited);
}

void
visited_clear(struct visited *visited)
{
	memset(visited->state, 0, visited->room * sizeof(*visited->state));
	visited->states = visited->states_ended = 0;
	visited->ended = 0;
}

const struct outcome *
visited_meet(struct visited *visited, uint64_t hash)
{
	size_t at = hash & (visited->room - 1);

	for (; visited->state[at].run != 0;
	     at = (at + 1) & (visited->room - 1)) {
		uint32_t run = visited->state[at].run;

		if (visited->state[at].hash == hash)
			return run <= visited->ended ? &visited->run[run - 1]
						     : NULL;
	}
	if (visited->states == visited->states_max)
		return NULL;
	visited->states++;
	visited->state[at] = (struct state){ hash, visited->ended + 1 };
	return NULL;
}

bool
visited_end(struct visited *visited, const struct outcome *outcome)
{
	/* A run that was in no new state will never be asked for. */
	if (visited->states == visited->states_ended)
		return true;
	if (visited->ended == visited->run_room) {
		uint32_t room = visited->run_room == 0 ? 256
						       : 2 * visited->run_room;
		struct outcome *run = realloc(
		    visited->run, room * sizeof(*run));

		if (run == NULL)
			return false;
		visited->run = run;
		visited->run_room = room;
	}
	visited->run[visited->ended++] = *outcome;
	visited->states_ended = visited->states;
	return true;
}
