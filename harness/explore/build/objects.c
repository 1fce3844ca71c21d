#define _GNU_SOURCE
/*
 * Saves and loads compiled objects in a folder of findings:
 * DIRECTORY/objects/{plain,invariants}/NN-NAME.o and DIRECTORY/objects/sha256.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/explore/build/build_cache_state.h"
#include "harness/explore/build/objects.h"
#include "harness/host/folder/tree.h"
#include "harness/host/input.h"

static const char *const folders[] = { "plain", "invariants" };

static int
copy_file(const char *from, const char *to, struct tz_error *err)
{
	FILE *in = fopen(from, "rb"), *out = NULL;
	char bytes[4096];
	size_t count;
	int error = 0;

	if (in == NULL)
		return tz_error(err, TZ_EIO, "%s: %s", from, strerror(errno));
	out = fopen(to, "wb");
	while (out != NULL && (count = fread(bytes, 1, sizeof(bytes), in)) != 0)
		if (fwrite(bytes, 1, count, out) != count)
			break;
	if (out == NULL || ferror(in) || ferror(out))
		error = tz_error(err, TZ_EIO, "%s: %s", to, strerror(errno));
	fclose(in);
	if (out != NULL && fclose(out) != 0 && error == 0)
		error = tz_error(err, TZ_EIO, "%s: %s", to, strerror(errno));
	return error;
}

static int
keep_set(const struct build_set *set, const char *folder, struct tz_error *err)
{
	int error = tree_make(folder, 0777, err);

	for (size_t i = 0; error == 0 && i < set->count; i++) {
		char *path;

		if (asprintf(&path, "%s/%02zu-%s.o", folder, i,
			set->part[i].name) < 0)
			return tz_error(err, TZ_EIO, "out of memory");
		error = copy_file(set->part[i].path, path, err);
		free(path);
	}
	return error;
}

int
build_cache_keep_sha256(const struct build_cache *build_cache,
    const char *directory, struct tz_error *err)
{
	char *path;
	FILE *file;
	bool good;
	int error = 0;

	if (asprintf(&path, "%s/objects/sha256", directory) < 0)
		return tz_error(err, TZ_EIO, "out of memory");
	file = fopen(path, "w");
	good = file != NULL && fprintf(file, "%s\n", build_cache->sha256) > 0;
	if (file != NULL && fclose(file) != 0)
		good = false;
	if (!good)
		error = tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	free(path);
	return error;
}

int
build_cache_keep(const struct build_cache *build_cache, const char *directory,
    struct tz_error *err)
{
	char *root, *path;
	int error;

	if (asprintf(&root, "%s/objects", directory) < 0)
		return tz_error(err, TZ_EIO, "out of memory");
	error = tree_make(root, 0777, err);
	for (unsigned i = 0; error == 0 && i < 2; i++) {
		if (!build_cache->built[i])
			continue;
		if (asprintf(&path, "%s/%s", root, folders[i]) < 0) {
			error = tz_error(err, TZ_EIO, "out of memory");
			break;
		}
		error = keep_set(&build_cache->set[i], path, err);
		free(path);
	}
	free(root);
	return error != 0
	    ? error
	    : build_cache_keep_sha256(build_cache, directory, err);
}

static int
is_object(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return strlen(entry->d_name) > 5 && entry->d_name[2] == '-' &&
	    dot != NULL && strcmp(dot, ".o") == 0;
}

/* Copies the objects of FROM that TO does not have. */
static int
copy_set(const char *from, const char *to, struct tz_error *err)
{
	struct dirent **entries;
	int count = scandir(from, &entries, is_object, alphasort);
	int error = count > 0 ? tree_make(to, 0777, err) : 0;

	for (int i = 0; i < count; i++) {
		char *source = NULL, *target = NULL;

		if (asprintf(&source, "%s/%s", from, entries[i]->d_name) < 0)
			source = NULL;
		if (asprintf(&target, "%s/%s", to, entries[i]->d_name) < 0)
			target = NULL;
		if (error == 0 && (source == NULL || target == NULL))
			error = tz_error(err, TZ_EIO, "out of memory");
		if (error == 0 && access(target, F_OK) != 0)
			error = copy_file(source, target, err);
		free(source);
		free(target);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return error;
}

int
objects_copy(const char *from, const char *to, struct tz_error *err)
{
	static const char *const parts[] = { "/objects", "/objects/plain",
		"/objects/invariants", "/objects/sha256" };
	char source[PATH_MAX], target[PATH_MAX];
	int error = 0;

	for (size_t i = 0; error == 0 && i < TZ_ARRAY_LEN(parts); i++) {
		bool last = i + 1 == TZ_ARRAY_LEN(parts);

		if (snprintf(source, sizeof(source), "%s%s", from, parts[i]) >=
			(int)sizeof(source) ||
		    snprintf(target, sizeof(target), "%s%s", to, parts[i]) >=
			(int)sizeof(target))
			return tz_error(err, TZ_EUSAGE, "%s: too long", from);
		if (access(source, F_OK) != 0)
			continue;
		if (i == 0)
			error = tree_make(target, 0777, err);
		else if (!last)
			error = copy_set(source, target, err);
		else if (access(target, F_OK) != 0)
			error = copy_file(source, target, err);
	}
	return error;
}

bool
objects_are_in(const char *folder)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/objects/sha256", folder) <
	    (int)sizeof(path) &&
	    access(path, F_OK) == 0;
}

/* Adds the object "00-hwt.o" as part "hwt". */
static bool
add_part(struct build_set *set, const char *folder, const char *file)
{
	char *path, *name;

	if (set->count == BUILD_SET_MAX ||
	    asprintf(&path, "%s/%s", folder, file) < 0)
		return false;
	name = strndup(file + 3, strlen(file) - 5);
	if (name == NULL) {
		free(path);
		return false;
	}
	set->part[set->count++] = (struct boot_part){ name, path };
	return true;
}

static int
load_sha256(struct build_cache *build_cache, struct tz_error *err)
{
	uint8_t *text;
	size_t count;
	char *path;
	int error;

	if (asprintf(&path, "%s/objects/sha256", build_cache->config.objects) <
	    0)
		return tz_error(err, TZ_EIO, "out of memory");
	error = input_read(path, INPUT_DIGEST, &text, &count, err);
	if (error == 0 &&
	    sscanf((const char *)text, "%64[0-9a-f]", build_cache->sha256) != 1)
		error = tz_error(
		    err, TZ_EFORMAT, "%s: no digest of a source", path);
	free(text);
	free(path);
	return error;
}

int
build_cache_load(
    struct build_cache *build_cache, bool invariants, struct tz_error *err)
{
	struct build_set *set = &build_cache->set[invariants ? 1 : 0];
	struct dirent **entries;
	char *folder;
	int count, error;
	bool good = true;

	if (asprintf(&folder, "%s/objects/%s", build_cache->config.objects,
		folders[invariants ? 1 : 0]) < 0)
		return tz_error(err, TZ_EIO, "out of memory");
	count = scandir(folder, &entries, is_object, alphasort);
	for (int i = 0; i < count; i++) {
		good = good && add_part(set, folder, entries[i]->d_name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	if (count <= 0)
		error = tz_error(err, TZ_ENOENT, "%s: no objects", folder);
	else if (!good)
		error = tz_error(
		    err, TZ_EUSAGE, "%s: too many objects", folder);
	else
		error = load_sha256(build_cache, err);
	free(folder);
	return error;
}
