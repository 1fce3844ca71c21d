#define _GNU_SOURCE
#include "harness/host/folder/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/host/folder/marker.h"
#include "harness/host/folder/scratch.h"

#define NEW_NAME       "new"
#define NAME_CHARS_MAX 200 /* leaves room for what claim() adds */
#define ASIDES_MAX     1000

struct output {
	const char *kind;             /* NULL: a file */
	bool direct;                  /* written in place: a device */
	char *given;                  /* the path that the user gave */
	char target[TREE_PATH_BYTES]; /* absolute */
	char made[TREE_PATH_BYTES];   /* path of the new folder or file */
	char old[TREE_PATH_BYTES];
	struct owned *beside;
};

/* Splits PATH into its parent folder, as an absolute path, and its name. */
static int
split(const char *path, char parent[TREE_PATH_BYTES],
    char name[NAME_CHARS_MAX + 1], struct tz_error *err)
{
	size_t length = strlen(path), begin;
	char *folder, *real;
	bool fits;

	while (length > 1 && path[length - 1] == '/')
		length--;
	for (begin = length; begin != 0 && path[begin - 1] != '/';)
		begin--;
	if (length - begin == 0 || length - begin > NAME_CHARS_MAX)
		return tz_error(err, TZ_EUSAGE,
		    "'%s': not the name of a folder to write", path);
	memcpy(name, path + begin, length - begin);
	name[length - begin] = '\0';
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strcmp(name, "/") == 0)
		return tz_error(err, TZ_EUSAGE,
		    "%s: a folder is replaced as a whole, and this one cannot "
		    "be: name one in it",
		    path);
	folder = begin == 0 ? strdup(".") : strndup(path, begin);
	real = folder != NULL ? realpath(folder, NULL) : NULL;
	fits = real != NULL &&
	    strlen(real) + NAME_CHARS_MAX + 32 < TREE_PATH_BYTES;
	if (fits)
		strcpy(parent, real);
	else if (real != NULL)
		errno = ENAMETOOLONG;
	free(real);
	free(folder);
	return fits ? 0
		    : tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
}

