#define _GNU_SOURCE
#include "harness/drivers.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/flags.h"
#include "harness/load/build.h"
#include "harness/manifest/position.h"
#include "harness/manifest/schema.h"

struct driver_file {
	char dir[PATH_MAX];
	char path[PATH_MAX + 32];
	struct driver *driver;
};

static int
read_sources(const struct driver_file *file, struct tz_error *err)
{
	struct driver *driver = file->driver;
	const struct schema *schema = driver->schema;
	uint32_t i;

	static_assert(SCHEMA_SOURCES_MAX == DRIVER_SOURCES_MAX, "sources");
	for (i = 0; i < schema->sources_count; i++) {
		if (asprintf(&driver->source[i], "%s/%s", file->dir,
			schema->sources[i]) < 0) {
			driver->source[i] = NULL;
			return tz_error(
			    err, TZ_EIO, "%s: out of memory", file->path);
		}
		driver->source_count++;
	}
	return 0;
}

static int
read_modes(const struct driver_file *file, const char *text, size_t text_bytes,
    struct tz_error *err)
{
	struct driver *driver = file->driver;
	const struct schema *schema = driver->schema;
	struct position at;
	uint32_t i;

	driver->cpu_mode = driver->thread_mode = schema->modes == NULL;
	for (i = 0; i < schema->modes_count; i++) {
		if (strcmp(schema->modes[i], "cpu") == 0)
			driver->cpu_mode = true;
		else if (strcmp(schema->modes[i], "thread") == 0)
			driver->thread_mode = true;
		else {
			at = position_find(text, text_bytes, "modes");
			return tz_error(err, TZ_EFORMAT,
			    "%s:%u:%u: \"%s\": a mode is \"cpu\" or "
			    "\"thread\"",
			    file->path, at.line, at.column, schema->modes[i]);
		}
	}
	return 0;
}

static int
read_members(const struct driver_file *file, const char *text,
    size_t text_bytes, struct tz_error *err)
{
	struct driver *driver = file->driver;
	const struct flags_file flags = { file->path, file->dir, text,
		text_bytes };
	const struct schema *schema;
	uint32_t i;
	int error = schema_load(
	    file->path, text, text_bytes, &driver->schema, err);

	if (error != 0)
		return error;
	schema = driver->schema;
	driver->name = schema->name;
	driver->title = schema->title != NULL ? schema->title : schema->name;
	driver->os = schema->os;
	driver->module = schema->module != NULL ? schema->module : schema->name;
	driver->owner = schema->owner;
	driver->tree_source = schema->tree_source != NULL ? schema->tree_source
							  : "";
	static_assert(SCHEMA_DEFAULTS_MAX == DRIVER_DEFAULTS_MAX, "defaults");
	for (i = 0; i < schema->defaults_count; i++)
		driver->defaults[driver->default_count++] =
		    (struct driver_default){ schema->defaults[i].key,
			    schema->defaults[i].value };
	error = read_sources(file, err);
	if (error == 0)
		error = read_modes(file, text, text_bytes, err);
	if (error == 0)
		error = flags_read(schema, &flags, &driver->flags, err);
	return error;
}

int
driver_read(const char *root, const char *name, struct driver *driver,
    struct tz_error *err)
{
	struct driver_file file = { .driver = driver };
	size_t text_bytes;
	char *text;
	int error;

	*driver = (struct driver){ .schema = NULL };
	if (snprintf(file.dir, sizeof(file.dir), "%s/%s", root, name) >=
		(int)sizeof(file.dir) ||
	    strchr(name, '/') != NULL || name[0] == '.')
		return tz_error(
		    err, TZ_ENOENT, "%s: not the name of a driver", name);
	snprintf(file.path, sizeof(file.path), "%s/driver.yaml", file.dir);
	if (access(file.path, R_OK) != 0)
		return tz_error(err, TZ_ENOENT,
		    "%s: no such driver: no file %s; see: topaz list drivers",
		    name, file.path);
	text = schema_text(file.path, &text_bytes, err);
	if (text == NULL)
		return -TZ_EIO;
	error = read_members(&file, text, text_bytes, err);
	free(text);
	return error;
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
	build_strings_free(driver->flags);
	if (driver->schema != NULL)
		schema_free(driver->schema);
	*driver = (struct driver){ .schema = NULL };
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

	snprintf(dir, sizeof(dir), "%s", root);
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
