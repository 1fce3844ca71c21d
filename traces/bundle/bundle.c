#include "traces/bundle/bundle.h"

#include "harness/host/input.h"
#include "traces/bundle/manifest.h"
#include "traces/bundle/zfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Limit of the sum of all files: bundle_open() reads each of them. */
#define BUNDLE_BYTES_MAX (UINT64_C(8) << 30)

static int
bundle_path(
    const char *dir, const char *name, char path[4096], struct tz_error *err)
{
	if (snprintf(path, 4096, "%s/%s", dir, name) < 4096)
		return 0;
	return tz_error(err, TZ_EUSAGE, "%s: path too long", dir);
}

/* Reads the whole file NAME of the bundle at DIR. */
static int
bundle_load(const char *dir, const char *name, uint8_t **bytes, size_t *count,
    struct tz_error *err)
{
	char path[4096];
	int error = bundle_path(dir, name, path, err);

	*bytes = NULL;
	*count = 0;
	return error != 0 ? error
			  : input_read(path, INPUT_PART, bytes, count, err);
}

/* True if NAME stays inside the bundle and has no characters special to a shell. */
static bool
bundle_name_is_safe(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-/";

	return name[0] != '\0' && name[0] != '/' &&
	    strspn(name, allowed) == strlen(name) && strstr(name, "..") == NULL;
}

/* Called before reading: a sparse file takes no disk space, but time to read. */
static int
bundle_check_size(
    const char *dir, const struct manifest_file *file, struct tz_error *err)
{
	char path[4096];
	struct stat st;
	int error;

	if (!bundle_name_is_safe(file->name))
		return tz_error(
		    err, TZ_EFORMAT, "manifest.json: bad file name");
	error = bundle_path(dir, file->name, path, err);
	if (error != 0)
		return error;
	if (stat(path, &st) != 0)
		return errno == ENOENT
		    ? tz_error(err, TZ_EFORMAT, "%s: missing", file->name)
		    : tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size != file->bytes)
		return tz_error(err, TZ_EFORMAT,
		    "%s: %s: has %jd bytes, should have %llu", file->name,
		    (uint64_t)st.st_size < file->bytes ? "truncated"
						       : "too long",
		    (intmax_t)st.st_size, (unsigned long long)file->bytes);
	return 0;
}

