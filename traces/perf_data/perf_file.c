#include "traces/perf_data/perf_file.h"

#include "harness/host/input.h"
#include "traces/decode/vector.h"
#include "traces/perf_data/perf_bytes.h"
#include "traces/perf_data/perf_features.h"
#include "traces/perf_data/perf_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAGIC_BYTES       8
#define PIPE_HEADER_BYTES 16
#define ATTRS_MAX         4096

/* Offsets in the file header. */
#define HEADER_BYTES_AT   8
#define HEADER_ATTR_BYTES 16
#define HEADER_ATTRS      24
#define HEADER_DATA       40
#define HEADER_FEATURES   72

/* Offsets in struct perf_event_attr. */
#define ATTR_TYPE        0
#define ATTR_CONFIG      8
#define ATTR_PERIOD      16
#define ATTR_SAMPLE_TYPE 24
#define ATTR_FLAGS       40

/* What perf_file_close() frees. */
struct perf_owned {
	char *path;
	uint8_t *mapped; /* NULL: the caller's bytes */
	uint64_t mapped_bytes;
	struct zfile_feed *feed;
};

static const struct {
	char magic[MAGIC_BYTES + 1];
	const char *refused; /* NULL: read */
} magics[] = {
	{ "PERFILE2", NULL },
	{ "2ELIFREP",
	    "a perf.data of another byte order; record and re-encode "
	    "on x86, which is little-endian" },
	{ "PERFFILE", "a perf.data of version 1, of a perf older than 2.6.38" },
	{ "ELIFFREP", "a perf.data of version 1 and of another byte order" },
};

static int
parse_magic(const struct perf_file *file, struct tz_error *err)
{
	for (size_t i = 0;
	     file->count >= MAGIC_BYTES && i < TZ_ARRAY_LEN(magics); i++) {
		if (memcmp(file->bytes, magics[i].magic, MAGIC_BYTES) != 0)
			continue;
		return magics[i].refused == NULL
		    ? 0
		    : tz_error(err, TZ_EUSAGE, "%s: at byte 0: %s", file->path,
			  magics[i].refused);
	}
	return tz_error(err, TZ_EFORMAT,
	    "%s: at byte 0: not a perf.data file: no magic number PERFILE2",
	    file->path);
}

static int
parse_header(const struct perf_file *file, struct tz_error *err)
{
	uint64_t bytes = file->count >= PIPE_HEADER_BYTES
	    ? perf_u64(&file->bytes[HEADER_BYTES_AT])
	    : 0;

	if (bytes == PIPE_HEADER_BYTES)
		return tz_error(err, TZ_EUSAGE,
		    "%s: at byte 8: a perf.data in pipe mode, which has no "
		    "index; `perf record -o FILE` writes one with it",
		    file->path);
	if (bytes != PERF_FILE_HEADER_BYTES || file->count < bytes)
		return tz_error(err, TZ_EFORMAT,
		    "%s: at byte 8: a file header of %" PRIu64 " bytes, not %d",
		    file->path, bytes, PERF_FILE_HEADER_BYTES);
	return 0;
}

/* The attributes of event N, of ENTRY bytes at AT. */
static int
parse_attr(struct perf_file *file, uint64_t at, uint64_t entry,
    struct perf_attr *attr, struct tz_error *err)
{
	const uint8_t *bytes = &file->bytes[at];
	struct perf_section ids;
	int error = perf_section_read(file, at + entry - PERF_SECTION_BYTES,
	    "event's identifiers", &ids, err);

	if (error != 0)
		return error;
	if (ids.bytes % 8 != 0)
		return tz_error(err, TZ_EFORMAT,
		    "%s: at byte %" PRIu64 ": %" PRIu64
		    " bytes of event identifiers, not a multiple of 8",
		    file->path, ids.at, ids.bytes);
	*attr = (struct perf_attr){ .type = perf_u32(bytes + ATTR_TYPE),
		.config = perf_u64(bytes + ATTR_CONFIG),
		.period = perf_u64(bytes + ATTR_PERIOD),
		.sample_type = perf_u64(bytes + ATTR_SAMPLE_TYPE),
		.flags = perf_u64(bytes + ATTR_FLAGS),
		.name = "",
		.ids = file->bytes + ids.offset,
		.id_count = (size_t)(ids.bytes / 8) };
	return 0;
}

