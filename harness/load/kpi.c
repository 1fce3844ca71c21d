/*
 * kpi.json: how drivers of one OS are compiled.
 *
 *   "include": folders, relative to the file
 *   "cflags": compiler flags
 *   "modules": [{"name", "sources", "tree"}]: sources relative to the file.  If the user
 *     names an OS tree, the sources in its folder "tree" (optional) replace those of the
 *     same name; all others in the folder are added.  "after_driver": true (optional): the
 *     module is loaded after the driver, whose functions it calls.
 *   "tree_include": headers of that tree that are searched first, as patterns below its
 *     sys/ (optional)
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/host/input.h"
#include "harness/load/build.h"
#include "harness/load/text_list.h"

struct kpi_file {
	const char *path;
	const char *dir;
};

/* The strings of array KEY, with PREFIX before each; it may be absent only if OPTIONAL. */
static int
read_strings(const struct kpi_file *file, const json_t *object, const char *key,
    const char *prefix, bool optional, char ***out, struct tz_error *err)
{
	const json_t *array = json_object_get(object, key);
	struct text_list strings = { .at = NULL };
	size_t i;

	*out = NULL;
	if (!json_is_array(array) && !(optional && array == NULL))
		return tz_error(err, TZ_EFORMAT,
		    "%s: \"%s\" must be an array of strings", file->path, key);
	for (i = 0; i < json_array_size(array); i++) {
		const char *text = json_string_value(json_array_get(array, i));

		if (text == NULL) {
			text_list_free(&strings);
			return tz_error(err, TZ_EFORMAT,
			    "%s: \"%s\"[%zu] is not a string", file->path, key,
			    i);
		}
		text_list_add(&strings, "%s%s", prefix, text);
	}
	if (strings.at == NULL && !strings.failed)
		strings.at = calloc(1, sizeof(*strings.at));
	if (strings.failed || strings.at == NULL) {
		text_list_free(&strings);
		return tz_error(err, TZ_EIO, "%s: out of memory", file->path);
	}
	*out = strings.at;
	return 0;
}

static int
read_module(const struct kpi_file *file, const json_t *object,
    struct build_module *module, struct tz_error *err)
{
	const char *name = json_string_value(json_object_get(object, "name"));
	const json_t *tree = json_object_get(object, "tree");
	const json_t *after = json_object_get(object, "after_driver");
	int error;

	if (name == NULL)
		return tz_error(err, TZ_EFORMAT,
		    "%s: a module without \"name\"", file->path);
	if (after != NULL && !json_is_boolean(after))
		return tz_error(err, TZ_EFORMAT,
		    "%s: \"after_driver\" must be true or false", file->path);
	module->after_driver = json_is_true(after);
	module->name = strdup(name);
	if (module->name == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", file->path);
	error = read_strings(
	    file, object, "sources", file->dir, false, &module->source, err);
	if (error != 0 || tree == NULL)
		return error;
	if (!json_is_string(tree))
		return tz_error(err, TZ_EFORMAT,
		    "%s: \"tree\" must be a string", file->path);
	module->tree = strdup(json_string_value(tree));
	if (module->tree == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", file->path);
	return 0;
}

static int
read_modules(const struct kpi_file *file, const json_t *object,
    struct build_kpi *kpi, struct tz_error *err)
{
	const json_t *array = json_object_get(object, "modules");
	size_t i;
	int error = 0;

	if (array != NULL && !json_is_array(array))
		return tz_error(err, TZ_EFORMAT,
		    "%s: \"modules\" must be an array", file->path);
	kpi->module = calloc(json_array_size(array) + 1, sizeof(*kpi->module));
	if (kpi->module == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", file->path);
	for (i = 0; error == 0 && i < json_array_size(array); i++) {
		kpi->module_count++;
		error = read_module(
		    file, json_array_get(array, i), &kpi->module[i], err);
	}
	return error;
}

static int
read_kpi(
    const struct kpi_file *file, struct build_kpi *kpi, struct tz_error *err)
{
	json_error_t json_err;
	json_t *object;
	uint8_t *text;
	size_t text_bytes;
	int error = input_read(file->path, INPUT_KPI, &text, &text_bytes, err);

	if (error != 0)
		return error;
	object = json_loadb(
	    (const char *)text, text_bytes, JSON_REJECT_DUPLICATES, &json_err);
	free(text);
	if (object == NULL)
		return tz_error(err, TZ_EFORMAT, "%s:%d:%d: %s", file->path,
		    json_err.line, json_err.column, json_err.text);
	error = read_strings(
	    file, object, "include", file->dir, false, &kpi->include, err);
	if (error == 0)
		error = read_strings(
		    file, object, "cflags", "", false, &kpi->cflags, err);
	if (error == 0)
		error = read_strings(file, object, "tree_include", "", true,
		    &kpi->tree_include, err);
	if (error == 0)
		error = read_modules(file, object, kpi, err);
	json_decref(object);
	return error;
}

int
build_kpi_read(const char *root, const char *os, struct build_kpi **kpi,
    struct tz_error *err)
{
	char dir[PATH_MAX], path[PATH_MAX + 16];
	struct kpi_file file = { .path = path, .dir = dir };
	int error;

	*kpi = NULL;
	if (snprintf(dir, sizeof(dir), "%s/harness/kpi/%s/", root, os) >=
	    (int)sizeof(dir))
		return tz_error(err, TZ_EUSAGE, "%s: path too long", root);
	snprintf(path, sizeof(path), "%skpi.json", dir);
	*kpi = calloc(1, sizeof(**kpi));
	if (*kpi == NULL || ((*kpi)->os = strdup(os)) == NULL)
		error = tz_error(err, TZ_EIO, "%s: out of memory", path);
	else
		error = read_kpi(&file, *kpi, err);
	if (error != 0) {
		build_kpi_free(*kpi);
		*kpi = NULL;
	}
	return error;
}

void
build_strings_free(char **strings)
{
	size_t i;

	for (i = 0; strings != NULL && strings[i] != NULL; i++)
		free(strings[i]);
	free(strings);
}

void
build_kpi_free(struct build_kpi *kpi)
{
	size_t i;

	if (kpi == NULL)
		return;
	for (i = 0; i < kpi->module_count; i++) {
		free(kpi->module[i].name);
		build_strings_free(kpi->module[i].source);
		free(kpi->module[i].tree);
	}
	free(kpi->module);
	free(kpi->os);
	build_strings_free(kpi->include);
	build_strings_free(kpi->cflags);
	build_strings_free(kpi->tree_include);
	free(kpi);
}
