#define _GNU_SOURCE
#include "harness/explore/workshop.h"
#include "harness/load/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "harness/host/input.h"

/* The folder that has the driver's. */
static const char *
drivers_of(const struct workshop *workshop)
{
	return workshop->config.drivers != NULL ? workshop->config.drivers
						: workshop->plan.paths.drivers;
}

int
workshop_open(const struct workshop_config *config, struct workshop **out,
    struct tz_error *err)
{
	struct workshop *workshop = calloc(1, sizeof(*workshop));
	int error;

	if (workshop == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	workshop->config = *config;
	workshop->options = run_defaults();
	workshop->options.driver = config->driver;
	workshop->options.source = config->source;
	workshop->options.drivers = config->drivers;
	workshop->options.tree = config->tree;
	workshop->options.cc = config->cc;
	workshop->options.cc_seconds = config->cc_seconds;
	workshop->options.profile = config->profile;
	workshop->options.errata = config->errata;
	workshop->options.objects = config->objects != NULL;
	error = plan_make(&workshop->plan, &workshop->options, err);
	if (error == 0)
		error = manifest_read(drivers_of(workshop), config->driver,
		    &workshop->manifest, err);
	if (error != 0) {
		workshop_close(workshop);
		return error;
	}
	*out = workshop;
	return 0;
}

void
workshop_close(struct workshop *workshop)
{
	if (workshop == NULL)
		return;
	for (unsigned i = 0; i < 2; i++)
		build_set_free(&workshop->set[i]);
	if (workshop->manifest != NULL)
		manifest_free(workshop->manifest);
	plan_free(&workshop->plan);
	free(workshop);
}

void
workshop_cut(struct workshop *workshop, bool on)
{
	workshop->cuts = on;
}

const struct manifest *
workshop_manifest(const struct workshop *workshop)
{
	return workshop->manifest;
}

const struct workshop_config *
workshop_config(const struct workshop *workshop)
{
	return &workshop->config;
}

const char *
workshop_models(const struct workshop *workshop)
{
	return workshop->plan.cpu_set.text;
}

uint64_t
workshop_tsc_hz(const struct workshop *workshop)
{
	return profile_tsc_hz(cpu_set_of(&workshop->plan.cpu_set, 0));
}

const char *
workshop_sha256(const struct workshop *workshop)
{
	return workshop->sha256;
}

const char *
workshop_source(const struct workshop *workshop)
{
	const struct driver *driver = &workshop->plan.driver;

	if (workshop->config.source != NULL)
		return workshop->config.source;
	return driver->source_count != 0 ? driver->source[0] : NULL;
}

/* FOLDER of PATH and NAME, if there is such a file. */
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
workshop_find_source(const struct workshop *workshop, const char *name)
{
	const struct driver *driver = &workshop->plan.driver;
	size_t prefix = strlen(BUILD_OWN_PREFIX);
	char *found = NULL;

	if (strncmp(name, BUILD_OWN_PREFIX, prefix) != 0)
		return NULL;
	if (workshop->config.source != NULL)
		return find_beside(workshop->config.source, name + prefix);
	for (size_t i = 0; found == NULL && i < driver->source_count; i++)
		found = find_beside(driver->source[i], name + prefix);
	return found;
}

int
workshop_build(struct workshop *workshop, bool invariants,
    const struct build_set **set, struct tz_error *err)
{
	unsigned which = invariants ? 1 : 0;
	int error;

	*set = &workshop->set[which];
	if (workshop->built[which])
		return 0;
	workshop->options.invariants = invariants;
	if (workshop->config.objects != NULL) {
		error = workshop_load(workshop, invariants, err);
		workshop->built[which] = error == 0;
		return error;
	}
	error = build_set_make(&workshop->set[which], &workshop->plan.driver,
	    &workshop->options, workshop->plan.paths.source, workshop->sha256,
	    err);
	if (error != 0) {
		build_set_free(&workshop->set[which]);
		return error;
	}
	workshop->built[which] = true;
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

/* What may not change for a token to mean the same. */
static int
hash_all(const struct workshop *workshop, const struct build_set *set,
    XXH3_state_t *state, struct tz_error *err)
{
	const struct paths *paths = &workshop->plan.paths;
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
		    paths_kernel(paths, workshop->plan.driver.os), INPUT_ELF,
		    err);
	if (error != 0)
		return error;
	if (asprintf(&manifest, "%s/%s/driver.yaml", drivers_of(workshop),
		workshop->config.driver) < 0)
		return tz_error(err, TZ_EIO, "out of memory");
	error = hash_file(state, manifest, INPUT_DRIVER, err);
	free(manifest);
	return error;
}

int
workshop_check(struct workshop *workshop, uint16_t *check, struct tz_error *err)
{
	XXH3_state_t *state;
	const struct build_set *set;
	int error;

	*check = workshop->check;
	/* A page has a token for each of thousands of boundaries. */
	if (workshop->checked)
		return 0;
	error = workshop_build(workshop, true, &set, err);
	state = XXH3_createState();
	if (error == 0 && state == NULL)
		error = tz_error(err, TZ_EIO, "out of memory");
	if (error == 0) {
		XXH3_64bits_reset(state);
		error = hash_all(workshop, set, state, err);
		*check = (uint16_t)XXH3_64bits_digest(state);
	}
	XXH3_freeState(state);
	workshop->check = *check;
	workshop->checked = error == 0;
	return error;
}
