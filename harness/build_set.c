#define _GNU_SOURCE
#include "harness/build_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/drivers.h"
#include "harness/host/folder/scratch.h"
#include "harness/host/input.h"
#include "harness/load/build.h"
#include "harness/run.h"

static int
add_object(struct build_set *set, const struct build_kpi *kpi,
    const struct build_options *options, const struct build_unit *unit,
    struct tz_error *err)
{
	char *object = NULL;
	char *copy;
	int error;

	if (set->count == BUILD_SET_MAX)
		return tz_error(
		    err, TZ_EUSAGE, "more than %d modules", BUILD_SET_MAX);
	error = build_object(kpi, options, unit, &object, err);
	if (error != 0)
		return error;
	copy = strdup(unit->name);
	if (copy == NULL) {
		free(object);
		return tz_error(err, TZ_EIO, "out of memory");
	}
	set->part[set->count++] = (struct boot_part){ copy, object };
	return 0;
}

/* The kernel interface's own modules that are loaded before the driver, or after it. */
static int
add_modules(struct build_set *set, const struct build_kpi *kpi,
    const struct build_options *options, bool after_driver,
    struct tz_error *err)
{
	size_t i;
	int error = 0;

	for (i = 0; error == 0 && i < kpi->module_count; i++) {
		struct build_unit unit = { .name = kpi->module[i].name };
		char **sources;

		if (kpi->module[i].after_driver != after_driver)
			continue;
		sources = build_module_sources(&kpi->module[i], options->tree);
		unit.source = sources;
		if (sources == NULL)
			return tz_error(err, TZ_EIO, "out of memory");
		error = add_object(set, kpi, options, &unit, err);
		build_strings_free(sources);
	}
	return error;
}

/* The compiler treats any other file as input of the linker and ignores it. */
static bool
is_source_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot != NULL &&
	    (strcmp(dot, ".c") == 0 || strcmp(dot, ".S") == 0);
}

static int
check_sources(char *const *sources, struct tz_error *err)
{
	size_t i;

	for (i = 0; sources[i] != NULL; i++) {
		if (input_check(sources[i], INPUT_SOURCE, err) != 0)
			return -TZ_EUSAGE;
		if (!is_source_name(sources[i]))
			return tz_error(err, TZ_EUSAGE,
			    "%s: not a C or assembler source (.c, .S)",
			    sources[i]);
	}
	return 0;
}

/* The driver's module: SOURCES, and the parts that are ours. */
static int
make_all(struct build_set *set, const struct driver *driver,
    const struct build_kpi *kpi, const struct build_options *options,
    char *const *sources, struct tz_error *err)
{
	char *files[DRIVER_SOURCES_MAX + DRIVER_PARTS_MAX + 1] = { NULL };
	const struct build_unit unit = {
		.name = driver->module, .source = files, .flag = driver->flags
	};
	size_t count = 0;
	int error = add_modules(set, kpi, options, false, err);

	for (; sources[count] != NULL; count++)
		files[count] = sources[count];
	for (size_t i = 0; i < driver->part_count; i++)
		files[count++] = driver->part[i];

	set->driver = set->count;
	if (error == 0)
		error = add_object(set, kpi, options, &unit, err);
	if (error == 0)
		error = add_modules(set, kpi, options, true, err);
	return error;
}

static int
make_folder(struct build_set *set, struct tz_error *err)
{
	char path[TREE_PATH_BYTES];
	int error = scratch_folder(path, err);

	if (error != 0)
		return error;
	set->dir = strdup(path);
	if (set->dir != NULL)
		return 0;
	scratch_drop(path);
	return tz_error(err, TZ_EIO, "out of memory");
}

int
build_set_make(struct build_set *set, const struct driver *driver,
    const struct run_options *options, const char *root, char sha256[65],
    struct tz_error *err)
{
	struct build_options build = { .cc = options->cc,
		.seconds = options->cc_seconds,
		.root = root,
		.invariants = options->invariants };
	char *one[] = { NULL, NULL };
	char *const *sources = driver->source;
	struct build_kpi *kpi = NULL;
	char *tree = NULL;
	int error;

	if (options->source != NULL) {
		one[0] = (char *)(uintptr_t)options->source;
		sources = one;
	}
	error = check_sources(sources, err);
	if (error == 0)
		error = build_sha256(sources, sha256, err);

	if (error != 0)
		return error;
	error = make_folder(set, err);
	if (error != 0)
		return error;
	build.dir = set->dir;
	if (options->tree != NULL) {
		tree = realpath(options->tree, NULL);
		if (tree == NULL)
			return tz_error(err, TZ_EUSAGE, "%s: %s", options->tree,
			    strerror(errno));
		build.tree = tree;
	}
	error = build_kpi_read(root, driver->os, &kpi, err);
	if (error == 0)
		error = make_all(set, driver, kpi, &build, sources, err);
	build_kpi_free(kpi);
	free(tree);
	return error;
}

void
build_set_free(struct build_set *set)
{
	size_t i;

	for (i = 0; i < set->count; i++) {
		free((void *)(uintptr_t)set->part[i].name);
		free((void *)(uintptr_t)set->part[i].path);
	}
	if (set->dir != NULL)
		scratch_drop(set->dir);
	free(set->dir);
	*set = (struct build_set){ .dir = NULL };
}
