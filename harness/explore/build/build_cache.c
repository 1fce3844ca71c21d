#define _GNU_SOURCE
#include "harness/explore/build/build_cache_state.h"
#include "harness/load/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "harness/host/input.h"

/* The folder of the driver's manifest. */
static const char *
drivers_of(const struct build_cache *build_cache)
{
	return build_cache->config.drivers != NULL
	    ? build_cache->config.drivers
	    : build_cache->plan.paths.drivers;
}

int
build_cache_open(const struct build_cache_config *config,
    struct build_cache **out, struct tz_error *err)
{
	struct build_cache *build_cache = calloc(1, sizeof(*build_cache));
	int error;

	if (build_cache == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	build_cache->config = *config;
	build_cache->options = run_defaults();
	build_cache->options.driver = config->driver;
	build_cache->options.source = config->source;
	build_cache->options.drivers = config->drivers;
	build_cache->options.tree = config->tree;
	build_cache->options.cc = config->cc;
	build_cache->options.cc_seconds = config->cc_seconds;
	build_cache->options.profile = config->profile;
	build_cache->options.errata = config->errata;
	build_cache->options.cost = false; /* .profile says it */
	build_cache->options.objects = config->objects != NULL;
	error = plan_make(&build_cache->plan, &build_cache->options, err);
	if (error == 0)
		error = manifest_read(drivers_of(build_cache), config->driver,
		    &build_cache->manifest, err);
	if (error != 0) {
		build_cache_close(build_cache);
		return error;
	}
	*out = build_cache;
	return 0;
}

void
build_cache_close(struct build_cache *build_cache)
{
	if (build_cache == NULL)
		return;
	for (unsigned i = 0; i < 2; i++)
		build_set_free(&build_cache->set[i]);
	if (build_cache->manifest != NULL)
		manifest_free(build_cache->manifest);
	plan_free(&build_cache->plan);
	free(build_cache);
}

void
build_cache_cut(struct build_cache *build_cache, bool on)
{
	build_cache->cuts = on;
}

const struct manifest *
build_cache_manifest(const struct build_cache *build_cache)
{
	return build_cache->manifest;
}

const struct build_cache_config *
build_cache_config(const struct build_cache *build_cache)
{
	return &build_cache->config;
}

const char *
build_cache_models(const struct build_cache *build_cache)
{
	return build_cache->plan.cpu_set.text;
}

uint64_t
build_cache_tsc_hz(const struct build_cache *build_cache)
{
	return profile_tsc_hz(cpu_set_of(&build_cache->plan.cpu_set, 0));
}

const char *
build_cache_sha256(const struct build_cache *build_cache)
{
	return build_cache->sha256;
}

const char *
build_cache_source(const struct build_cache *build_cache)
{
	const struct driver *driver = &build_cache->plan.driver;

	if (build_cache->config.source != NULL)
		return build_cache->config.source;
	return driver->source_count != 0 ? driver->source[0] : NULL;
}

/* NAME in the folder of PATH, if such a file exists; to be freed. */
static char *
find_beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	char *found;

	if (asprintf(&found, "%.*s%s",
		slash == NULL ? 0 : (int)(slash - path + 1), path, name) < 0)
		return NULL;
	if (access(found, R_OK) == 0)
		return found;
	free(found);
	return NULL;
}

char *
build_cache_find_source(const struct build_cache *build_cache, const char *name)
{
	const struct driver *driver = &build_cache->plan.driver;
	size_t prefix = strlen(BUILD_OWN_PREFIX);
	char *found = NULL;

	if (strncmp(name, BUILD_OWN_PREFIX, prefix) != 0)
		return NULL;
	if (build_cache->config.source != NULL)
		return find_beside(build_cache->config.source, name + prefix);
	for (size_t i = 0; found == NULL && i < driver->source_count; i++)
		found = find_beside(driver->source[i], name + prefix);
	return found;
}

int
build_cache_build(struct build_cache *build_cache, bool invariants,
    const struct build_set **set, struct tz_error *err)
{
	unsigned which = invariants ? 1 : 0;
	int error;

	*set = &build_cache->set[which];
	if (build_cache->built[which])
		return 0;
	build_cache->options.invariants = invariants;
	if (build_cache->config.objects != NULL) {
		error = build_cache_load(build_cache, invariants, err);
		build_cache->built[which] = error == 0;
		return error;
	}
	error = build_set_make(&build_cache->set[which],
	    &build_cache->plan.driver, &build_cache->options,
	    build_cache->plan.paths.source, build_cache->sha256, err);
	if (error != 0) {
		build_set_free(&build_cache->set[which]);
		return error;
	}
	build_cache->built[which] = true;
	return 0;
}

static int
hash_file(XXH3_state_t *state, const char *path, enum input_kind kind,
    struct tz_error *err)
{
	uint8_t *bytes;
	size_t count;
	int error = input_read(path, kind, &bytes, &count, err);

	if (error == 0)
		XXH3_64bits_update(state, bytes, count);
	free(bytes);
	return error;
}

/* Hashes everything that determines the meaning of a token. */
static int
hash_all(const struct build_cache *build_cache, const struct build_set *set,
    XXH3_state_t *state, struct tz_error *err)
{
	const struct paths *paths = &build_cache->plan.paths;
	char *manifest;
	int error = 0;

	for (unsigned i = 0; i < EVENT_KIND_COUNT; i++) {
		const char *name = event_info((enum event_kind)i)->name;

		XXH3_64bits_update(state, name, strlen(name) + 1);
	}
	for (size_t i = 0; error == 0 && i < set->count; i++)
		error = hash_file(state, set->part[i].path, INPUT_ELF, err);
	if (error == 0)
		error = hash_file(state,
		    paths_kernel(paths, build_cache->plan.driver.os), INPUT_ELF,
		    err);
	if (error != 0)
		return error;
	if (asprintf(&manifest, "%s/%s/driver.yaml", drivers_of(build_cache),
		build_cache->config.driver) < 0)
		return tz_error(err, TZ_EIO, "out of memory");
	error = hash_file(state, manifest, INPUT_DRIVER, err);
	free(manifest);
	return error;
}

int
build_cache_check(
    struct build_cache *build_cache, uint16_t *check, struct tz_error *err)
{
	XXH3_state_t *state;
	const struct build_set *set;
	int error;

	*check = build_cache->check;
	/* A page of a finding has a token for each of thousands of boundaries. */
	if (build_cache->checked)
		return 0;
	error = build_cache_build(build_cache, true, &set, err);
	state = XXH3_createState();
	if (error == 0 && state == NULL)
		error = tz_error(err, TZ_EIO, "out of memory");
	if (error == 0) {
		XXH3_64bits_reset(state);
		error = hash_all(build_cache, set, state, err);
		*check = (uint16_t)XXH3_64bits_digest(state);
	}
	XXH3_freeState(state);
	build_cache->check = *check;
	build_cache->checked = error == 0;
	return error;
}
