#define _GNU_SOURCE
#include "harness/host/folder/owned.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define MAGIC      "topaz lock 1\n"
#define TEXT_BYTES 64
#define TRIES      50
#define WAIT_USEC  10000

/* True if FOLDER belongs to this user and no other user can write to it. */
static bool
is_private(int folder)
{
	struct stat st;

	return fstat(folder, &st) == 0 && st.st_uid == geteuid() &&
	    (st.st_mode & 022) == 0;
}

/* True if FOLDER is empty, or has only the lock. */
static bool
is_bare(int folder)
{
	int fd = dup(folder);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool bare = dir != NULL;

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	rewinddir(dir);
	while ((entry = readdir(dir)) != NULL)
		bare = bare &&
		    (strcmp(entry->d_name, ".") == 0 ||
			strcmp(entry->d_name, "..") == 0 ||
			strcmp(entry->d_name, OWNED_LOCK) == 0);
	closedir(dir);
	return bare;
}

/* The text of the lock; false: not a lock, or its creator has not written it yet. */
static bool
read_lock(int lock, char text[TEXT_BYTES])
{
	ssize_t got = pread(lock, text, TEXT_BYTES - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	return strncmp(text, MAGIC, strlen(MAGIC)) == 0;
}

static pid_t
read_pid(int lock)
{
	char text[TEXT_BYTES];

	for (unsigned i = 0; i < TRIES; i++) {
		if (read_lock(lock, text))
			return (pid_t)strtol(text + strlen(MAGIC), NULL, 10);
		usleep(WAIT_USEC);
	}
	return 0;
}

static bool
write_lock(int lock)
{
	char text[TEXT_BYTES];
	int length = snprintf(
	    text, sizeof(text), MAGIC "%ld\n", (long)getpid());

	return ftruncate(lock, 0) == 0 &&
	    pwrite(lock, text, (size_t)length, 0) == length;
}

/* True if LOCK is still the lock file in FOLDER. */
static bool
is_current(int folder, int lock)
{
	struct stat mine, there;

	return fstat(lock, &mine) == 0 &&
	    fstatat(folder, OWNED_LOCK, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

/*
 * Takes the lock in FOLDER.  OWNED_GONE: another process is removing the folder.  An
 * empty lock in a folder without other files was left by a process that ended before
 * it wrote its number; it is taken, too.
 */
static enum owned_result
take_lock(int folder, bool make, struct owned *owned, pid_t *pid)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	struct stat st;
	char text[TEXT_BYTES];
	int lock = openat(folder, OWNED_LOCK, flags);
	enum owned_result result = OWNED_TAKEN;

	if (lock < 0 && errno == ENOENT) {
		if (!is_bare(folder))
			return OWNED_FOREIGN;
		if (!make)
			return OWNED_GONE;
		lock = openat(folder, OWNED_LOCK, flags | O_CREAT, 0600);
	}
	if (lock < 0)
		return errno == ENOENT ? OWNED_GONE
		    : errno == ELOOP || errno == ENXIO || errno == EISDIR
		    ? OWNED_FOREIGN
		    : OWNED_ERROR;
	if (fstat(lock, &st) != 0 || !S_ISREG(st.st_mode)) {
		result = OWNED_FOREIGN;
	} else if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
		result = errno == EWOULDBLOCK ? OWNED_BUSY : OWNED_ERROR;
		if (result == OWNED_BUSY)
			*pid = read_pid(lock);
	} else if (!is_current(folder, lock)) {
		result = OWNED_GONE;
	} else if (!read_lock(lock, text) &&
	    (st.st_size != 0 || !is_bare(folder))) {
		result = OWNED_FOREIGN;
	} else if (!write_lock(lock)) {
		result = OWNED_ERROR;
	}
	if (result == OWNED_TAKEN)
		owned->lock = lock;
	else
		close(lock);
	return result;
}

static enum owned_result
take_folder(const char *path, bool make, struct owned *owned, pid_t *pid)
{
	enum owned_result result;
	int folder;

	if (make && mkdir(path, 0700) != 0 && errno != EEXIST)
		return OWNED_ERROR;
	folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return errno == ENOENT                   ? OWNED_GONE
		    : errno == ENOTDIR || errno == ELOOP ? OWNED_FOREIGN
							 : OWNED_ERROR;
	result = is_private(folder) ? take_lock(folder, make, owned, pid)
				    : OWNED_FOREIGN;
	close(folder);
	return result;
}

enum owned_result
owned_take(const char *path, bool make, struct owned *owned, pid_t *pid)
{
	enum owned_result result = OWNED_GONE;

	TZ_ASSERT(path[0] == '/');
	TZ_ASSERT(strlen(path) < sizeof(owned->path));
	*pid = 0;
	owned->lock = -1;
	strcpy(owned->path, path);
	/* OWNED_GONE: another process removed the folder between two steps. */
	for (unsigned i = 0; result == OWNED_GONE && i < TRIES; i++) {
		result = take_folder(path, make, owned, pid);
		if (!make)
			break;
	}
	return result;
}

void
owned_remove(struct owned *owned)
{
	if (owned->lock < 0)
		return;
	/* The lock is removed last: a folder with files but no lock is foreign. */
	if (tree_empty(owned->path, OWNED_LOCK))
		(void)tree_remove(owned->path);
	close(owned->lock);
	owned->lock = -1;
}

void
owned_leave(struct owned *owned)
{
	if (owned->lock >= 0)
		close(owned->lock);
	owned->lock = -1;
}
