#include "harness/boot/image/guest_files.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/host/input.h"
#include "harness/load/elf/elf_needed.h"

/* Where ld.so looks; Debian's folders first. */
static const char *const library_folders[] = {
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
};

/* A file whose shared objects are being added. */
struct user {
	const struct guest_files *files;
	const char *path;
	unsigned depth;
	struct tz_error *err;
};

/* More levels than any program has; a file that is added is not read again. */
#define DEPTH_MAX 64

static int add_at_depth(const struct guest_files *files, const char *from,
    const char *to, unsigned depth, struct tz_error *err);

bool
guest_files_find(
    const struct guest_files *files, const char *path, char *found, size_t size)
{
	if (files->root != NULL) {
		int length = snprintf(found, size, "%s%s", files->root, path);

		if (length > 0 && (size_t)length < size &&
		    access(found, R_OK) == 0)
			return true;
	}
	return (size_t)snprintf(found, size, "%s", path) < size &&
	    access(found, R_OK) == 0;
}

static int
add_needed(void *arg, const char *text)
{
	const struct user *user = arg;
	char to[PATH_MAX], from[PATH_MAX];

	if (text[0] == '/') {
		if (guest_files_find(user->files, text, from, sizeof(from)))
			return add_at_depth(user->files, from, text,
			    user->depth + 1, user->err);
	}
	for (size_t i = 0; text[0] != '/' && i < TZ_ARRAY_LEN(library_folders);
	     i++) {
		if ((size_t)snprintf(to, sizeof(to), "%s/%s",
			library_folders[i], text) < sizeof(to) &&
		    guest_files_find(user->files, to, from, sizeof(from)))
			return add_at_depth(
			    user->files, from, to, user->depth + 1, user->err);
	}
	return tz_error(user->err, TZ_ENOENT,
	    "%s: needs %s, which is not on this host", user->path, text);
}

static int
add_at_depth(const struct guest_files *files, const char *from, const char *to,
    unsigned depth, struct tz_error *err)
{
	struct user user = { files, from, depth, err };
	struct bytes content;
	struct stat info;
	int error;

	if (cpio_has(files->cpio, to))
		return 0;
	if (depth > DEPTH_MAX)
		return tz_error(err, TZ_EFORMAT,
		    "%s: shared objects need each other %d deep", from,
		    DEPTH_MAX);
	error = input_read(
	    from, INPUT_GUEST_FILE, &content.at, &content.count, err);
	if (error != 0)
		return error;
	if (stat(from, &info) != 0)
		info.st_mode = 0644;
	cpio_add_file(files->cpio, to, info.st_mode & 07777, content);
	if (content.count >= sizeof(Elf64_Ehdr) &&
	    memcmp(content.at, ELFMAG, SELFMAG) == 0)
		error = elf_needed(
		    from, content.at, content.count, add_needed, &user, err);
	free(content.at);
	return error;
}

int
guest_files_add(const struct guest_files *files, const char *from,
    const char *to, struct tz_error *err)
{
	return add_at_depth(files, from, to, 0, err);
}