/* Entries may be longer than any struct perf_event_attr known here: fields are added. */
static int
parse_attrs(struct perf_file *file, struct tz_error *err)
{
	uint64_t entry = perf_u64(&file->bytes[HEADER_ATTR_BYTES]);
	struct perf_section attrs;
	int error = perf_section_read(
	    file, HEADER_ATTRS, "event attributes", &attrs, err);

	if (error != 0)
		return error;
	if (entry < PERF_ATTR_VER0_BYTES + PERF_SECTION_BYTES ||
	    entry % 8 != 0 || attrs.bytes % entry != 0 ||
	    attrs.bytes / entry > ATTRS_MAX)
		return tz_error(err, TZ_EFORMAT,
		    "%s: at byte %d: %" PRIu64 " bytes of event attributes, "
		    "each of %" PRIu64,
		    file->path, HEADER_ATTR_BYTES, attrs.bytes, entry);
	if (attrs.bytes == 0)
		return tz_error(err, TZ_EFORMAT,
		    "%s: at byte %d: no event was recorded", file->path,
		    HEADER_ATTRS);
	file->attr_count = (size_t)(attrs.bytes / entry);
	file->attrs = calloc(file->attr_count, sizeof(*file->attrs));
	if (file->attrs == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", file->path);
	for (size_t i = 0; error == 0 && i < file->attr_count; i++)
		error = parse_attr(file, attrs.offset + i * entry, entry,
		    &file->attrs[i], err);
	return error;
}

/* The section of the records.  perf fills its size in when it ends. */
static int
parse_data(
    struct perf_file *file, struct perf_section *data, struct tz_error *err)
{
	int error = perf_section_read(file, HEADER_DATA, "records", data, err);

	if (error == 0 && data->bytes == 0) {
		file->unfinished = true;
		data->bytes = file->count - data->offset;
	}
	return error;
}

static int
parse_all(struct perf_file *file, struct tz_error *err)
{
	struct perf_section data = { 0 };
	int error = parse_magic(file, err);

	if (error == 0)
		error = parse_header(file, err);
	if (error == 0)
		error = parse_attrs(file, err);
	if (error == 0)
		error = parse_data(file, &data, err);
	if (error == 0 && !file->unfinished)
		error = perf_features_read(file, data.offset + data.bytes,
		    &file->bytes[HEADER_FEATURES], err);
	if (error == 0)
		error = perf_record_scan(file, &data,
		    &((struct perf_owned *)file->owned)->feed, err);
	return error;
}

int
perf_file_parse(const char *path, const uint8_t *bytes, uint64_t count,
    struct perf_file **out, struct tz_error *err)
{
	struct perf_file *file = calloc(1, sizeof(*file));
	struct perf_owned *owned = calloc(1, sizeof(*owned));
	int error;

	*out = NULL;
	if (file == NULL || owned == NULL ||
	    (owned->path = strdup(path)) == NULL) {
		free(file);
		free(owned);
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	}
	*file = (struct perf_file){ .path = owned->path,
		.bytes = bytes,
		.count = count,
		.hostname = "",
		.osrelease = "",
		.version = "",
		.arch = "",
		.cpudesc = "",
		.cpuid = "",
		.owned = owned };
	error = parse_all(file, err);
	if (error != 0)
		perf_file_close(file);
	else
		*out = file;
	return error;
}

void
perf_file_close(struct perf_file *file)
{
	struct perf_owned *owned;

	if (file == NULL)
		return;
	owned = file->owned;
	if (owned->mapped != NULL)
		munmap(owned->mapped, (size_t)owned->mapped_bytes);
	zfile_feed_destroy(owned->feed);
	free(owned->path);
	free(owned);
	free(file->attrs);
	free(file->build_ids);
	free(file->pmus);
	free(file->cores);
	free(file->records);
	free(file);
}

/* The file itself: that in a directory has the name `data`. */
static void
file_path(const char *path, char *room, size_t bytes)
{
	struct stat st;
	bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);

	snprintf(room, bytes, "%s%s", path, folder ? "/data" : "");
}

int
perf_file_open(const char *path, struct perf_file **out, struct tz_error *err)
{
	char name[4096];
	FILE *file;
	struct stat st;
	uint8_t *bytes = NULL;
	int error;

	*out = NULL;
	file_path(path, name, sizeof(name));
	error = input_open(name, INPUT_PERF_DATA, &file, err);
	if (error != 0)
		return error;
	if (fstat(fileno(file), &st) != 0)
		error = tz_error(err, TZ_EIO, "%s: %s", name, strerror(errno));
	else if (st.st_size == 0)
		error = tz_error(err, TZ_EFORMAT,
		    "%s: at byte 0: not a perf.data file: it is empty", name);
	else
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
		    fileno(file), 0);
	if (bytes == MAP_FAILED)
		error = tz_error(err, TZ_EIO, "%s: %s", name, strerror(errno));
	(void)fclose(file);
	if (error != 0)
		return error;
	error = perf_file_parse(name, bytes, (uint64_t)st.st_size, out, err);
	if (error != 0) {
		munmap(bytes, (size_t)st.st_size);
		return error;
	}
	((struct perf_owned *)(*out)->owned)->mapped = bytes;
	((struct perf_owned *)(*out)->owned)->mapped_bytes = (*out)->count;
	return 0;
}

bool
perf_file_is(const char *path)
{
	char name[4096], magic[MAGIC_BYTES];
	FILE *file;
	size_t got;

	file_path(path, name, sizeof(name));
	if (input_open(name, INPUT_PERF_DATA, &file, NULL) != 0)
		return false;
	got = fread(magic, 1, sizeof(magic), file);
	(void)fclose(file);
	for (size_t i = 0; i < TZ_ARRAY_LEN(magics); i++)
		if (got == sizeof(magic) &&
		    memcmp(magic, magics[i].magic, MAGIC_BYTES) == 0)
			return true;
	return false;
}