static bool
is_mount(const char *path)
{
	struct statx st;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) ==
	    0 &&
	    (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* Checks that the target does not exist or may be replaced. */
static int
check_target(const struct output *output, struct tz_error *err)
{
	struct stat st;

	if (lstat(output->target, &st) != 0)
		return errno == ENOENT ? 0
				       : tz_error(err, TZ_EIO, "%s: %s",
					     output->given, strerror(errno));
	if (S_ISLNK(st.st_mode))
		return tz_error(err, TZ_EUSAGE,
		    "%s: is a symbolic link: name the folder itself",
		    output->given);
	if (!S_ISDIR(st.st_mode))
		return tz_error(err, TZ_EUSAGE,
		    "%s: exists and is no directory", output->given);
	if (is_mount(output->target))
		return tz_error(err, TZ_EUSAGE,
		    "%s: a folder is replaced as a whole, and a mount point "
		    "cannot be: name one in it",
		    output->given);
	return marker_check(output->target, output->given, output->kind, err);
}

/* Creates the new folder, with the mode of the folder that it will replace. */
static int
make_new(const struct output *output, struct tz_error *err)
{
	struct stat st;

	if (mkdir(output->made, 0777) == 0 &&
	    (lstat(output->target, &st) != 0 ||
		chmod(output->made, st.st_mode & 07777) == 0))
		return 0;
	return tz_error(err, TZ_EIO, "%s: %s", output->given, strerror(errno));
}

/* True if a file can be renamed to PATH. */
static bool
can_rename_to(const char *path)
{
	char parent[TREE_PATH_BYTES], name[NAME_CHARS_MAX + 1];

	return split(path, parent, name, NULL) == 0 &&
	    access(parent, W_OK | X_OK) == 0;
}

static bool
join(char to[TREE_PATH_BYTES], const char *folder, const char *before,
    const char *name, const char *after)
{
	return snprintf(to, TREE_PATH_BYTES, "%s%s%s%s", folder, before, name,
		   after) < TREE_PATH_BYTES;
}

/* Takes the folder beside PATH, which is the user's path or the target of its link. */
static int
claim(struct output *output, const char *path, struct tz_error *err)
{
	char parent[TREE_PATH_BYTES], name[NAME_CHARS_MAX + 1];
	char beside[TREE_PATH_BYTES];
	struct scratch_place place = { beside, output->target, output->given };
	int error = split(path, parent, name, err);

	if (error != 0)
		return error;
	if (strcmp(parent, "/") == 0)
		parent[0] = '\0';
	/* split() has left room for all of these paths. */
	TZ_ASSERT(join(output->target, parent, "/", name, "") &&
	    join(beside, parent, "/.", name, ".topaz") &&
	    join(output->made, beside, "/", NEW_NAME, "") &&
	    join(output->old, beside, "/", SCRATCH_OLD, ""));
	return scratch_beside(&place, &output->beside, err);
}

static int
claim_folder(struct output *output, struct tz_error *err)
{
	int error = claim(output, output->given, err);

	if (error == 0)
		error = check_target(output, err);
	return error == 0 ? make_new(output, err) : error;
}

/*
 * A device, a FIFO, and a file in a folder that is not writable are written in place.
 */
static int
claim_file(struct output *output, struct tz_error *err)
{
	char *real = NULL;
	struct stat st;
	int error = 0;

	if (stat(output->given, &st) != 0)
		return errno == ENOENT ? claim(output, output->given, err)
				       : tz_error(err, TZ_EIO, "%s: %s",
					     output->given, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return tz_error(
		    err, TZ_EUSAGE, "%s: is a directory", output->given);
	if (S_ISREG(st.st_mode))
		real = realpath(output->given, NULL);
	output->direct = real == NULL || !can_rename_to(real);
	if (!output->direct)
		error = claim(output, real, err);
	else if (access(output->given, W_OK) != 0)
		error = tz_error(
		    err, TZ_EIO, "%s: %s", output->given, strerror(errno));
	free(real);
	return error;
}

/* A new object without reserved paths; NULL: no memory. */
static struct output *
create(const char *path, struct tz_error *err)
{
	struct output *output = calloc(1, sizeof(*output));

	if (output != NULL)
		output->given = strdup(path);
	if (output != NULL && output->given != NULL)
		return output;
	free(output);
	(void)tz_error(err, TZ_EIO, "%s: out of memory", path);
	return NULL;
}

int
output_claim(const char *path, const char *kind, struct output **out,
    struct tz_error *err)
{
	struct output *output = create(path, err);
	int error = output == NULL ? -TZ_EIO : 0;

	if (output != NULL) {
		output->kind = kind;
		error = claim_folder(output, err);
	}
	*out = error == 0 ? output : NULL;
	if (error != 0)
		output_abandon(output);
	return error;
}

int
output_claim_file(const char *path, struct output **out, struct tz_error *err)
{
	struct output *output = create(path, err);
	int error = output == NULL ? -TZ_EIO : claim_file(output, err);

	*out = error == 0 ? output : NULL;
	if (error != 0)
		output_abandon(output);
	return error;
}

const char *
output_new(const struct output *output)
{
	return output->direct ? output->given : output->made;
}

/*
 * Moves the new folder to the target and the old one to output->old.  If the file system
 * cannot exchange them in one step, this takes two steps; scratch_beside() repairs the
 * state if the process is killed between them.
 */
static bool
exchange(struct output *output)
{
	struct stat st;

	if (lstat(output->target, &st) != 0)
		return renameat2(AT_FDCWD, output->made, AT_FDCWD,
			   output->target, RENAME_NOREPLACE) == 0 ||
		    (errno == EINVAL &&
			rename(output->made, output->target) == 0);
	if (renameat2(AT_FDCWD, output->made, AT_FDCWD, output->target,
		RENAME_EXCHANGE) == 0)
		return rename(output->made, output->old) == 0;
	if (errno != EINVAL || rename(output->target, output->old) != 0)
		return false;
	if (rename(output->made, output->target) == 0)
		return true;
	(void)rename(output->old, output->target);
	return false;
}

/* Renames FROM to the first free name TARGET.1 ...; returns the number, 0: failed. */
static unsigned
put_aside(const struct output *output, const char *from)
{
	char path[TREE_PATH_BYTES + 16];
	struct stat st;

	for (unsigned i = 1; i < ASIDES_MAX; i++) {
		snprintf(path, sizeof(path), "%s.%u", output->target, i);
		if (lstat(path, &st) != 0 && rename(from, path) == 0)
			return i;
	}
	return 0;
}

/* Keeps the new folder under another name; ERR has the reason why publishing failed. */
static int
publish_aside(const struct output *output, struct tz_error *err)
{
	const struct tz_error why = *err;
	unsigned number = put_aside(output, output->made);

	if (number == 0)
		return tz_error(err, TZ_EIO, "%.400s", why.text);
	return tz_error(err, TZ_EUSAGE, "%.400s; what was written is in %s.%u",
	    why.text, output->given, number);
}

static int
publish_folder(struct output *output, struct tz_error *err)
{
	struct tz_error why;
	int error = marker_write(output->made, output->kind, err);
	unsigned number;

	if (error != 0) {
		output_rename(output, err);
		return error;
	}
	if (check_target(output, err) != 0)
		return publish_aside(output, err);
	if (!exchange(output)) {
		(void)tz_error(
		    err, TZ_EIO, "%s: %s", output->given, strerror(errno));
		return publish_aside(output, err);
	}
	/* Another process may have added files to the old folder meanwhile. */
	if (marker_check(output->old, output->given, output->kind, &why) !=
	    -TZ_EUSAGE)
		return 0;
	number = put_aside(output, output->old);
	return tz_error(err, TZ_EUSAGE,
	    "%.300s; what was there before is in %s.%u", why.text,
	    output->given, number);
}

static int
publish_file(const struct output *output, struct tz_error *err)
{
	struct stat st;

	if (output->direct)
		return 0;
	if ((stat(output->target, &st) != 0 ||
		chmod(output->made, st.st_mode & 07777) == 0) &&
	    rename(output->made, output->target) == 0)
		return 0;
	return tz_error(err, TZ_EIO, "%s: %s", output->given, strerror(errno));
}

int
output_publish(struct output *output, struct tz_error *err)
{
	int error = output->kind != NULL ? publish_folder(output, err)
					 : publish_file(output, err);

	output_abandon(output);
	return error;
}

void
output_abandon(struct output *output)
{
	if (output == NULL)
		return;
	if (output->beside != NULL)
		scratch_beside_drop(output->beside);
	free(output->given);
	free(output);
}

void
output_rename(const struct output *output, struct tz_error *err)
{
	char *at = output->direct ? NULL : strstr(err->text, output->made);
	struct tz_error text;

	if (at == NULL)
		return;
	*at = '\0';
	snprintf(text.text, sizeof(text.text), "%.200s%.100s%.200s", err->text,
	    output->given, at + strlen(output->made));
	*err = text;
}
