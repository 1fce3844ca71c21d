#include "harness/explore/setups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct one {
	unsigned cpus;
	char layout[TOKEN_WORDS_BYTES];
	char settings[128];
	struct runner *runner;
};

struct setups {
	struct workshop *workshop;
	struct one one[SETUPS_MAX];
	size_t count;
};

/*
 * One CPU and two; the heap with neighbours and without; small allocations that
 * begin a page and others; with the driver's assertions and without.
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

struct setups *
setups_create(struct workshop *workshop)
{
	struct setups *setups = calloc(1, sizeof(*setups));

	if (setups != NULL)
		setups->workshop = workshop;
	return setups;
}

void
setups_destroy(struct setups *setups)
{
	if (setups == NULL)
		return;
	for (size_t i = 0; i < setups->count; i++)
		runner_close(setups->one[i].runner);
	free(setups);
}

int
setups_get(struct setups *setups, unsigned cpus, const char *layout,
    const char *settings, struct runner **runner, struct tz_error *err)
{
	struct one *one;
	int error;

	for (size_t i = 0; i < setups->count; i++) {
		one = &setups->one[i];
		if (one->cpus == cpus && strcmp(one->layout, layout) == 0 &&
		    strcmp(one->settings, settings) == 0) {
			*runner = one->runner;
			return 0;
		}
	}
	if (setups->count == SETUPS_MAX)
		return tz_error(err, TZ_EUSAGE,
		    "more than %d set-ups of the guest", SETUPS_MAX);
	one = &setups->one[setups->count];
	one->cpus = cpus;
	snprintf(one->layout, sizeof(one->layout), "%s", layout);
	snprintf(one->settings, sizeof(one->settings), "%s", settings);
	error = runner_open(
	    setups->workshop, cpus, layout, settings, &one->runner, err);
	if (error != 0)
		return error;
	setups->count++;
	*runner = one->runner;
	return 0;
}
