/*
 * Writes a built-in page with data in its one slot.
 */
#include <jansson.h>
#include <string.h>

#include "harness/report/internal.h"

static const char slot[] = "@DATA@";

/* '<' occurs only in strings; as an escape it cannot begin a tag or comment. */
static int
write_escaped(const char *text, size_t bytes, void *arg)
{
	FILE *file = arg;

	while (bytes > 0) {
		const char *less = memchr(text, '<', bytes);
		size_t plain = less == NULL ? bytes : (size_t)(less - text);

		fwrite(text, 1, plain, file);
		text += plain;
		bytes -= plain;
		if (bytes > 0) {
			fputs("\\u003c", file);
			text++;
			bytes--;
		}
	}
	return ferror(file) != 0 ? -1 : 0;
}

/* The offset of the slot. */
static size_t
find_slot(const unsigned char *page, size_t page_bytes)
{
	size_t at = 0;

	while (at + sizeof(slot) - 1 <= page_bytes &&
	    memcmp(&page[at], slot, sizeof(slot) - 1) != 0)
		at++;
	TZ_ASSERT(at + sizeof(slot) - 1 <= page_bytes);
	return at;
}

int
report_fill(const char *path, const unsigned char *page, size_t page_bytes,
    json_t *data, struct tz_error *err)
{
	size_t before = find_slot(page, page_bytes);
	FILE *file;
	int error;

	if (data == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	error = report_open(path, &file, err);
	if (error != 0) {
		json_decref(data);
		return error;
	}
	fwrite(page, 1, before, file);
	error = json_dump_callback(data, write_escaped, file,
	    JSON_COMPACT | JSON_SORT_KEYS | JSON_ESCAPE_SLASH);
	json_decref(data);
	before += sizeof(slot) - 1;
	fwrite(&page[before], 1, page_bytes - before, file);
	if (report_close(file, path, err) != 0)
		return -TZ_EIO;
	if (error != 0)
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	return 0;
}
