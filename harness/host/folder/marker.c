#include "harness/host/folder/marker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "harness/host/folder/tree.h"
#include "harness/host/input.h"

#define FIRST_LINE  "topaz 1 %s\n"
#define BLOCK_BYTES (UINT32_C(1) << 16)

/* The digest of the file PATH; false: errno says why. */
static bool
digest_file(const char *path, uint64_t *digest)
{
	XXH3_state_t *state = XXH3_createState();
	uint8_t *block = malloc(BLOCK_BYTES);
	FILE *file = fopen(path, "re");
	bool good = state != NULL && block != NULL && file != NULL;
	size_t count;

	if (good)
		XXH3_64bits_reset(state);
	while (good && (count = fread(block, 1, BLOCK_BYTES, file)) != 0)
		XXH3_64bits_update(state, block, count);
	good = good && ferror(file) == 0;
	if (good)
		*digest = XXH3_64bits_digest(state);
	if (file != NULL)
		fclose(file);
	free(block);
	XXH3_freeState(state);
	return good;
}

struct writing {
	const char *top;
	FILE *text;
	struct tz_error *err;
};

static int
write_entry(void *arg, const char *name, const struct stat *st)
{
	const struct writing *writing = arg;
	char path[TREE_PATH_BYTES];
	uint64_t digest;

	TZ_ASSERT(strchr(name, '\n') == NULL);
	if (S_ISDIR(st->st_mode)) {
		fprintf(writing->text, "d %s\n", name);
		return 0;
	}
	TZ_ASSERT(S_ISREG(st->st_mode));
	snprintf(path, sizeof(path), "%s/%s", writing->top, name);
	if (!digest_file(path, &digest))
		return tz_error(
		    writing->err, TZ_EIO, "%s: %s", path, strerror(errno));
	fprintf(writing->text, "f %jd %016" PRIx64 " %s\n",
	    (intmax_t)st->st_size, digest, name);
	return 0;
}

