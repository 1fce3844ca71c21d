#define _GNU_SOURCE
#include "harness/mutate/patch.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT_LINES 3
#define SIDE_CHARS    45 /* limit of OLD and of NEW in "OLD -> NEW" */

char *
patch_apply(
    const char *text, size_t bytes, const struct mutant *mutant, size_t *size)
{
	char *result = NULL;
	FILE *file = open_memstream(&result, size);
	uint32_t at = 0;

	if (file == NULL)
		return NULL;
	for (unsigned i = 0; i < mutant->edit_count; i++) {
		const struct edit *edit = &mutant->edit[i];

		TZ_ASSERT(edit->at.begin >= at && edit->at.end <= bytes);
		fwrite(text + at, 1, edit->at.begin - at, file);
		fputs(edit->text, file);
		at = edit->at.end;
	}
	fwrite(text + at, 1, bytes - at, file);
	if (fclose(file) != 0) {
		free(result);
		return NULL;
	}
	return result;
}

/* The lines of a text, without their newlines. */
struct lines {
	const char **begin; /* .count + 1 pointers */
	size_t count;
	bool ended; /* the last line has a newline */
};

static bool
split(const char *text, size_t bytes, struct lines *lines)
{
	size_t room = 2;

	for (size_t i = 0; i < bytes; i++)
		room += text[i] == '\n';
	*lines = (struct lines){ .begin = calloc(room, sizeof(char *)),
		.ended = bytes == 0 || text[bytes - 1] == '\n' };
	if (lines->begin == NULL)
		return false;
	lines->begin[0] = text;
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '\n')
			lines->begin[++lines->count] = text + i + 1;
	}
	if (!lines->ended)
		lines->begin[++lines->count] = text + bytes + 1;
	return true;
}

static size_t
length_of(const struct lines *lines, size_t index)
{
	return (size_t)(lines->begin[index + 1] - lines->begin[index]) - 1;
}

static bool
differs(const struct lines *old, const struct lines *new, size_t index)
{
	size_t length = length_of(old, index);

	return length != length_of(new, index) ||
	    memcmp(old->begin[index], new->begin[index], length) != 0;
}

static void
put_line(FILE *file, char mark, const struct lines *lines, size_t index)
{
	putc(mark, file);
	fwrite(lines->begin[index], 1, length_of(lines, index), file);
	putc('\n', file);
	if (index + 1 == lines->count && !lines->ended)
		fputs("\\ No newline at end of file\n", file);
}

/* Prints the hunk of the lines [BEGIN, END) of both texts. */
static void
put_hunk(FILE *file, const struct lines *old, const struct lines *new,
    size_t begin, size_t end)
{
	fprintf(file, "@@ -%zu,%zu +%zu,%zu @@\n", begin + 1, end - begin,
	    begin + 1, end - begin);
	for (size_t i = begin; i < end;) {
		size_t after = i;

		if (!differs(old, new, i)) {
			put_line(file, ' ', old, i++);
			continue;
		}
		while (after < end && differs(old, new, after))
			put_line(file, '-', old, after++);
		while (i < after)
			put_line(file, '+', new, i++);
	}
}

static void
put_hunks(FILE *file, const struct lines *old, const struct lines *new)
{
	size_t done = 0;

	for (size_t i = 0; i < old->count; i++) {
		size_t begin, end = i + 1, quiet = 0;

		if (!differs(old, new, i))
			continue;
		begin = i > done + CONTEXT_LINES ? i - CONTEXT_LINES : done;
		while (end + quiet < old->count && quiet <= 2 * CONTEXT_LINES) {
			if (differs(old, new, end + quiet)) {
				end += quiet + 1;
				quiet = 0;
			} else {
				quiet++;
			}
		}
		done = end + CONTEXT_LINES < old->count ? end + CONTEXT_LINES
							: old->count;
		put_hunk(file, old, new, begin, done);
		i = done - 1;
	}
}

char *
patch_diff(const char *path, const char *text, size_t bytes,
    const struct mutant *mutant)
{
	struct lines old = { .begin = NULL }, new = { .begin = NULL };
	char *result = NULL;
	size_t size, result_size;
	char *mutated = patch_apply(text, bytes, mutant, &size);
	FILE *file = open_memstream(&result, &result_size);
	bool good = file != NULL && mutated != NULL &&
	    split(text, bytes, &old) && split(mutated, size, &new);

	if (good) {
		/* An edit keeps the number of lines. */
		TZ_ASSERT(old.count == new.count);
		fprintf(file, "--- a/%s\n+++ b/%s\n", path, path);
		put_hunks(file, &old, &new);
	}
	if (file != NULL && fclose(file) != 0)
		good = false;
	free(old.begin);
	free(new.begin);
	free(mutated);
	if (good)
		return result;
	free(result);
	return NULL;
}

/* Prints BYTES of TEXT with single spaces, truncated at SIDE_CHARS. */
static void
put_side(FILE *file, const char *text, size_t bytes)
{
	unsigned chars = 0;
	unsigned space = 0; /* 1: before the next character */

	for (size_t i = 0; i < bytes; i++) {
		if (isspace((unsigned char)text[i])) {
			space = chars != 0 ? 1 : 0;
			continue;
		}
		if (chars + space >= SIDE_CHARS) {
			fputs("...", file);
			return;
		}
		chars += 1 + space;
		if (space != 0)
			putc(' ', file);
		putc(text[i], file);
		space = 0;
	}
	if (chars == 0)
		fputs("nothing", file);
}

char *
patch_line(const char *text, const struct mutant *mutant)
{
	const struct edit *edit = &mutant->edit[0];
	char *result = NULL;
	size_t size;
	FILE *file = open_memstream(&result, &size);

	if (file == NULL)
		return NULL;
	put_side(file, text + edit->at.begin, edit->at.end - edit->at.begin);
	fputs(" -> ", file);
	put_side(file, edit->text, strlen(edit->text));
	if (mutant->edit_count > 1)
		fputs(" ...", file);
	if (fclose(file) != 0) {
		free(result);
		return NULL;
	}
	return result;
}
