#define _GNU_SOURCE
#include "harness/boot/image/cpio.h"

#include <archive.h>
#include <archive_entry.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cpio {
	struct archive *archive;
	FILE *stream; /* to .bytes */
	struct bytes bytes;
	void *paths; /* a tree of tsearch(3): those that have been added */
	int error;
	struct tz_error err; /* the first */
};

static la_ssize_t
put_bytes(struct archive *archive, void *arg, const void *bytes, size_t count)
{
	struct cpio *cpio = arg;

	(void)archive;
	return fwrite(bytes, 1, count, cpio->stream) == count
	    ? (la_ssize_t)count
	    : -1;
}

struct cpio *
cpio_create(void)
{
	struct cpio *cpio = calloc(1, sizeof(*cpio));

	if (cpio == NULL)
		return NULL;
	cpio->archive = archive_write_new();
	cpio->stream = open_memstream(
	    (char **)&cpio->bytes.at, &cpio->bytes.count);
	if (cpio->archive == NULL || cpio->stream == NULL ||
	    archive_write_set_format_cpio_newc(cpio->archive) != ARCHIVE_OK ||
	    archive_write_open(cpio->archive, cpio, NULL, put_bytes, NULL) !=
		ARCHIVE_OK) {
		cpio_destroy(cpio);
		return NULL;
	}
	return cpio;
}

void
cpio_destroy(struct cpio *cpio)
{
	if (cpio == NULL)
		return;
	if (cpio->archive != NULL)
		archive_write_free(cpio->archive);
	if (cpio->stream != NULL)
		(void)fclose(cpio->stream);
	tdestroy(cpio->paths, free);
	free(cpio->bytes.at);
	free(cpio);
}

static int
compare_paths(const void *one, const void *other)
{
	return strcmp(one, other);
}

static void
keep_error(struct cpio *cpio, enum tz_errno code, const char *text)
{
	if (cpio->error == 0)
		cpio->error = tz_error(&cpio->err, code, "%s", text);
}

bool
cpio_has(const struct cpio *cpio, const char *path)
{
	return tfind(path, &cpio->paths, compare_paths) != NULL;
}

/* False: the path is there already, or there was an error. */
static bool
claim_path(struct cpio *cpio, const char *path)
{
	char *copy;

	if (cpio->error != 0)
		return false;
	if (path[0] != '/' || path[1] == '\0' || strlen(path) >= PATH_MAX) {
		keep_error(cpio, TZ_EUSAGE, path);
		return false;
	}
	if (tfind(path, &cpio->paths, compare_paths) != NULL)
		return false;
	copy = strdup(path);
	if (copy == NULL ||
	    tsearch(copy, &cpio->paths, compare_paths) == NULL) {
		free(copy);
		keep_error(cpio, TZ_EIO, "out of memory");
		return false;
	}
	return true;
}

static void
add_entry(struct cpio *cpio, const char *path, mode_t mode, const char *target,
    struct bytes content)
{
	struct archive_entry *entry = archive_entry_new();

	if (entry == NULL) {
		keep_error(cpio, TZ_EIO, "out of memory");
		return;
	}
	archive_entry_set_pathname(entry, path + 1);
	archive_entry_set_mode(entry, mode);
	archive_entry_set_nlink(entry, 1);
	archive_entry_set_mtime(entry, 0, 0);
	archive_entry_set_size(entry, (la_int64_t)content.count);
	if (target != NULL)
		archive_entry_set_symlink(entry, target);
	if (archive_write_header(cpio->archive, entry) != ARCHIVE_OK ||
	    (content.count > 0 &&
		archive_write_data(cpio->archive, content.at, content.count) !=
		    (la_ssize_t)content.count))
		keep_error(cpio, TZ_EIO, archive_error_string(cpio->archive));
	archive_entry_free(entry);
}

/* The folders on the way to PATH, from the top down. */
static void
add_parents(struct cpio *cpio, const char *path)
{
	char parent[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		snprintf(
		    parent, sizeof(parent), "%.*s", (int)(slash - path), path);
		if (claim_path(cpio, parent))
			add_entry(cpio, parent, AE_IFDIR | 0755, NULL,
			    (struct bytes){ NULL, 0 });
	}
}

void
cpio_add_file(
    struct cpio *cpio, const char *path, unsigned mode, struct bytes content)
{
	if (!claim_path(cpio, path))
		return;
	add_parents(cpio, path);
	add_entry(cpio, path, AE_IFREG | (mode & 07777), NULL, content);
}

void
cpio_add_folder(struct cpio *cpio, const char *path)
{
	if (!claim_path(cpio, path))
		return;
	add_parents(cpio, path);
	add_entry(cpio, path, AE_IFDIR | 0755, NULL, (struct bytes){ NULL, 0 });
}

void
cpio_add_link(struct cpio *cpio, const char *path, const char *target)
{
	if (!claim_path(cpio, path))
		return;
	add_parents(cpio, path);
	add_entry(
	    cpio, path, AE_IFLNK | 0777, target, (struct bytes){ NULL, 0 });
}

int
cpio_finish(struct cpio *cpio, struct bytes *archive, struct tz_error *err)
{
	*archive = (struct bytes){ NULL, 0 };
	if (cpio->error == 0 &&
	    (archive_write_close(cpio->archive) != ARCHIVE_OK ||
		fflush(cpio->stream) != 0))
		keep_error(cpio, TZ_EIO, "out of memory");
	if (cpio->error != 0) {
		*err = cpio->err;
		return cpio->error;
	}
	*archive = cpio->bytes;
	return 0;
}
