#include "harness/boot/image/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* libarchive's message, in one line with the name of the input. */
static int
corrupt(const char *name, struct archive *from, struct tz_error *err)
{
	const char *text = archive_error_string(from);

	return tz_error(err, TZ_EFORMAT, "%s: %s", name,
	    text != NULL ? text : "corrupt or truncated");
}

/* Reads the content of the current entry. */
static int
read_entry(const char *name, struct archive *from, size_t bytes_max,
    struct bytes *out, struct tz_error *err)
{
	size_t room = 0;

	*out = (struct bytes){ NULL, 0 };
	for (;;) {
		la_ssize_t got;

		if (out->count == room) {
			uint8_t *more;

			room = room == 0 ? (size_t)1 << 20 : room * 2;
			more = realloc(out->at, room);
			if (more == NULL) {
				free(out->at);
				return tz_error(err, TZ_EIO, "out of memory");
			}
			out->at = more;
		}
		got = archive_read_data(
		    from, out->at + out->count, room - out->count);
		if (got == 0)
			return 0;
		if (got > 0)
			out->count += (size_t)got;
		if (got > 0 && out->count <= bytes_max)
			continue;
		free(out->at);
		if (got < 0)
			return corrupt(name, from, err);
		return tz_error(err, TZ_EFORMAT,
		    "%s: more than %zu MiB of content", name, bytes_max >> 20);
	}
}

static bool
is_one_of(struct archive_entry *entry, const char *const patterns[])
{
	const char *path = archive_entry_pathname(entry);

	if (path == NULL || archive_entry_filetype(entry) != AE_IFREG)
		return false;
	if (strncmp(path, "./", 2) == 0)
		path += 2;
	for (; *patterns != NULL; patterns++)
		if (fnmatch(*patterns, path, FNM_PATHNAME) == 0)
			return true;
	return false;
}

int
unpack_stream(const char *name, struct bytes data, size_t bytes_max,
    struct bytes *out, struct tz_error *err)
{
	struct archive *from = archive_read_new();
	struct archive_entry *entry;
	int error;

	if (from == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	archive_read_support_filter_all(from);
	archive_read_support_format_raw(from);
	if (archive_read_open_memory(from, data.at, data.count) != ARCHIVE_OK ||
	    archive_read_next_header(from, &entry) != ARCHIVE_OK)
		error = corrupt(name, from, err);
	/* The first filter is the memory itself. */
	else if (archive_filter_count(from) < 2)
		error = tz_error(
		    err, TZ_EFORMAT, "%s: an unknown compression", name);
	else
		error = read_entry(name, from, bytes_max, out, err);
	archive_read_free(from);
	return error;
}

int
unpack_member(const char *name, struct bytes data, const char *const patterns[],
    size_t bytes_max, struct bytes *out, struct tz_error *err)
{
	struct archive *from = archive_read_new();
	struct archive_entry *entry;
	int error, status;

	if (from == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	archive_read_support_filter_all(from);
	archive_read_support_format_ar(from);
	archive_read_support_format_tar(from);
	archive_read_support_format_cpio(from);
	status = archive_read_open_memory(from, data.at, data.count);
	while (status == ARCHIVE_OK) {
		status = archive_read_next_header(from, &entry);
		if (status == ARCHIVE_OK && is_one_of(entry, patterns))
			break;
	}
	if (status == ARCHIVE_OK)
		error = read_entry(name, from, bytes_max, out, err);
	else if (status == ARCHIVE_EOF)
		error = tz_error(
		    err, TZ_ENOENT, "%s: contains no %s", name, patterns[0]);
	else
		error = corrupt(name, from, err);
	archive_read_free(from);
	return error;
}