/* Compares each block of FILE, which is open as OPENED, with its digest. */
static int
bundle_check_blocks(
    FILE *opened, const struct manifest_file *file, struct tz_error *err)
{
	char check[DIGEST_TEXT_BYTES];
	uint8_t *block = malloc(DIGEST_BLOCK_BYTES);
	int error = 0;

	if (block == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", file->name);
	for (uint64_t at = 0; error == 0 && at < file->bytes;) {
		uint64_t left = file->bytes - at;
		size_t size = left < DIGEST_BLOCK_BYTES ? left
							: DIGEST_BLOCK_BYTES;

		if (fread(block, 1, size, opened) != size) {
			error = tz_error(err, TZ_EIO,
			    "%s: changes while it is read", file->name);
			break;
		}
		digest_bytes(block, size, check);
		if (strcmp(check, file->blocks[at / DIGEST_BLOCK_BYTES]) != 0)
			error = tz_error(err, TZ_EFORMAT,
			    "%s: corrupt in bytes %" PRIu64 "..%" PRIu64,
			    file->name, at, at + size - 1);
		at += size;
	}
	free(block);
	return error;
}

static int
bundle_check_file(
    const char *dir, const struct manifest_file *file, struct tz_error *err)
{
	char path[4096];
	FILE *opened;
	int error = bundle_check_size(dir, file, err);

	if (error == 0)
		error = bundle_path(dir, file->name, path, err);
	if (error == 0)
		error = input_open(path, INPUT_PART, &opened, err);
	if (error != 0)
		return error;
	error = bundle_check_blocks(opened, file, err);
	fclose(opened);
	return error;
}

/* The entry of the checked file NAME, or NULL. */
static const struct manifest_file *
bundle_find_file(const struct manifest_files *files, const char *name)
{
	for (size_t i = 0; i < files->count; i++) {
		if (strcmp(files->files[i].name, name) == 0)
			return &files->files[i];
	}
	return NULL;
}

/* Checks that the manifest lists every file that the functions below read. */
static int
bundle_check_parts(struct bundle *bundle, const struct manifest_files *files,
    struct tz_error *err)
{
	const struct manifest_file *file;
	char name[BUNDLE_NAME_BYTES];

	for (size_t i = 0; i < bundle->image_count; i++) {
		const struct bundle_image *image = &bundle->images[i];

		file = bundle_find_file(files, image->file);
		if (file == NULL || image->bytes == 0 ||
		    image->offset + image->bytes > file->bytes ||
		    image->va + image->bytes < image->va)
			return tz_error(err, TZ_EFORMAT,
			    "manifest.json: image \"%s\" exceeds its file",
			    image->name);
	}
	for (size_t i = 0; i < bundle->stream_count; i++) {
		file = bundle_find_file(files, bundle->streams[i].file);
		if (file == NULL || file->bytes != bundle->streams[i].bytes)
			return tz_error(err, TZ_EFORMAT,
			    "manifest.json: stream \"%s\" is not its file",
			    bundle->streams[i].file);
	}
	for (size_t i = 0; i < bundle->object_count; i++) {
		if (bundle_find_file(files, bundle->objects[i].file) == NULL)
			return tz_error(err, TZ_EFORMAT,
			    "manifest.json: object \"%s\" has no file",
			    bundle->objects[i].name);
	}
	for (unsigned cpu = 0; cpu < bundle->info.cpu_count; cpu++) {
		snprintf(name, sizeof(name), "truth-cpu%u.zst", cpu);
		if (bundle_find_file(files, name) == NULL)
			return tz_error(
			    err, TZ_EFORMAT, "manifest.json: no %s", name);
	}
	bundle->has_perf_data = bundle_find_file(files, "perf.data") != NULL;
	if (bundle_find_file(files, "events.zst") == NULL)
		return tz_error(
		    err, TZ_EFORMAT, "manifest.json: no events.zst");
	return 0;
}

static int
bundle_load_images(struct bundle *bundle, struct tz_error *err)
{
	for (size_t i = 0; i < bundle->image_count; i++) {
		struct bundle_image *image = &bundle->images[i];
		uint8_t *bytes;
		size_t count;
		int error = bundle_load(
		    bundle->path, image->file, &bytes, &count, err);

		if (error != 0)
			return error;
		memmove(bytes, &bytes[image->offset], image->bytes);
		image->code = bytes;
	}
	return 0;
}

static int
bundle_check(struct bundle *bundle, struct tz_error *err)
{
	struct manifest_files files = { 0 };
	uint64_t total = 0;
	char path[4096];
	uint8_t *text;
	size_t count;
	int error;

	error = bundle_path(bundle->path, "manifest.json", path, err);
	if (error == 0)
		error = input_read(path, INPUT_BUNDLE, &text, &count, err);
	if (error != 0)
		return error;
	error = manifest_parse((const char *)text, count, bundle, &files, err);
	free(text);
	if (error == 0)
		error = bundle_check_parts(bundle, &files, err);
	for (size_t i = 0; error == 0 && i < files.count; i++) {
		total += files.files[i].bytes;
		error = total > BUNDLE_BYTES_MAX
		    ? tz_error(err, TZ_EUSAGE, "%s: more than 8 GiB in all",
			  bundle->path)
		    : bundle_check_file(bundle->path, &files.files[i], err);
	}
	manifest_files_free(&files);
	return error != 0 ? error : bundle_load_images(bundle, err);
}

int
bundle_open(const char *path, struct bundle **out, struct tz_error *err)
{
	struct bundle *bundle = calloc(1, sizeof(*bundle));
	int error;

	*out = NULL;
	if (bundle != NULL)
		bundle->path = strdup(path);
	if (bundle == NULL || bundle->path == NULL)
		error = tz_error(err, TZ_EIO, "%s: out of memory", path);
	else
		error = bundle_check(bundle, err);
	if (error != 0) {
		bundle_close(bundle);
		return error;
	}
	*out = bundle;
	return 0;
}

struct bundle_model
bundle_model_of(const struct bundle *bundle, uint32_t cpus)
{
	struct bundle_model all = { .signature = 0 };
	bool first = true;

	for (unsigned i = 0; i < bundle->info.cpu_count; i++) {
		const struct bundle_model *model = &bundle->info.model[i];

		if (cpus != 0 && (cpus >> i & 1) == 0)
			continue;
		if (first)
			all = *model;
		if (strcmp(model->profile, all.profile) != 0)
			all.profile[0] = '\0';
		if (model->signature != all.signature)
			all.signature = 0;
		all.errata |= model->errata;
		first = false;
	}
	return all;
}

uint32_t
bundle_stream_cpus(const struct bundle_stream *stream)
{
	return stream->thread || stream->id >= BUNDLE_CPUS_MAX
	    ? 0
	    : UINT32_C(1) << stream->id;
}

void
bundle_close(struct bundle *bundle)
{
	if (bundle == NULL)
		return;
	for (size_t i = 0; bundle->images != NULL && i < bundle->image_count;
	     i++)
		free(bundle->images[i].code);
	free(bundle->images);
	free(bundle->objects);
	free(bundle->streams);
	free(bundle->path);
	free(bundle);
}

int
bundle_read_stream(const struct bundle *bundle, size_t index, uint8_t **bytes,
    size_t *count, struct tz_error *err)
{
	TZ_ASSERT(index < bundle->stream_count);
	return bundle_load(
	    bundle->path, bundle->streams[index].file, bytes, count, err);
}

int
bundle_open_stream(const struct bundle *bundle, size_t index, FILE **file,
    uint64_t *count, struct tz_error *err)
{
	const char *name;
	char path[4096];
	struct stat st;
	int error;

	TZ_ASSERT(index < bundle->stream_count);
	name = bundle->streams[index].file;
	error = bundle_path(bundle->path, name, path, err);
	if (error == 0)
		error = input_open(path, INPUT_PART, file, err);
	if (error != 0)
		return error;
	if (fstat(fileno(*file), &st) != 0) {
		fclose(*file);
		return tz_error(err, TZ_EIO, "%s: %s", name, strerror(errno));
	}
	*count = (uint64_t)st.st_size;
	return 0;
}

/* Reads a compressed file that holds elements of SIZE bytes. */
static int
bundle_read_packed(const struct bundle *bundle, const char *name, size_t size,
    uint8_t **content, size_t *count, struct tz_error *err)
{
	uint8_t *packed;
	size_t packed_bytes, bytes;
	int error;

	*content = NULL;
	*count = 0;
	error = bundle_load(bundle->path, name, &packed, &packed_bytes, err);
	if (error != 0)
		return error;
	error = zfile_decompress(
	    name, packed, packed_bytes, content, &bytes, err);
	free(packed);
	if (error != 0)
		return error;
	if (bytes % size != 0) {
		free(*content);
		*content = NULL;
		return tz_error(err, TZ_EFORMAT,
		    "%s: content of %zu bytes ends in a record", name, bytes);
	}
	*count = bytes / size;
	return 0;
}

int
bundle_read_events(const struct bundle *bundle, struct event **events,
    size_t *count, struct tz_error *err)
{
	uint8_t *content;
	int error;

	*events = NULL;
	error = bundle_read_packed(
	    bundle, "events.zst", sizeof(**events), &content, count, err);
	if (error != 0)
		return error;
	*events = (struct event *)(void *)content;
	for (size_t i = 0; i < *count; i++) {
		const struct event *event = &(*events)[i];

		if (event->kind < EVENT_KIND_COUNT &&
		    event->cpu < bundle->info.cpu_count)
			continue;
		free(content);
		*events = NULL;
		return tz_error(err, TZ_EFORMAT,
		    "events.zst: record %zu: bad kind or CPU", i);
	}
	return 0;
}

int
bundle_open_exec_log(const struct bundle *bundle, unsigned cpu,
    char name[BUNDLE_NAME_BYTES], FILE **file, struct tz_error *err)
{
	char path[4096];
	int error;

	snprintf(name, BUNDLE_NAME_BYTES, "truth-cpu%u.zst", cpu);
	error = bundle_path(bundle->path, name, path, err);
	return error != 0 ? error : input_open(path, INPUT_PART, file, err);
}

int
bundle_read_log(const struct bundle *bundle, unsigned log, size_t count,
    uint8_t **bytes, struct tz_error *err)
{
	char name[BUNDLE_NAME_BYTES];
	size_t got;
	int error;

	snprintf(name, sizeof(name), "pmclog%u", log);
	error = bundle_load(bundle->path, name, bytes, &got, err);
	if (error != 0 || got == count)
		return error;
	free(*bytes);
	*bytes = NULL;
	return tz_error(err, TZ_EFORMAT,
	    "%s: has %zu bytes, user space read %zu", name, got, count);
}
