#include "harness/boot/window.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define ANSWER_AT      (TZ_PAGE_BYTES / 2)
#define PIECE_BYTES    (WINDOW_BYTES - TZ_PAGE_BYTES)
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

static void
answer(struct window *window, uint64_t value)
{
	memset(window->ram, 0, TZ_PAGE_BYTES);
	snprintf((char *)window->ram + ANSWER_AT, TZ_PAGE_BYTES - ANSWER_AT,
	    "%" PRIu64 " %" PRIu64 "\n", window->number, value);
}

static void
give_piece(struct window *window)
{
	size_t left = window->archive.count - window->given;
	size_t count = left < PIECE_BYTES ? left : PIECE_BYTES;

	if (count > 0)
		memcpy(window->ram + TZ_PAGE_BYTES,
		    window->archive.at + window->given, count);
	window->given += count;
	answer(window, count);
}

static int
add_file(struct window *window, const char *path, bool absent,
    struct window_file **file, struct tz_error *err)
{
	if (window->file_count == WINDOW_FILES_MAX)
		return tz_error(err, TZ_EUSAGE,
		    "the guest sends more than %d files", WINDOW_FILES_MAX);
	*file = &window->file[window->file_count];
	**file = (struct window_file){ .path = strdup(path), .absent = absent };
	if ((*file)->path == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	window->file_count++;
	return 0;
}

static int
check_file(const struct window_file *file, struct tz_error *err)
{
	uLong crc = crc32_z(0, file->content.at, file->content.count);

	if (file->content.count < file->expected || crc == file->crc32)
		return 0;
	return tz_error(err, TZ_EFORMAT,
	    "%s: arrived from the guest with CRC-32 %08lx instead of %08" PRIx32,
	    file->path, crc, file->crc32);
}

/* "BYTES CRC32 PATH" */
static int
begin_file(struct window *window, const char *words, struct tz_error *err)
{
	struct window_file *file;
	uint64_t bytes;
	uint32_t crc;
	int path = 0, error;

	if (sscanf(words, "%" SCNu64 " %" SCNx32 " %n", &bytes, &crc, &path) !=
		2 ||
	    words[path] == '\0')
		return tz_error(err, TZ_EFORMAT,
		    "the guest sent a file without size or name: %s", words);
	if (bytes > FILE_BYTES_MAX)
		return tz_error(err, TZ_EUSAGE,
		    "%s: the guest's file has %" PRIu64 " bytes; %" PRIu64
		    " MiB are the limit",
		    words + path, bytes, FILE_BYTES_MAX >> 20);
	error = add_file(window, words + path, false, &file, err);
	if (error != 0)
		return error;
	file->crc32 = crc;
	file->expected = (size_t)bytes;
	file->content.at = malloc(file->expected + 1);
	if (file->content.at == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	return check_file(file, err);
}

static int
take_piece(struct window *window, struct tz_error *err)
{
	struct window_file *file = &window->file[window->file_count - 1];
	size_t count;

	if (window->file_count == 0 || file->content.count == file->expected)
		return tz_error(
		    err, TZ_EFORMAT, "the guest sent a piece of no file");
	count = file->expected - file->content.count;
	if (count > PIECE_BYTES)
		count = PIECE_BYTES;
	memcpy(file->content.at + file->content.count,
	    window->ram + TZ_PAGE_BYTES, count);
	file->content.count += count;
	return check_file(file, err);
}

/* "BYTES" */
static int
take_text(struct window *window, const char *words, struct tz_error *err)
{
	uint64_t count;

	if (sscanf(words, "%" SCNu64, &count) != 1 || count > PIECE_BYTES)
		return tz_error(err, TZ_EFORMAT,
		    "the guest sent output of a size that is none: %s", words);
	window->text(window->text_arg,
	    (const char *)window->ram + TZ_PAGE_BYTES, (size_t)count);
	return 0;
}

/* Acts on TEXT, a request without its number. */
static int
act(struct window *window, const char *text, struct tz_error *err)
{
	struct window_file *file;
	int error = 0;

	if (strcmp(text, "next") == 0) {
		give_piece(window);
		return 0;
	}
	if (strncmp(text, "file ", 5) == 0)
		error = begin_file(window, text + 5, err);
	else if (strcmp(text, "piece") == 0)
		error = take_piece(window, err);
	else if (strncmp(text, "text ", 5) == 0)
		error = take_text(window, text + 5, err);
	else if (strncmp(text, "absent ", 7) == 0)
		error = add_file(window, text + 7, true, &file, err);
	else if (sscanf(text, "exit %d", &window->status) == 1)
		window->exited = true;
	else
		error = tz_error(err, TZ_EFORMAT,
		    "the guest sent a request that is none: %s", text);
	answer(window, 0);
	return error;
}

int
window_poll(
    struct window *window, enum window_event *event, struct tz_error *err)
{
	const char *page = (const char *)window->ram;
	const char *end = memchr(page, '\n', WINDOW_TEXT_MAX);
	char text[WINDOW_TEXT_MAX];
	uint64_t number;
	int words = 0;

	*event = WINDOW_IDLE;
	/* The guest writes in ascending order: a line with its end is complete. */
	if (end == NULL)
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)(end - page), page);
	if (sscanf(text, "%" SCNu64 " %n", &number, &words) != 1 ||
	    number != window->number + 1)
		return tz_error(err, TZ_EFORMAT,
		    "the guest sent a request that is none: %s", text);
	if (number == 1 && window->archive.at == NULL) {
		*event = WINDOW_READY;
		return 0;
	}
	window->number = number;
	*event = WINDOW_DONE;
	return act(window, text + words, err);
}

void
window_forget(struct window *window, size_t count)
{
	while (window->file_count > count) {
		window->file_count--;
		free(window->file[window->file_count].path);
		free(window->file[window->file_count].content.at);
	}
}

void
window_free(struct window *window)
{
	window_forget(window, 0);
}
