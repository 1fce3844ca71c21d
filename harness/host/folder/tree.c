#define _GNU_SOURCE
#include "harness/host/folder/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_BYTES  256
#define BLOCK_BYTES 4096

/* An entry of getdents64(2); readdir(3) is not async-signal-safe. */
struct raw_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

/* The open folders, from the top down. */
struct removal {
	int fd[TREE_DEPTH_MAX + 1];
	char name[TREE_DEPTH_MAX + 1][NAME_BYTES];
	unsigned depth;
	const char *kept;
};

enum step { STEP_DONE, STEP_DOWN, STEP_FAILED };

static bool
is_dots(const char *name)
{
	return name[0] == '.' &&
	    (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

int
tree_make(const char *path, mode_t mode, struct tz_error *err)
{
	if (mkdir(path, mode) != 0 && errno != EEXIST)
		return tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	return 0;
}

/* Removes one entry of the innermost folder, or opens it if it is a folder. */
static enum step
remove_entry(struct removal *removal, const char *name)
{
	int parent = removal->fd[removal->depth];
	int fd;

	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return STEP_DONE;
	if ((errno != EISDIR && errno != EPERM) ||
	    removal->depth == TREE_DEPTH_MAX || strlen(name) >= NAME_BYTES)
		return STEP_FAILED;
	fd = openat(
	    parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return STEP_FAILED;
	removal->depth++;
	removal->fd[removal->depth] = fd;
	strcpy(removal->name[removal->depth], name);
	return STEP_DOWN;
}

/* Removes entries of the innermost folder until it is empty or a subfolder was opened. */
static enum step
remove_entries(struct removal *removal)
{
	_Alignas(struct raw_entry) char block[BLOCK_BYTES];
	int fd = removal->fd[removal->depth];
	long got;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return STEP_FAILED;
	while ((got = syscall(SYS_getdents64, fd, block, sizeof(block))) > 0) {
		for (long at = 0; at < got;) {
			const struct raw_entry *entry =
			    (const struct raw_entry *)(void *)&block[at];
			enum step step;

			at += entry->bytes;
			if (is_dots(entry->name) ||
			    (removal->depth == 0 && removal->kept != NULL &&
				strcmp(entry->name, removal->kept) == 0))
				continue;
			step = remove_entry(removal, entry->name);
			if (step != STEP_DONE)
				return step;
		}
	}
	return got == 0 ? STEP_DONE : STEP_FAILED;
}

bool
tree_empty(const char *path, const char *kept)
{
	struct removal removal = { .kept = kept };
	int saved = errno;
	enum step step = STEP_FAILED;

	removal.fd[0] = open(
	    path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (removal.fd[0] < 0) {
		errno = saved;
		return false;
	}
	do {
		step = remove_entries(&removal);
		if (step != STEP_DONE || removal.depth == 0)
			continue;
		close(removal.fd[removal.depth]);
		removal.depth--;
		step = unlinkat(removal.fd[removal.depth],
			   removal.name[removal.depth + 1], AT_REMOVEDIR) == 0
		    ? STEP_DOWN
		    : STEP_FAILED;
	} while (step == STEP_DOWN);
	for (unsigned i = 0; i <= removal.depth; i++)
		close(removal.fd[i]);
	errno = saved;
	return step == STEP_DONE;
}

bool
tree_remove(const char *path)
{
	int saved = errno;
	bool gone = tree_empty(path, NULL) && rmdir(path) == 0;

	errno = saved;
	return gone;
}

struct walk {
	const char *top;
	tree_each each;
	void *arg;
	struct tz_error *err;
};

static int
keep_entry(const struct dirent *entry)
{
	return !is_dots(entry->d_name);
}

static int walk_folder(
    const struct walk *walk, const char *below, unsigned depth);

/* Handles the entry NAME of the folder BELOW, which is relative to the top. */
static int
walk_entry(const struct walk *walk, const char *below, const char *name,
    unsigned depth)
{
	char entry[TREE_PATH_BYTES], path[TREE_PATH_BYTES];
	struct stat st;
	int error;

	if (snprintf(entry, sizeof(entry), "%s%s%s", below,
		below[0] != '\0' ? "/" : "", name) >= (int)sizeof(entry) ||
	    snprintf(path, sizeof(path), "%s/%s", walk->top, entry) >=
		(int)sizeof(path))
		return tz_error(
		    walk->err, TZ_EIO, "%s: a path too long", walk->top);
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0
				       : tz_error(walk->err, TZ_EIO, "%s: %s",
					     path, strerror(errno));
	error = walk->each(walk->arg, entry, &st);
	if (error == 0 && S_ISDIR(st.st_mode))
		error = walk_folder(walk, entry, depth + 1);
	return error;
}

static int
walk_folder(const struct walk *walk, const char *below, unsigned depth)
{
	char path[TREE_PATH_BYTES];
	struct dirent **entries;
	int count, error = 0;

	if (depth > TREE_DEPTH_MAX ||
	    snprintf(path, sizeof(path), "%s%s%s", walk->top,
		below[0] != '\0' ? "/" : "", below) >= (int)sizeof(path))
		return tz_error(
		    walk->err, TZ_EIO, "%s: folders too deep in it", walk->top);
	count = scandir(path, &entries, keep_entry, alphasort);
	if (count < 0)
		return tz_error(walk->err, errno == ENOENT ? TZ_ENOENT : TZ_EIO,
		    "%s: %s", path, strerror(errno));
	for (int i = 0; i < count; i++) {
		if (error == 0)
			error = walk_entry(
			    walk, below, entries[i]->d_name, depth);
		free(entries[i]);
	}
	free(entries);
	return error;
}

int
tree_walk(const char *path, tree_each each, void *arg, struct tz_error *err)
{
	const struct walk walk = { path, each, arg, err };

	return walk_folder(&walk, "", 0);
}
