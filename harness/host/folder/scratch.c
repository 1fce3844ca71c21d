#define _GNU_SOURCE
#include "harness/host/folder/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/host/input.h"

#define PREFIX       "topaz-"
#define SUFFIX_CHARS 6
#define NOTES        "beside"
#define TRIES        20

/* The state of this process.  A forked process has a copy, without the locks. */
static struct scratch {
	pid_t owner;  /* 0: no scratch folder */
	bool at_exit; /* scratch_end() is registered with atexit(3) */
	struct owned root;
	struct owned beside[SCRATCH_BESIDE_MAX]; /* "" path: not used */
	char target[SCRATCH_BESIDE_MAX][TREE_PATH_BYTES];
} scratch;

static bool
is_mine(void)
{
	return scratch.owner != 0 && scratch.owner == getpid();
}

/* Moves PATH/old back to TARGET if TARGET does not exist. */
static void
restore(const char *path, const char *target)
{
	char old[TREE_PATH_BYTES + sizeof(SCRATCH_OLD) + 1];
	struct stat st;

	snprintf(old, sizeof(old), "%s/" SCRATCH_OLD, path);
	if (lstat(target, &st) != 0 && errno == ENOENT)
		(void)rename(old, target);
}

/* Removes the folders in the notes of a dead process: pairs of NUL-terminated strings. */
static void
clean_noted(const char *root)
{
	char path[TREE_PATH_BYTES + sizeof(NOTES) + 1];
	const char *at, *end, *target;
	struct owned owned;
	uint8_t *notes;
	size_t count;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/" NOTES, root);
	if (input_read(path, INPUT_MARKER, &notes, &count, NULL) != 0)
		return;
	at = (const char *)notes;
	end = at + count;
	while (at < end) {
		target = at + strlen(at) + 1;
		if (target >= end)
			break;
		if (at[0] == '/' && strlen(at) < TREE_PATH_BYTES &&
		    owned_take(at, false, &owned, &pid) == OWNED_TAKEN) {
			restore(at, target);
			owned_remove(&owned);
		}
		at = target + strlen(target) + 1;
	}
	free(notes);
}

static bool
is_scratch_name(const char *name)
{
	size_t prefix = strlen(PREFIX);

	return strncmp(name, PREFIX, prefix) == 0 &&
	    strlen(name) == prefix + SUFFIX_CHARS;
}

/* Removes what dead processes left in BASE. */
static void
clean(const char *base)
{
	DIR *dir = opendir(base);
	const struct dirent *entry;
	char path[TREE_PATH_BYTES];
	struct owned owned;
	pid_t pid;

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (!is_scratch_name(entry->d_name) ||
		    snprintf(path, sizeof(path), "%s/%s", base,
			entry->d_name) >= (int)sizeof(path))
			continue;
		switch (owned_take(path, false, &owned, &pid)) {
		case OWNED_TAKEN:
			clean_noted(path);
			owned_remove(&owned);
			break;
		case OWNED_GONE: /* its owner was killed before it had a lock */
			(void)rmdir(path);
			break;
		case OWNED_BUSY:
		case OWNED_FOREIGN:
		case OWNED_ERROR:
			break;
		}
	}
	closedir(dir);
}

/* The folder for temporary files, absolute and without links. */
static int
find_base(char base[TREE_PATH_BYTES], struct tz_error *err)
{
	const char *named = getenv("TMPDIR");
	char *path;
	bool fits;

	if (named == NULL || named[0] == '\0')
		named = P_tmpdir;
	path = realpath(named, NULL);
	fits = path != NULL && strlen(path) + 64 < TREE_PATH_BYTES;
	if (fits)
		strcpy(base, path);
	else if (path != NULL)
		errno = ENAMETOOLONG;
	free(path);
	if (fits)
		return 0;
	return tz_error(err, TZ_EIO,
	    "%s: %s (TMPDIR, the folder for temporary "
	    "files)",
	    named, strerror(errno));
}

static int
make_root(struct tz_error *err)
{
	char base[TREE_PATH_BYTES], path[TREE_PATH_BYTES];
	int error = find_base(base, err);
	pid_t pid;

	if (error != 0)
		return error;
	clean(base);
	/* A cleaning process may take the new folder before it is locked. */
	for (unsigned i = 0; i < TRIES; i++) {
		if (snprintf(path, sizeof(path), "%s/" PREFIX "XXXXXX", base) >=
			(int)sizeof(path) ||
		    mkdtemp(path) == NULL)
			break;
		if (owned_take(path, true, &scratch.root, &pid) ==
		    OWNED_TAKEN) {
			if (!scratch.at_exit)
				scratch.at_exit = atexit(scratch_end) == 0;
			scratch.owner = getpid();
			return 0;
		}
		(void)rmdir(path);
	}
	return tz_error(err, TZ_EIO, "%s: no temporary folder can be made: %s",
	    base, strerror(errno));
}