/* The whole text of the marker; the caller frees it. */
static int
format(const char *path, const char *kind, char **text, struct tz_error *err)
{
	size_t bytes = 0;
	struct writing writing = { path, NULL, err };
	int error;

	*text = NULL;
	writing.text = open_memstream(text, &bytes);
	if (writing.text == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	fprintf(writing.text, FIRST_LINE, kind);
	error = tree_walk(path, write_entry, &writing, err);
	if (fflush(writing.text) == 0)
		fprintf(writing.text, "end %016" PRIx64 "\n",
		    XXH3_64bits(*text, bytes));
	if (fclose(writing.text) != 0 && error == 0)
		error = tz_error(err, TZ_EIO, "%s: out of memory", path);
	if (error != 0) {
		free(*text);
		*text = NULL;
	}
	return error;
}

int
marker_write(const char *path, const char *kind, struct tz_error *err)
{
	char file_path[TREE_PATH_BYTES];
	char *text;
	FILE *file;
	bool good;
	int error = format(path, kind, &text, err);

	if (error != 0)
		return error;
	snprintf(file_path, sizeof(file_path), "%s/" MARKER_NAME, path);
	file = fopen(file_path, "wxe");
	good = file != NULL && fputs(text, file) >= 0;
	if (file != NULL && fclose(file) != 0)
		good = false;
	free(text);
	return good
	    ? 0
	    : tz_error(err, TZ_EIO, "%s: %s", file_path, strerror(errno));
}

/* An entry of the marker; .name points into the marker's text. */
struct listed {
	const char *name;
	bool folder;
	uint64_t bytes, digest;
};

struct marker {
	char *text;
	struct listed *listed; /* sorted by name */
	size_t count;
};

static int
compare_listed(const void *a, const void *b)
{
	const struct listed *one = a, *other = b;

	return strcmp(one->name, other->name);
}

/* "d NAME" or "f BYTES DIGEST NAME". */
static bool
parse_entry(char *line, struct listed *listed)
{
	int at = 0;

	*listed = (struct listed){ .folder = line[0] == 'd' };
	if (listed->folder)
		at = line[1] == ' ' ? 2 : 0;
	else if (sscanf(line, "f %" SCNu64 " %16" SCNx64 " %n", &listed->bytes,
		     &listed->digest, &at) != 2)
		return false;
	listed->name = line + at;
	return at != 0 && listed->name[0] != '\0';
}

/* True if TEXT, of BYTES, is an unchanged marker; removes its last line. */
static bool
is_whole(char *text, size_t bytes)
{
	uint64_t digest;
	char *end;
	int length = 0;

	if (bytes < 2 || strlen(text) != bytes || text[bytes - 1] != '\n')
		return false;
	text[bytes - 1] = '\0';
	end = strrchr(text, '\n');
	if (end == NULL ||
	    sscanf(end + 1, "end %16" SCNx64 "%n", &digest, &length) != 1 ||
	    end[1 + length] != '\0' ||
	    digest != XXH3_64bits(text, (size_t)(end + 1 - text)))
		return false;
	end[1] = '\0';
	return true;
}

/* Parses the lines after the first; false: not a marker's, or no memory. */
static bool
parse(struct marker *marker, char *lines)
{
	size_t room = 0;
	char *line, *next;

	for (line = lines; *line != '\0'; line = next) {
		next = strchr(line, '\n');
		TZ_ASSERT(next != NULL);
		*next++ = '\0';
		if (marker->count == room) {
			struct listed *more;

			room = room * 2 + 64;
			more = realloc(marker->listed, room * sizeof(*more));
			if (more == NULL)
				return false;
			marker->listed = more;
		}
		if (!parse_entry(line, &marker->listed[marker->count++]))
			return false;
	}
	if (marker->count != 0)
		qsort(marker->listed, marker->count, sizeof(*marker->listed),
		    compare_listed);
	return true;
}

static int
read_marker(struct marker *marker, const char *path, const char *name,
    const char *kind, struct tz_error *err)
{
	char file_path[TREE_PATH_BYTES], first[64], is[32] = "";
	uint8_t *bytes;
	size_t count;
	int error;

	if (snprintf(file_path, sizeof(file_path), "%s/" MARKER_NAME, path) >=
	    (int)sizeof(file_path))
		return tz_error(err, TZ_EUSAGE, "%s: too long", name);
	error = input_read(file_path, INPUT_MARKER, &bytes, &count, err);
	if (error == -TZ_ENOENT)
		return tz_error(err, TZ_EUSAGE,
		    "%s: exists, is not empty and was not made by topaz: "
		    "nothing in it is replaced",
		    name);
	if (error != 0)
		return error;
	marker->text = (char *)bytes;
	snprintf(first, sizeof(first), FIRST_LINE, kind);
	if (!is_whole(marker->text, count) ||
	    sscanf(marker->text, "topaz 1 %31[a-z]", is) != 1)
		return tz_error(err, TZ_EUSAGE,
		    "%s: its " MARKER_NAME " is not as topaz wrote it: nothing "
		    "in it is replaced",
		    name);
	if (strncmp(marker->text, first, strlen(first)) != 0)
		return tz_error(err, TZ_EUSAGE,
		    "%s: holds %s, which %s do not replace", name, is, kind);
	return parse(marker, marker->text + strlen(first))
	    ? 0
	    : tz_error(err, TZ_EIO, "%s: out of memory", name);
}

struct checking {
	const char *top, *name, *kind;
	struct marker marker;
	bool read; /* .marker was read: only if there is an entry */
	struct tz_error *err;
};

static int
check_entry(void *arg, const char *name, const struct stat *st)
{
	struct checking *checking = arg;
	const struct listed key = { .name = name };
	const struct listed *listed;
	char path[TREE_PATH_BYTES];
	uint64_t digest;
	int error = 0;

	if (!checking->read)
		error = read_marker(&checking->marker, checking->top,
		    checking->name, checking->kind, checking->err);
	checking->read = true;
	if (error != 0 || strcmp(name, MARKER_NAME) == 0)
		return error;
	listed = checking->marker.count == 0
	    ? NULL
	    : bsearch(&key, checking->marker.listed, checking->marker.count,
		  sizeof(key), compare_listed);
	if (listed == NULL ||
	    (listed->folder ? !S_ISDIR(st->st_mode) : !S_ISREG(st->st_mode)))
		return tz_error(checking->err, TZ_EUSAGE,
		    "%s: %s in it was not written by topaz: nothing in it is "
		    "replaced",
		    checking->name, name);
	if (listed->folder)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", checking->top, name);
	if ((uint64_t)st->st_size == listed->bytes &&
	    digest_file(path, &digest) && digest == listed->digest)
		return 0;
	return tz_error(checking->err, TZ_EUSAGE,
	    "%s: %s in it has changed since topaz wrote it: nothing in it is "
	    "replaced",
	    checking->name, name);
}

int
marker_check(
    const char *path, const char *name, const char *kind, struct tz_error *err)
{
	struct checking checking = {
		.top = path, .name = name, .kind = kind, .err = err
	};
	int error = tree_walk(path, check_entry, &checking, err);

	free(checking.marker.text);
	free(checking.marker.listed);
	return error;
}
