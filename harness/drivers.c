#define _GNU_SOURCE
#include "harness/drivers.h"
#include "emu/profile/profile.h"

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
#include "harness/load/paths.h"
#include "harness/manifest/schema.h"
#include "harness/manifest/words.h"
#include "harness/manifest/yaml_position.h"

struct driver_file {
	char dir[PATH_MAX];
	char path[PATH_MAX + 32];
	struct driver *driver;
};

/* Makes absolute paths of the COUNT names in the driver's folder. */
static int
read_files(const struct driver_file *file, char *const *names, uint32_t count,
    char **paths, size_t *path_count, struct tz_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		if (asprintf(&paths[i], "%s/%s", file->dir, names[i]) < 0) {
			paths[i] = NULL;
			return tz_error(
			    err, TZ_EIO, "%s: out of memory", file->path);
		}
		(*path_count)++;
	}
	return 0;
}

static int
read_sources(const struct driver_file *file, struct tz_error *err)
{
	struct driver *driver = file->driver;
	const struct schema *schema = driver->schema;
	int error;

	static_assert(SCHEMA_SOURCES_MAX == DRIVER_SOURCES_MAX &&
		SCHEMA_PARTS_MAX == DRIVER_PARTS_MAX,
	    "sources");
	error = read_files(file, schema->sources, schema->sources_count,
	    driver->source, &driver->source_count, err);
	if (error == 0)
		error = read_files(file, schema->parts, schema->parts_count,
		    driver->part, &driver->part_count, err);
	return error;
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
	driver->profile = schema->profile != NULL ? schema->profile
						  : profile_at(0)->name;
	driver->no_trace = schema->no_trace;
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
	driver->path = strdup(file.path);
	if (driver->path == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", file.path);
	text = schema_text(file.path, &text_bytes, err);
	if (text == NULL)
		return -TZ_EIO;
	error = read_members(&file, text, text_bytes, err);
	free(text);
	return error;
}

/* -TZ_EFORMAT with the position of KEY in driver.yaml, and WHY it is wrong. */
static int
refuse(const struct driver *driver, const char *key, const char *why,
    struct tz_error *err)
{
	struct position at = { 1, 1 };
	size_t text_bytes;
	char *text = schema_text(driver->path, &text_bytes, NULL);

	if (text != NULL)
		at = position_find(text, text_bytes, key);
	free(text);
	return tz_error(err, TZ_EFORMAT, "%s:%u:%u: %.300s", driver->path,
	    at.line, at.column, why);
}

static bool
is_program(const struct paths *paths, const char *name)
{
	for (size_t i = 0; i < paths->program_count; i++) {
		if (strcmp(paths->program[i].name, name) == 0)
			return true;
	}
	return false;
}

struct word_readers
driver_readers(const struct driver *driver)
{
	return (struct word_readers){ .os = driver->os,
		.program = { "init", driver->owner },
		.own = driver->schema->words,
		.own_count = driver->schema->words_count,
		.run = driver->schema->run };
}

static int
check_defaults(const struct driver *driver, struct tz_error *err)
{
	const struct word_readers readers = driver_readers(driver);
	char word[2 * SCHEMA_TEXT_MAX + 2], key[32];
	struct tz_error why;

	for (size_t i = 0; i < driver->default_count; i++) {
		snprintf(word, sizeof(word), "%s=%s", driver->defaults[i].key,
		    driver->defaults[i].value);
		snprintf(key, sizeof(key), "defaults/%zu", i);
		if (words_check(word, &readers, &why) != 0)
			return refuse(driver, key, why.text, err);
	}
	return 0;
}

int
driver_check(const struct driver *driver, const struct paths *paths,
    struct tz_error *err)
{
	const char *actor = driver->schema->actor;

	if (paths_kernel(paths, driver->os) == NULL)
		return refuse(
		    driver, "os", "there is no guest kernel for it", err);
	if (profile_find(driver->profile) == NULL)
		return refuse(driver, "profile",
		    "no such processor; see: topaz list profiles", err);
	if (!is_program(paths, driver->owner))
		return refuse(
		    driver, "owner", "no such program of the guest", err);
	if (actor != NULL && !is_program(paths, actor))
		return refuse(
		    driver, "actor", "no such program of the guest", err);
	return check_defaults(driver, err);
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
	for (i = 0; i < driver->part_count; i++)
		free(driver->part[i]);
	build_strings_free(driver->flags);
	free(driver->path);
	if (driver->schema != NULL)
		schema_free(driver->schema);
	*driver = (struct driver){ .schema = NULL };
}

static int
is_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strchr(entry->d_name, '.') == NULL;
}

/* The folder of the drivers may contain other files and folders, too. */
static bool
has_manifest(const char *dir, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s/driver.yaml", dir, name) <
	    (int)sizeof(path) &&
	    access(path, F_OK) == 0;
}

int
driver_names(
    const char *root, char ***names, size_t *count, struct tz_error *err)
{
	struct dirent **entries;
	char dir[PATH_MAX];
	int found, i;

	snprintf(dir, sizeof(dir), "%s", root);
	found = scandir(dir, &entries, is_name, alphasort);
	if (found < 0)
		return tz_error(err, TZ_ENOENT, "%s: %s", dir, strerror(errno));
	*names = calloc((size_t)found + 1, sizeof(**names));
	*count = 0;
	for (i = 0; i < found; i++) {
		if (*names != NULL && has_manifest(dir, entries[i]->d_name))
			(*names)[(*count)++] = strdup(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return *names != NULL ? 0 : tz_error(err, TZ_EIO, "out of memory");
}
