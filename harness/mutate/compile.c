#define _GNU_SOURCE
/*
 * Compiles a mutant to the objects of a driver: the mutated source replaces the original,
 * the other sources are unchanged.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/explore/build/build_cache_state.h"
#include "harness/host/folder/tree.h"
#include "harness/mutate/bench.h"
#include "harness/mutate/patch.h"

/* The folder names of objects.c. */
static const char *const kinds[] = { "plain", "invariants" };

/* Compiles SOURCE into DIR, which is created. */
static int
compile(const struct bench *bench, const struct build_options *options,
    char *source, char **object, struct tz_error *err)
{
	const struct driver *driver = &bench->build_cache->plan.driver;
	char *const sources[] = { source, NULL };
	const struct build_unit unit = {
		.name = driver->module, .source = sources, .flag = driver->flags
	};
	int error = tree_make(options->dir, 0700, err);

	*object = NULL;
	return error != 0
	    ? error
	    : build_object(bench->kpi, options, &unit, object, err);
}

/* The driver's sources, which are mutated, then its parts, which are not. */
static size_t
count_units(const struct bench *bench)
{
	return bench->list->source_count +
	    bench->build_cache->plan.driver.part_count;
}

static char *
unit_path(const struct bench *bench, size_t i)
{
	size_t sources = bench->list->source_count;

	return i < sources ? bench->list->source[i].path
			   : bench->build_cache->plan.driver.part[i - sources];
}

static int
open_base(struct bench *bench, unsigned which, struct build_options *options,
    struct tz_error *err)
{
	struct bench_base *base = &bench->base[which];
	size_t count = count_units(bench);
	int error = build_cache_build(
	    bench->build_cache, which != 0, &base->set, err);

	base->object = calloc(count + 1, sizeof(*base->object));
	base->digest = calloc(count + 1, sizeof(*base->digest));
	if (error == 0 && (base->object == NULL || base->digest == NULL))
		error = tz_error(err, TZ_EIO, "out of memory");
	for (size_t i = 0; error == 0 && i < count; i++) {
		char dir[TREE_PATH_BYTES + 64];

		snprintf(dir, sizeof(dir), "%s/%s%zu", bench->scratch,
		    kinds[which], i);
		options->dir = dir;
		options->invariants = which != 0;
		error = compile(
		    bench, options, unit_path(bench, i), &base->object[i], err);
		if (error == 0)
			error = elf_code_digest(
			    base->object[i], &base->digest[i], err);
	}
	return error;
}

static bool
is_same(const struct elf_digest *a, const struct elf_digest *b)
{
	return a->low == b->low && a->high == b->high;
}

/* Links the driver's object of kind WHICH, with OBJECT in place of source INDEX. */
static int
link_driver(const struct bench *bench, unsigned which, size_t index,
    char *object, const char *dir, char **linked, struct tz_error *err)
{
	const struct bench_base *base = &bench->base[which];
	struct build_options options;
	struct build_kpi *kpi = NULL;
	char *objects[DRIVER_SOURCES_MAX + DRIVER_PARTS_MAX + 1] = { NULL };
	char folder[TREE_PATH_BYTES + 64], *tree;
	int error;

	if (count_units(bench) == 1) {
		*linked = strdup(object);
		return *linked != NULL ? 0
				       : tz_error(err, TZ_EIO, "out of memory");
	}
	error = bench_read_build(
	    bench->build_cache, &kpi, &tree, &options, err);
	build_kpi_free(kpi);
	for (size_t i = 0; i < count_units(bench); i++)
		objects[i] = i == index ? object : base->object[i];
	snprintf(folder, sizeof(folder), "%s/%s-all", dir, kinds[which]);
	options.dir = folder;
	options.invariants = which != 0;
	if (error == 0)
		error = tree_make(folder, 0700, err);
	if (error == 0)
		error = build_link(&options,
		    bench->build_cache->plan.driver.module, objects, linked,
		    err);
	free(tree);
	return error;
}

/*
 * The unchanged objects must link to the driver that is explored, or mutants would be
 * judged by what linking has changed.
 */
static int
check_base(const struct bench *bench, unsigned which, struct tz_error *err)
{
	const struct bench_base *base = &bench->base[which];
	const struct boot_part *part = &base->set->part[base->set->driver];
	struct elf_digest built = { 0 }, again = { 0 };
	char *linked = NULL;
	int error = link_driver(
	    bench, which, 0, base->object[0], bench->scratch, &linked, err);

	if (error == 0)
		error = elf_code_digest(part->path, &built, err);
	if (error == 0)
		error = elf_code_digest(linked, &again, err);
	free(linked);
	if (error == 0 && !is_same(&built, &again))
		return tz_error(err, TZ_EBUG,
		    "%s: its objects do not link to what was built",
		    part->name);
	return error;
}

int
bench_open(struct bench *bench, struct build_cache *build_cache,
    const struct mutate_list *list, struct tz_error *err)
{
	struct build_options options;
	int error;

	*bench = (struct bench){ .build_cache = build_cache, .list = list };
	error = bench_read_build(
	    build_cache, &bench->kpi, &bench->tree, &options, err);
	if (error == 0)
		error = scratch_folder(bench->scratch, err);
	for (unsigned i = 0; error == 0 && i < 2; i++)
		error = open_base(bench, i, &options, err);
	for (unsigned i = 0; error == 0 && i < 2; i++)
		error = check_base(bench, i, err);
	return error;
}

