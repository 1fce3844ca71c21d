#include "harness/explore/runner/runner_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct one {
	unsigned cpus;
	char layout[TOKEN_WORDS_BYTES];
	char settings[128];
	struct runner *runner;
};

struct runner_pool {
	struct build_cache *build_cache;
	struct one one[SETUPS_MAX];
	size_t count;
};

/*
 * One or two CPUs; the heap with or without neighbouring allocations; small allocations
 * at the start of a page or not; with or without the driver's assertions.
 */
static const struct setup table[] = {
	{ 2, "" },
	{ 1, "guard" },
	{ 2, "pages" },
	{ 2, "guard,ndebug" },
	{ 2, "pages,ndebug" },
	{ 1, "seed3" },
	{ 1, "pages" },
};

const struct setup *
setup_at(size_t index)
{
	return index < TZ_ARRAY_LEN(table) ? &table[index] : NULL;
}

struct runner_pool *
runner_pool_create(struct build_cache *build_cache)
{
	struct runner_pool *runner_pool = calloc(1, sizeof(*runner_pool));

	if (runner_pool != NULL)
		runner_pool->build_cache = build_cache;
	return runner_pool;
}

void
runner_pool_destroy(struct runner_pool *runner_pool)
{
	if (runner_pool == NULL)
		return;
	for (size_t i = 0; i < runner_pool->count; i++)
		runner_close(runner_pool->one[i].runner);
	free(runner_pool);
}

int
runner_pool_get(struct runner_pool *runner_pool, unsigned cpus,
    const char *layout, const char *settings, struct runner **runner,
    struct tz_error *err)
{
	struct one *one;
	int error;

	for (size_t i = 0; i < runner_pool->count; i++) {
		one = &runner_pool->one[i];
		if (one->cpus == cpus && strcmp(one->layout, layout) == 0 &&
		    strcmp(one->settings, settings) == 0) {
			*runner = one->runner;
			return 0;
		}
	}
	if (runner_pool->count == SETUPS_MAX)
		return tz_error(err, TZ_EUSAGE,
		    "more than %d set-ups of the guest", SETUPS_MAX);
	one = &runner_pool->one[runner_pool->count];
	one->cpus = cpus;
	snprintf(one->layout, sizeof(one->layout), "%s", layout);
	snprintf(one->settings, sizeof(one->settings), "%s", settings);
	error = runner_open(runner_pool->build_cache, cpus, layout, settings,
	    &one->runner, err);
	if (error != 0)
		return error;
	runner_pool->count++;
	*runner = one->runner;
	return 0;
}
