/*
 * Maps addresses to places in the driver's sources that are the same in every build.
 */
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "harness/explore/runner/runner_internal.h"
#include "harness/load/build.h"

bool
runner_place(struct runner *runner, uint64_t rip, struct symbol_place *place)
{
	return symbols_find_own(runner->symbols, rip, BUILD_OWN_PREFIX, place);
}

/* Hashes a function's name without ".part.0", ".constprop.1" and the like. */
static uint64_t
hash_name(const char *name, uint64_t seed)
{
	return name == NULL
	    ? seed
	    : XXH3_64bits_withSeed(name, strcspn(name, "."), seed);
}

static uint64_t
find_key(struct runner *runner, uint64_t va)
{
	struct symbol_place place;
	uint64_t key;

	(void)runner_place(runner, va, &place);
	key = hash_name(place.name, 1);
	if (place.file != NULL) {
		key = XXH3_64bits_withSeed(place.file, strlen(place.file), key);
		key = XXH3_64bits_withSeed(
		    &place.line, sizeof(place.line), key);
	}
	/* An address without a name is its own key. */
	return place.name == NULL && place.file == NULL ? va : key;
}

uint64_t
runner_place_key(struct runner *runner, uint64_t va)
{
	struct place_keys *known =
	    &runner->place[XXH3_64bits(&va, sizeof(va)) % PLACE_CACHE];

	if (va == 0)
		return 0;
	if (known->va != va)
		*known = (struct place_keys){ va, find_key(runner, va) };
	return known->key;
}

uint64_t
runner_function_key(struct runner *runner, uint64_t rip)
{
	struct symbol_place place;

	if (rip == 0)
		return 0;
	symbols_find(runner->symbols, rip, NULL, &place);
	return hash_name(place.name, 2);
}