int
scratch_folder(char path[TREE_PATH_BYTES], struct tz_error *err)
{
	int error = scratch.owner == 0 ? make_root(err) : 0;

	if (error != 0)
		return error;
	if (snprintf(path, TREE_PATH_BYTES, "%s/XXXXXX", scratch.root.path) <
		TREE_PATH_BYTES &&
	    mkdtemp(path) != NULL)
		return 0;
	return tz_error(
	    err, TZ_EIO, "%s: %s", scratch.root.path, strerror(errno));
}

int
scratch_file(int *fd, struct tz_error *err)
{
	char path[TREE_PATH_BYTES + 16];
	int error = scratch.owner == 0 ? make_root(err) : 0;

	if (error != 0)
		return error;
	snprintf(path, sizeof(path), "%s/XXXXXX", scratch.root.path);
	*fd = mkostemp(path, O_CLOEXEC);
	if (*fd >= 0 && unlink(path) == 0)
		return 0;
	error = tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	if (*fd >= 0)
		close(*fd);
	return error;
}

void
scratch_drop(const char *path)
{
	(void)tree_remove(path);
}

/* Writes the notes, the list of folders beside outputs, atomically. */
static bool
write_notes(void)
{
	char path[TREE_PATH_BYTES + 16], new[TREE_PATH_BYTES + 16];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), "%s/" NOTES, scratch.root.path);
	snprintf(new, sizeof(new), "%s/" NOTES ".new", scratch.root.path);
	file = fopen(new, "we");
	if (file == NULL)
		return false;
	for (unsigned i = 0; i < SCRATCH_BESIDE_MAX; i++) {
		if (scratch.beside[i].path[0] != '\0')
			fprintf(file, "%s%c%s%c", scratch.beside[i].path, '\0',
			    scratch.target[i], '\0');
	}
	good = ferror(file) == 0;
	return fclose(file) == 0 && good && rename(new, path) == 0;
}

static int
describe_taken(enum owned_result result, const struct scratch_place *place,
    pid_t pid, struct tz_error *err)
{
	char who[32] = "";

	if (pid != 0)
		snprintf(who, sizeof(who), ", process %ld", (long)pid);
	switch (result) {
	case OWNED_BUSY:
		return tz_error(err, TZ_EUSAGE,
		    "%s: another topaz writes to it%s", place->name, who);
	case OWNED_FOREIGN:
		return tz_error(err, TZ_EUSAGE,
		    "%s: topaz needs %s, and what has this name was not made "
		    "by topaz",
		    place->name, place->path);
	case OWNED_TAKEN:
	case OWNED_GONE:
	case OWNED_ERROR:
		break;
	}
	return tz_error(err, TZ_EIO, "%s: %s", place->name, strerror(errno));
}

int
scratch_beside(const struct scratch_place *place, struct owned **owned,
    struct tz_error *err)
{
	enum owned_result result = OWNED_ERROR;
	unsigned i = 0;
	pid_t pid = 0;
	int error = scratch.owner == 0 ? make_root(err) : 0;

	if (error != 0)
		return error;
	while (i < SCRATCH_BESIDE_MAX && scratch.beside[i].path[0] != '\0')
		i++;
	TZ_ASSERT(i < SCRATCH_BESIDE_MAX);
	TZ_ASSERT(strlen(place->path) < sizeof(scratch.beside[i].path));
	TZ_ASSERT(strlen(place->target) < sizeof(scratch.target[i]));
	/* Notes the folder before creating it: the process may be killed at any time. */
	strcpy(scratch.beside[i].path, place->path);
	strcpy(scratch.target[i], place->target);
	scratch.beside[i].lock = -1;
	if (!write_notes())
		error = tz_error(
		    err, TZ_EIO, "%s: %s", scratch.root.path, strerror(errno));
	else
		result = owned_take(
		    place->path, true, &scratch.beside[i], &pid);
	if (error == 0 && result != OWNED_TAKEN)
		error = describe_taken(result, place, pid, err);
	if (error != 0) {
		scratch.beside[i].path[0] = '\0';
		(void)write_notes();
		return error;
	}
	*owned = &scratch.beside[i];
	restore(place->path, place->target);
	(void)tree_empty(place->path, OWNED_LOCK);
	return 0;
}

void
scratch_beside_drop(struct owned *owned)
{
	owned_remove(owned);
	owned->path[0] = '\0';
	(void)write_notes();
}

void
scratch_forked(void)
{
	if (scratch.owner == 0 || is_mine())
		return;
	owned_leave(&scratch.root);
	for (unsigned i = 0; i < SCRATCH_BESIDE_MAX; i++)
		owned_leave(&scratch.beside[i]);
}

void
scratch_end(void)
{
	if (!is_mine())
		return;
	for (unsigned i = 0; i < SCRATCH_BESIDE_MAX; i++) {
		if (scratch.beside[i].path[0] != '\0')
			owned_remove(&scratch.beside[i]);
	}
	owned_remove(&scratch.root);
	scratch.owner = 0;
}
