#include "harness/explore/trial/visited.h"

#include <stdlib.h>
#include <string.h>

#include "harness/explore/runner/array.h"

struct state {
	uint64_t hash;
	uint32_t run; /* 0: the slot is free; else number of a run */
};

#define ROOM_FIRST 1024

/* Begins small: each newly touched page costs a page fault. */
struct table {
	size_t room, states; /* room: a power of two */
	struct state *state;
};

struct visited {
	struct table kept; /* by visited_keep(); .room 0: nothing kept */
	struct table table;
	size_t states_max;
	size_t states_ended; /* of .table, by runs that have ended */
	/* [number - 1] of runs that have ended: index of the outcome */
	uint32_t *run;
	uint32_t ended;
	size_t run_room;
	struct outcome *outcome;
	uint32_t outcomes;
	size_t outcome_room;
	uint32_t kept_ended, kept_outcomes;
};

static bool
table_create(struct table *table)
{
	*table = (struct table){ .room = ROOM_FIRST,
		.state = calloc(ROOM_FIRST, sizeof(*table->state)) };
	return table->state != NULL;
}

struct visited *
visited_create(size_t states_max)
{
	struct visited *visited = calloc(1, sizeof(*visited));

	if (visited == NULL)
		return NULL;
	visited->states_max = states_max;
	if (!table_create(&visited->table)) {
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
	free(visited->kept.state);
	free(visited->table.state);
	free(visited->run);
	free(visited->outcome);
	free(visited);
}

/* The slot of the state with HASH, or the free slot where it belongs. */
static struct state *
table_find(const struct table *table, uint64_t hash)
{
	size_t at = hash & (table->room - 1);

	while (table->state[at].run != 0 && table->state[at].hash != hash)
		at = (at + 1) & (table->room - 1);
	return &table->state[at];
}

/* The state with HASH, kept or not; or NULL. */
static const struct state *
find_state(const struct visited *visited, uint64_t hash)
{
	const struct state *state;

	if (visited->kept.room != 0) {
		state = table_find(&visited->kept, hash);
		if (state->run != 0)
			return state;
	}
	state = table_find(&visited->table, hash);
	return state->run != 0 ? state : NULL;
}

/*
 * Grows the table so that at most half of it is used; false: no room for one more
 * state.
 */
static bool
make_room(struct visited *visited)
{
	struct table *table = &visited->table;
	struct table old = *table;

	if (old.states + visited->kept.states >= visited->states_max)
		return false;
	if (2 * (old.states + 1) <= old.room)
		return true;
	table->room *= 2;
	table->state = calloc(table->room, sizeof(*table->state));
	if (table->state == NULL) {
		*table = old;
		return false;
	}
	for (size_t i = 0; i < old.room; i++) {
		if (old.state[i].run != 0)
			*table_find(table, old.state[i].hash) = old.state[i];
	}
	free(old.state);
	return true;
}

/* False: no further states are recorded. */
static bool
add_state(struct visited *visited, uint64_t hash, uint32_t run)
{
	if (!make_room(visited))
		return false;
	*table_find(&visited->table, hash) = (struct state){ hash, run };
	visited->table.states++;
	return true;
}

bool
visited_keep(struct visited *visited)
{
	struct table fresh;

	TZ_ASSERT(visited->kept.room == 0);
	TZ_ASSERT(visited->table.states == visited->states_ended);
	if (!table_create(&fresh))
		return false;
	visited->kept = visited->table;
	visited->table = fresh;
	visited->states_ended = 0;
	visited->kept_ended = visited->ended;
	visited->kept_outcomes = visited->outcomes;
	return true;
}

void
visited_forget(struct visited *visited)
{
	struct table *table = &visited->table;

	if (visited->kept.room == 0)
		return;
	memset(table->state, 0, table->room * sizeof(*table->state));
	table->states = visited->states_ended = 0;
	visited->ended = visited->kept_ended;
	visited->outcomes = visited->kept_outcomes;
}

const struct outcome *
visited_meet(struct visited *visited, uint64_t hash)
{
	const struct state *state = find_state(visited, hash);

	if (state == NULL)
		(void)add_state(visited, hash, visited->ended + 1);
	else if (state->run <= visited->ended)
		return &visited->outcome[visited->run[state->run - 1]];
	return NULL;
}

void
visited_know(struct visited *visited, uint64_t hash)
{
	TZ_ASSERT(visited->table.states == visited->states_ended);
	if (visited->ended != 0 && find_state(visited, hash) == NULL &&
	    add_state(visited, hash, 1))
		visited->states_ended++;
}

/* Compares outcomes without violations: they are most, and often equal. */
static bool
is_same(const struct outcome *a, const struct outcome *b)
{
	return a->count == 0 && b->count == 0 && a->end == b->end &&
	    a->how == b->how && a->failed == b->failed &&
	    a->faulty == b->faulty && a->results == b->results &&
	    a->reports == b->reports &&
	    memcmp(a->unjudged, b->unjudged, sizeof(a->unjudged)) == 0;
}

/* Finds or adds an entry for OUTCOME; false: no memory. */
static bool
keep_outcome(
    struct visited *visited, const struct outcome *outcome, uint32_t *at)
{
	struct outcome *more;

	for (*at = 0; *at < visited->outcomes && *at < 4; ++*at) {
		if (is_same(&visited->outcome[*at], outcome))
			return true;
	}
	more = array_grow(visited->outcome, visited->outcomes,
	    &visited->outcome_room, sizeof(*more));
	if (more == NULL)
		return false;
	visited->outcome = more;
	*at = visited->outcomes++;
	visited->outcome[*at] = *outcome;
	return true;
}

bool
visited_end(struct visited *visited, const struct outcome *outcome)
{
	uint32_t *run;

	/* A run that recorded no new state will never be looked up. */
	if (visited->table.states == visited->states_ended)
		return true;
	run = array_grow(
	    visited->run, visited->ended, &visited->run_room, sizeof(*run));
	if (run == NULL)
		return false;
	visited->run = run;
	if (!keep_outcome(visited, outcome, &visited->run[visited->ended]))
		return false;
	visited->ended++;
	visited->states_ended = visited->table.states;
	return true;
}
