#define _GNU_SOURCE
#include "harness/host/folder/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define SUFFIX ".cached"
#define LOCK   "lock"
#define NEW    "new" /* the file that the owner of the lock writes */

int
cache_set(struct cache *cache, const char *path, const char *name,
    uint64_t bytes_max, struct tz_error *err)
{
	const char *user = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	/* Room for the longest name in the folder. */
	size_t room = sizeof(cache->path) - CACHE_KEY_BYTES - sizeof(SUFFIX);
	int count;

	cache->bytes_max = bytes_max;
	/* XDG Base Directory Specification: a relative path is ignored. */
	if (path != NULL)
		count = snprintf(cache->path, room, "%s", path);
	else if (user != NULL && user[0] == '/')
		count = snprintf(cache->path, room, "%s/topaz/%s", user, name);
	else if (home != NULL && home[0] == '/')
		count = snprintf(
		    cache->path, room, "%s/.cache/topaz/%s", home, name);
	else
		return tz_error(
		    err, TZ_EUSAGE, "neither XDG_CACHE_HOME nor HOME is set");
	if (count < 0 || (size_t)count >= room)
		return tz_error(
		    err, TZ_EUSAGE, "%s: the path is too long", cache->path);
	return 0;
}

static void
file_in(const struct cache *cache, const char *name, const char *suffix,
    char path[TREE_PATH_BYTES])
{
	int count = snprintf(
	    path, TREE_PATH_BYTES, "%s/%s%s", cache->path, name, suffix);

	TZ_ASSERT(count > 0 && count < TREE_PATH_BYTES);
}

void
cache_file(
    const struct cache *cache, const char *key, char path[TREE_PATH_BYTES])
{
	TZ_ASSERT(strlen(key) == CACHE_KEY_BYTES - 1);
	file_in(cache, key, SUFFIX, path);
}

void
cache_used(const struct cache *cache, const char *key)
{
	char path[TREE_PATH_BYTES];

	cache_file(cache, key, path);
	(void)utimensat(AT_FDCWD, path, NULL, 0);
}

static bool
is_ours(const char *name)
{
	return strspn(name, "0123456789abcdef") == CACHE_KEY_BYTES - 1 &&
	    strcmp(name + CACHE_KEY_BYTES - 1, SUFFIX) == 0;
}

/* Adds up the files, and finds the one that was used longest ago. */
static uint64_t
measure(int folder, DIR *dir, char oldest[NAME_MAX + 1])
{
	struct dirent *entry;
	struct timespec first = { 0 };
	uint64_t bytes = 0;

	oldest[0] = '\0';
	rewinddir(dir);
	while ((entry = readdir(dir)) != NULL) {
		struct stat st;

		if (!is_ours(entry->d_name) ||
		    fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) !=
			0)
			continue;
		bytes += (uint64_t)st.st_size;
		if (oldest[0] != '\0' &&
		    (st.st_mtim.tv_sec > first.tv_sec ||
			(st.st_mtim.tv_sec == first.tv_sec &&
			    st.st_mtim.tv_nsec >= first.tv_nsec)))
			continue;
		first = st.st_mtim;
		strcpy(oldest, entry->d_name);
	}
	return bytes;
}

/* Removes the oldest files until BYTES_MAX is kept; the newest one stays. */
static void
shrink(const struct cache *cache, const char *newest)
{
	int folder = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = folder < 0 ? NULL : fdopendir(folder);
	char name[NAME_MAX + 1];

	if (dir == NULL) {
		if (folder >= 0)
			close(folder);
		return;
	}
	while (measure(folder, dir, name) > cache->bytes_max &&
	    strncmp(name, newest, CACHE_KEY_BYTES - 1) != 0 &&
	    unlinkat(folder, name, 0) == 0)
		;
	closedir(dir);
}

/* Creates the folder and those above it. */
static bool
make_folders(const struct cache *cache)
{
	char path[TREE_PATH_BYTES];

	strcpy(path, cache->path);
	for (char *slash = strchr(path + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			return false;
		*slash = '/';
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static int
refuse(const char *path, struct tz_error *err)
{
	return tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
}

/* The caller has the lock: what is at NEW was left by a process that has ended. */
static int
store_locked(const struct cache *cache, const char *key, cache_make make,
    void *arg, struct tz_error *err)
{
	char from[TREE_PATH_BYTES], to[TREE_PATH_BYTES];
	int error;

	file_in(cache, NEW, "", from);
	cache_file(cache, key, to);
	(void)unlink(from);
	error = make(arg, from, err);
	if (error == 0 && rename(from, to) != 0)
		error = refuse(to, err);
	if (error != 0)
		(void)unlink(from);
	else
		shrink(cache, key);
	return error;
}

int
cache_store(const struct cache *cache, const char *key, cache_make make,
    void *arg, struct tz_error *err)
{
	char path[TREE_PATH_BYTES];
	int lock, error;

	file_in(cache, LOCK, "", path);
	if (!make_folders(cache))
		return refuse(cache->path, err);
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0)
		return refuse(path, err);
	error = flock(lock, LOCK_EX) != 0
	    ? refuse(path, err)
	    : store_locked(cache, key, make, arg, err);
	close(lock);
	return error;
}