void
bench_close(struct bench *bench)
{
	for (unsigned i = 0; i < 2; i++) {
		for (size_t j = 0;
		     bench->base[i].object != NULL && j < count_units(bench);
		     j++)
			free(bench->base[i].object[j]);
		free(bench->base[i].object);
		free(bench->base[i].digest);
	}
	build_kpi_free(bench->kpi);
	free(bench->tree);
	if (bench->scratch[0] != '\0')
		scratch_drop(bench->scratch);
	*bench = (struct bench){ .build_cache = NULL };
}

/* Writes the mutated source to PATH, with the path of the original in it. */
static int
write_source(const struct mutate_source *source, const struct mutant *mutant,
    const char *path, struct tz_error *err)
{
	size_t bytes;
	char *text = patch_apply(source->text, source->bytes, mutant, &bytes);
	FILE *file = fopen(path, "wb");
	bool good = file != NULL && text != NULL;

	if (good) {
		fputs("# 1 \"", file);
		for (const char *c = source->path; *c != '\0'; c++) {
			if (*c == '"' || *c == '\\')
				putc('\\', file);
			putc(*c, file);
		}
		fputs("\"\n", file);
		fwrite(text, 1, bytes, file);
		good = !ferror(file);
	}
	if (file != NULL && fclose(file) != 0)
		good = false;
	free(text);
	return good ? 0
		    : tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
}

/* Links DRIVER and the unchanged modules into the folder where a build cache finds them. */
static int
keep_objects(const struct bench *bench, unsigned which, const char *driver,
    const char *dir, struct tz_error *err)
{
	const struct build_set *set = bench->base[which].set;
	char folder[TREE_PATH_BYTES + 64], path[TREE_PATH_BYTES + 256];
	int error;

	snprintf(folder, sizeof(folder), "%s/objects", dir);
	error = tree_make(folder, 0700, err);
	snprintf(folder, sizeof(folder), "%s/objects/%s", dir, kinds[which]);
	if (error == 0)
		error = tree_make(folder, 0700, err);
	for (size_t i = 0; error == 0 && i < set->count; i++) {
		const char *from = i == set->driver ? driver
						    : set->part[i].path;

		snprintf(path, sizeof(path), "%s/%02zu-%s.o", folder, i,
		    set->part[i].name);
		if (symlink(from, path) != 0)
			error = tz_error(
			    err, TZ_EIO, "%s: %s", path, strerror(errno));
	}
	return error;
}

/* Compiles MUTANT's source to one object of kind WHICH. */
static int
compile_one(const struct bench *bench, const struct mutant *mutant,
    unsigned which, const char *dir, char **object, struct tz_error *err)
{
	const struct mutate_source *source =
	    &bench->list->source[mutant->source];
	char text[TREE_PATH_BYTES + 64], folder[TREE_PATH_BYTES + 64];
	struct build_options options;
	struct build_kpi *kpi;
	char *tree;
	int error = bench_read_build(
	    bench->build_cache, &kpi, &tree, &options, err);

	build_kpi_free(kpi);
	snprintf(text, sizeof(text), "%s/source.c", dir);
	snprintf(folder, sizeof(folder), "%s/%s", dir, kinds[which]);
	options.dir = folder;
	options.invariants = which != 0;
	options.replaced = source->path;
	options.replacement = text;
	*object = NULL;
	if (error == 0)
		error = write_source(source, mutant, text, err);
	if (error == 0)
		error = compile(bench, &options, source->path, object, err);
	free(tree);
	return error;
}

int
bench_compile(const struct bench *bench, const struct mutant *mutant,
    const char *dir, enum mutate_class *class, struct tz_error *err)
{
	char *object[2] = { NULL, NULL }, *linked = NULL;
	bool same = true;
	int error = tree_make(dir, 0700, err);

	for (unsigned i = 0; error == 0 && i < 2; i++) {
		struct elf_digest digest;

		error = compile_one(bench, mutant, i, dir, &object[i], err);
		if (error == -TZ_EUSAGE) {
			*class = MUTATE_NOT_COMPILED;
			free(object[0]);
			return 0;
		}
		if (error == 0)
			error = elf_code_digest(object[i], &digest, err);
		same = same && error == 0 &&
		    is_same(&digest, &bench->base[i].digest[mutant->source]);
	}
	*class = same ? MUTATE_EQUIVALENT : MUTATE_SURVIVED;
	for (unsigned i = 0; error == 0 && !same && i < 2; i++) {
		error = link_driver(
		    bench, i, mutant->source, object[i], dir, &linked, err);
		if (error == 0)
			error = keep_objects(bench, i, linked, dir, err);
		free(linked);
		linked = NULL;
	}
	if (error == 0 && !same)
		error = build_cache_keep_sha256(bench->build_cache, dir, err);
	free(object[0]);
	free(object[1]);
	return error;
}
