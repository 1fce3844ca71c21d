#define _GNU_SOURCE
#include "harness/drivers.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

struct driver_file {
	char dir[PATH_MAX];
	char path[PATH_MAX + 32];
	struct driver *driver;
};

static int
bad_key(const struct driver_file *file, const char *key, const char *want,
    struct tz_error *err)
{
	return tz_error(
	    err, TZ_EFORMAT, "%s: \"%s\" must be %s", file->path, key, want);
}

/* A string member; FALLBACK where it is absent, if that is not NULL. */
static int
read_text(const struct driver_file *file, const char *key, const char *fallback,
    const char **text, struct tz_error *err)
{
	const json_t *value = json_object_get(file->driver->json, key);

	*text = value == NULL ? fallback : json_string_value(value);
	return *text != NULL ? 0 : bad_key(file, key, "a string", err);
}

static int
read_sources(const struct driver_file *file, struct tz_error *err)
{
	struct driver *driver = file->driver;
	const json_t *array = json_object_get(driver->json, "sources");
	size_t i;

	if (array == NULL)
		return 0;
	if (!json_is_array(array) ||
	    json_array_size(array) > DRIVER_SOURCES_MAX)
		return bad_key(file, "sources", "an array of file names", err);
	for (i = 0; i < json_array_size(array); i++) {
		const char *name = json_string_value(json_array_get(array, i));

		if (name == NULL)
			return bad_key(
			    file, "sources", "an array of file names", err);
		if (asprintf(&driver->source[i], "%s/%s", file->dir, name) <
		    0) {
			driver->source[i] = NULL;
			return tz_error(
			    err, TZ_EIO, "%s: out of memory", file->path);
		}
		driver->source_count++;
	}
	return 0;
}

static int
read_modes(const struct driver_file *file, struct tz_error *err)
{
	struct driver *driver = file->driver;
	const json_t *array = json_object_get(driver->json, "modes");
	size_t i;

	driver->cpu_mode = driver->thread_mode = array == NULL;
	if (array != NULL && !json_is_array(array))
		return bad_key(file, "modes", "an array", err);
	for (i = 0; i < json_array_size(array); i++) {
		const char *mode = json_string_value(json_array_get(array, i));

		if (mode != NULL && strcmp(mode, "cpu") == 0)
			driver->cpu_mode = true;
		else if (mode != NULL && strcmp(mode, "thread") == 0)
			driver->thread_mode = true;
		else
			return bad_key(
			    file, "modes", "of \"cpu\" and \"thread\"", err);
	}
	return 0;
}

static int
read_defaults(const struct driver_file *file, struct tz_error *err)
{
	struct driver *driver = file->driver;
	json_t *object = json_object_get(driver->json, "defaults");
	const char *key;
	json_t *value;

	if (object != NULL && !json_is_object(object))
		return bad_key(file, "defaults", "an object of strings", err);
	json_object_foreach(object, key, value)
	{
		if (!json_is_string(value) ||
		    driver->default_count == DRIVER_DEFAULTS_MAX)
			return bad_key(file, "defaults",
			    "an object of at most 16 strings", err);
		driver->defaults[driver->default_count++] =
		    (struct driver_default){ key, json_string_value(value) };
	}
	return 0;
}

static int
read_members(const struct driver_file *file, struct tz_error *err)
{
	struct driver *driver = file->driver;
	int error = read_text(file, "name", NULL, &driver->name, err);

	if (error == 0)
		error = read_text(
		    file, "title", driver->name, &driver->title, err);
	if (error == 0)
		error = read_text(file, "os", NULL, &driver->os, err);
	if (error == 0)
		error = read_text(
		    file, "module", driver->name, &driver->module, err);
	if (error == 0)
		error = read_text(file, "owner", NULL, &driver->owner, err);
	if (error == 0)
		error = read_text(
		    file, "tree_source", "", &driver->tree_source, err);
	if (error == 0)
		error = read_sources(file, err);
	if (error == 0)
		error = read_modes(file, err);
	if (error == 0)
		error = read_defaults(file, err);
	return error;
}

int
driver_read(const char *root, const char *name, struct driver *driver,
    struct tz_error *err)
{
	struct driver_file file = { .driver = driver };
	json_error_t json_err;

	*driver = (struct driver){ .json = NULL };
	if (snprintf(file.dir, sizeof(file.dir), "%s/driver/%s", root, name) >=
		(int)sizeof(file.dir) ||
	    strchr(name, '/') != NULL || name[0] == '.')
		return tz_error(
		    err, TZ_ENOENT, "%s: not the name of a driver", name);
	snprintf(file.path, sizeof(file.path), "%s/driver.json", file.dir);
	if (access(file.path, R_OK) != 0)
		return tz_error(err, TZ_ENOENT,
		    "%s: no such driver; see: topaz list drivers", name);
	driver->json = json_load_file(
	    file.path, JSON_REJECT_DUPLICATES, &json_err);
	if (driver->json == NULL)
		return tz_error(err, TZ_EFORMAT, "%s:%d:%d: %s", file.path,
		    json_err.line, json_err.column, json_err.text);
	return read_members(&file, err);
}

int
driver_use_tree(struct driver *driver, const char *tree, struct tz_error *err)
{
	char *path;

	TZ_ASSERT(driver->source_count == 0);
	TZ_ASSERT(driver->tree_source[0] != '\0');
	if (asprintf(&path, "%s/%s", tree, driver->tree_source) < 0)
		return tz_error(err, TZ_EIO, "out of memory");
	driver->source[driver->source_count++] = path;
	if (access(path, R_OK) != 0)
		return tz_error(err, TZ_EUSAGE,
		    "%s: %s; a source elsewhere: --source FILE", path,
		    strerror(errno));
	return 0;
}

void
driver_free(struct driver *driver)
{
	size_t i;

	for (i = 0; i < driver->source_count; i++)
		free(driver->source[i]);
	json_decref(driver->json);
	*driver = (struct driver){ .json = NULL };
}

static int
is_driver(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strchr(entry->d_name, '.') == NULL;
}

int
driver_names(
    const char *root, char ***names, size_t *count, struct tz_error *err)
{
	struct dirent **entries;
	char dir[PATH_MAX];
	int found, i;

	snprintf(dir, sizeof(dir), "%s/driver", root);
	found = scandir(dir, &entries, is_driver, alphasort);
	if (found < 0)
		return tz_error(err, TZ_ENOENT, "%s: %s", dir, strerror(errno));
	*names = calloc((size_t)found + 1, sizeof(**names));
	*count = 0;
	for (i = 0; i < found; i++) {
		if (*names != NULL)
			(*names)[(*count)++] = strdup(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return *names != NULL ? 0 : tz_error(err, TZ_EIO, "out of memory");
}
