#define _GNU_SOURCE
/*
 * The driver's sources and their mutants.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/explore/build/build_cache_state.h"
#include "harness/host/input.h"
#include "harness/load/spawn.h"
#include "harness/load/text_list.h"
#include "harness/mutate/bench.h"

void
mutate_list_free(struct mutate_list *list)
{
	for (size_t i = 0; i < list->source_count; i++) {
		free(list->source[i].path);
		free(list->source[i].name);
		free(list->source[i].text);
	}
	free(list->source);
	free(list->drawn);
	mutant_list_free(&list->mutants);
	*list = (struct mutate_list){ .source = NULL };
}

static int
read_text(struct mutate_source *source, struct tz_error *err)
{
	uint8_t *text;
	int error = input_read(
	    source->path, INPUT_SOURCE, &text, &source->bytes, err);

	if (error != 0)
		return -TZ_EUSAGE;
	source->text = (char *)text;
	return 0;
}

/* Names the sources relative to the common folder of all sources. */
static bool
name_sources(struct mutate_list *list)
{
	const char *first = list->source[0].path;
	size_t common = (size_t)(strrchr(first, '/') - first) + 1;
	bool named = true;

	for (size_t i = 1; i < list->source_count; i++) {
		while (strncmp(first, list->source[i].path, common) != 0) {
			do
				common--;
			while (common > 1 && first[common - 1] != '/');
		}
	}
	for (size_t i = 0; i < list->source_count; i++) {
		list->source[i].name = strdup(list->source[i].path + common);
		named = named && list->source[i].name != NULL;
	}
	return named;
}

static int
read_sources(const struct build_cache *build_cache, struct mutate_list *list,
    struct tz_error *err)
{
	const struct driver *driver = &build_cache->plan.driver;
	const char *one = build_cache->config.source;
	size_t count = one != NULL ? 1 : driver->source_count;
	int error = 0;

	list->source = calloc(count + 1, sizeof(*list->source));
	if (list->source == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	for (size_t i = 0; error == 0 && i < count; i++) {
		const char *path = one != NULL ? one : driver->source[i];
		struct mutate_source *source =
		    &list->source[list->source_count];

		source->path = realpath(path, NULL);
		if (source->path == NULL)
			return tz_error(
			    err, TZ_EUSAGE, "%s: %s", path, strerror(errno));
		list->source_count++;
		error = read_text(source, err);
	}
	if (error == 0 && !name_sources(list))
		error = tz_error(err, TZ_EIO, "out of memory");
	return error;
}

int
bench_read_build(struct build_cache *build_cache, struct build_kpi **kpi,
    char **tree, struct build_options *build, struct tz_error *err)
{
	*kpi = NULL;
	*tree = NULL;
	*build = (struct build_options){ .cc = build_cache->config.cc,
		.seconds = build_cache->config.cc_seconds,
		.root = build_cache->plan.paths.source };
	if (build_cache->config.tree != NULL) {
		*tree = realpath(build_cache->config.tree, NULL);
		if (*tree == NULL)
			return tz_error(err, TZ_EUSAGE, "%s: %s",
			    build_cache->config.tree, strerror(errno));
		build->tree = *tree;
	}
	return build_kpi_read(build_cache->plan.paths.source,
	    build_cache->plan.driver.os, kpi, err);
}

/* The helper's command line: the manifest's calls, then the compiler's arguments. */
static bool
helper_words(struct text_list *argv, const struct manifest *manifest,
    char *const *arguments)
{
	struct call_row row;

	for (size_t i = 0; manifest_call(manifest, i, &row); i++)
		text_list_add(argv, "%s:%s%s%s", call_class_name(row.class),
		    row.pattern, row.partner != NULL ? ":" : "",
		    row.partner != NULL ? row.partner : "");
	text_list_add(argv, "--");
	for (size_t i = 1; arguments[i] != NULL; i++)
		text_list_add(argv, "%s", arguments[i]);
	return !argv->failed;
}

static int
read_list(const char *path, uint32_t source, struct mutant_list *list,
    struct tz_error *err)
{
	size_t begin = list->count;
	FILE *file = fopen(path, "r");
	int error = file == NULL
	    ? tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno))
	    : mutant_list_read(file, list, err);

	if (file != NULL)
		fclose(file);
	for (size_t i = begin; i < list->count; i++)
		list->at[i].source = source;
	return error;
}

/* Runs the helper, which finds the mutants of one source. */
static int
find_of(struct build_cache *build_cache, const char *folder,
    char *const *arguments, uint32_t index, struct mutate_list *list,
    struct tz_error *err)
{
	const struct mutate_source *source = &list->source[index];
	struct text_list argv = { .at = NULL };
	char output[TREE_PATH_BYTES + 16];
	struct spawn spawn = { .seconds = BUILD_SECONDS };
	struct spawn_end end;
	int error;

	snprintf(output, sizeof(output), "%s/mutants", folder);
	text_list_add(
	    &argv, "%s", paths_tool(&build_cache->plan.paths, "mutants"));
	text_list_add(&argv, "%s", output);
	text_list_add(&argv, "%s", source->path);
	if (!helper_words(
		&argv, build_cache_manifest(build_cache), arguments)) {
		text_list_free(&argv);
		return tz_error(err, TZ_EIO, "out of memory");
	}
	spawn.argv = (const char *const *)argv.at;
	error = spawn_run(&spawn, &end, err);
	text_list_free(&argv);
	if (error == 0 && end.status != 0)
		error = tz_error(err, TZ_EUSAGE,
		    "%s: its mutants cannot be found: topaz-mutants ended "
		    "with %d",
		    source->name, end.status);
	return error != 0 ? error
			  : read_list(output, index, &list->mutants, err);
}

static bool
is_c(const char *name)
{
	size_t length = strlen(name);

	return length > 2 && strcmp(name + length - 2, ".c") == 0;
}

static int
find_all(struct build_cache *build_cache, const char *folder,
    struct mutate_list *list, struct tz_error *err)
{
	struct build_options build;
	const struct driver *driver = &build_cache->plan.driver;
	const struct build_unit unit = { .name = driver->module,
		.flag = driver->flags };
	struct build_kpi *kpi;
	char **arguments = NULL;
	char *tree;
	int error = bench_read_build(build_cache, &kpi, &tree, &build, err);

	/* With INVARIANTS, so that assertions are recognised and not mutated. */
	build.invariants = true;
	build.dir = folder;
	if (error == 0) {
		arguments = build_arguments(kpi, &build, &unit, err);
		if (arguments == NULL)
			error = -TZ_EIO;
	}
	for (uint32_t i = 0; error == 0 && i < list->source_count; i++) {
		if (is_c(list->source[i].name))
			error = find_of(
			    build_cache, folder, arguments, i, list, err);
	}
	build_strings_free(arguments);
	build_kpi_free(kpi);
	free(tree);
	return error;
}

int
mutate_find(struct build_cache *build_cache, struct mutate_list *list,
    struct tz_error *err)
{
	char folder[TREE_PATH_BYTES];
	int error;

	*list = (struct mutate_list){ .source = NULL };
	if (paths_tool(&build_cache->plan.paths, "mutants") == NULL)
		return tz_error(err, TZ_ENOENT,
		    "mutate: this topaz was built without libclang (Debian: "
		    "libclang-dev)");
	error = read_sources(build_cache, list, err);
	if (error == 0)
		error = scratch_folder(folder, err);
	if (error != 0)
		return error;
	error = find_all(build_cache, folder, list, err);
	scratch_drop(folder);
	return error;
}
