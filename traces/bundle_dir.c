#include "traces/bundle_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const bundle_dir_folders[] = { "images", "objects" };

/* Removes the plain files of one directory, then the directory. */
static void
bundle_dir_remove_flat(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.')
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
	(void)rmdir(path);
}

void
bundle_dir_remove(const char *path)
{
	char folder[4096];

	for (size_t i = 0; i < TZ_ARRAY_LEN(bundle_dir_folders); i++) {
		snprintf(folder, sizeof(folder), "%s/%s", path,
		    bundle_dir_folders[i]);
		bundle_dir_remove_flat(folder);
	}
	bundle_dir_remove_flat(path);
}

/* May PATH be replaced?  Yes: absent, an empty directory, or a bundle. */
static int
bundle_dir_check(const char *path, struct tz_error *err)
{
	char manifest[4096];
	struct dirent *entry;
	bool empty = true;
	struct stat st;
	DIR *dir;

	if (lstat(path, &st) != 0)
		return errno == ENOENT
		    ? 0
		    : tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return tz_error(
		    err, TZ_EUSAGE, "%s: exists and is no directory", path);
	dir = opendir(path);
	if (dir == NULL)
		return tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			empty = false;
	}
	closedir(dir);
	snprintf(manifest, sizeof(manifest), "%s/manifest.json", path);
	if (empty || lstat(manifest, &st) == 0)
		return 0;
	return tz_error(
	    err, TZ_EUSAGE, "%s: exists, is not empty and is no bundle", path);
}

int
bundle_dir_create(const char *path, char **out, struct tz_error *err)
{
	size_t length = strlen(path);
	char folder[4096];
	char *temp;
	int error;

	*out = NULL;
	while (length > 1 && path[length - 1] == '/')
		length--;
	if (length == 0 || length > 3900)
		return tz_error(err, TZ_EUSAGE, "bad name of a bundle");
	error = bundle_dir_check(path, err);
	if (error != 0)
		return error;
	temp = malloc(length + 16);
	if (temp == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	snprintf(temp, length + 16, "%.*s.XXXXXX", (int)length, path);
	if (mkdtemp(temp) == NULL) {
		error = tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
		free(temp);
		return error;
	}
	for (size_t i = 0; i < TZ_ARRAY_LEN(bundle_dir_folders); i++) {
		snprintf(folder, sizeof(folder), "%s/%s", temp,
		    bundle_dir_folders[i]);
		if (mkdir(folder, 0777) != 0) {
			error = tz_error(
			    err, TZ_EIO, "%s: %s", folder, strerror(errno));
			bundle_dir_remove(temp);
			free(temp);
			return error;
		}
	}
	*out = temp;
	return 0;
}

int
bundle_dir_publish(const char *temp, const char *path, struct tz_error *err)
{
	char old[4000]; /* bundle_dir_create() takes no longer name */
	struct stat st;
	mode_t mask = umask(0);

	umask(mask);
	if (chmod(temp, 0777 & ~mask) != 0)
		return tz_error(err, TZ_EIO, "%s: %s", temp, strerror(errno));
	if (rename(temp, path) == 0) /* absent, or an empty directory */
		return 0;
	if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	snprintf(old, sizeof(old), "%s.old", temp);
	if (rename(path, old) != 0)
		return tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	if (rename(temp, path) != 0) {
		int error = tz_error(
		    err, TZ_EIO, "%s: %s", path, strerror(errno));

		(void)rename(old, path);
		return error;
	}
	bundle_dir_remove(old);
	return 0;
}
