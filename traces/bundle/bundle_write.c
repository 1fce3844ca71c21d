#include "traces/bundle/bundle_write.h"

#include "harness/host/folder/tree.h"
#include "traces/bundle/manifest.h"
#include "traces/bundle/zfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BUNDLE_STREAMS_MAX 1024
#define BUNDLE_PARTS_MAX   256 /* images, objects */

struct bundle_exec_log {
	struct bundle_writer *writer;
	struct zfile_writer *file;
};

struct bundle_writer {
	char *path;
	unsigned cpu_count;
	int error; /* the first error, with its text */
	struct tz_error err;
	struct zfile_writer *events;
	struct bundle_exec_log exec_log[BUNDLE_CPUS_MAX];
	FILE *trace_off[BUNDLE_CPUS_MAX];
	FILE *log[BUNDLE_LOGS_MAX];
	FILE *drained[BUNDLE_STREAMS_MAX];
	struct bundle bundle;
	struct manifest_files files;
};

static void
bundle_file_path(const struct bundle_writer *writer, const char *name,
    char *path, size_t size)
{
	snprintf(path, size, "%s/%s", writer->path, name);
}

static FILE *
bundle_file_create(struct bundle_writer *writer, const char *name)
{
	char path[4096];
	FILE *file;

	bundle_file_path(writer, name, path, sizeof(path));
	file = fopen(path, "wxe");
	if (file == NULL)
		writer->error = tz_error(
		    &writer->err, TZ_EIO, "%s: %s", path, strerror(errno));
	return file;
}

static void
bundle_file_write(struct bundle_writer *writer, FILE *file, const char *name,
    const void *bytes, size_t count)
{
	if (count != 0 && fwrite(bytes, 1, count, file) != count)
		writer->error = tz_error(&writer->err, TZ_EIO, "%s/%s: %s",
		    writer->path, name, strerror(errno));
}

/* Closes *FILE, if it is open. */
static void
bundle_file_close(struct bundle_writer *writer, FILE **file)
{
	if (*file != NULL && fclose(*file) != 0 && writer->error == 0)
		writer->error = tz_error(&writer->err, TZ_EIO, "%s: %s",
		    writer->path, strerror(errno));
	*file = NULL;
}

static void
bundle_packed_close(struct bundle_writer *writer, struct zfile_writer **file)
{
	struct tz_error *err = writer->error == 0 ? &writer->err : NULL;
	int error = *file == NULL ? 0 : zfile_finish(*file, err);

	if (writer->error == 0)
		writer->error = error;
	*file = NULL;
}

/* Adds the file NAME to the manifest's list. */
static void
bundle_list_file(struct bundle_writer *writer, const char *name)
{
	struct manifest_files *files = &writer->files;
	struct manifest_file *grown = realloc(
	    files->files, (files->count + 1) * sizeof(*files->files));

	if (grown == NULL) {
		writer->error = tz_error(
		    &writer->err, TZ_EIO, "%s: out of memory", name);
		return;
	}
	files->files = grown;
	memset(&grown[files->count], 0, sizeof(*grown));
	snprintf(grown[files->count].name, sizeof(grown->name), "%s", name);
	files->count++;
}

static void
bundle_close_files(struct bundle_writer *writer)
{
	bundle_packed_close(writer, &writer->events);
	for (unsigned cpu = 0; cpu < BUNDLE_CPUS_MAX; cpu++) {
		bundle_packed_close(writer, &writer->exec_log[cpu].file);
		bundle_file_close(writer, &writer->trace_off[cpu]);
	}
	for (size_t i = 0; i < BUNDLE_LOGS_MAX; i++)
		bundle_file_close(writer, &writer->log[i]);
	for (size_t i = 0; i < BUNDLE_STREAMS_MAX; i++)
		bundle_file_close(writer, &writer->drained[i]);
}

static void
bundle_writer_free(struct bundle_writer *writer)
{
	manifest_files_free(&writer->files);
	free(writer->bundle.images);
	free(writer->bundle.objects);
	free(writer->bundle.streams);
	free(writer->path);
	free(writer);
}

static void
bundle_open_packed(
    struct bundle_writer *writer, const char *name, struct zfile_writer **file)
{
	char path[4096];

	if (writer->error != 0)
		return;
	bundle_file_path(writer, name, path, sizeof(path));
	writer->error = zfile_create(path, file, &writer->err);
	if (writer->error == 0)
		bundle_list_file(writer, name);
}

static void
bundle_start(struct bundle_writer *writer)
{
	char name[BUNDLE_NAME_BYTES];

	bundle_open_packed(writer, "events.zst", &writer->events);
	for (unsigned cpu = 0; cpu < writer->cpu_count; cpu++) {
		snprintf(name, sizeof(name), "truth-cpu%u.zst", cpu);
		writer->exec_log[cpu].writer = writer;
		bundle_open_packed(writer, name, &writer->exec_log[cpu].file);
	}
}

static int
refuse_entry(void *arg, const char *name, const struct stat *st)
{
	(void)arg;
	(void)name;
	(void)st;
	return -TZ_EUSAGE;
}

/* Creates the bundle's folder and the folders in it. */
static int
bundle_make_folders(const char *path, struct tz_error *err)
{
	static const char *const folders[] = { "images", "objects" };
	char folder[4096];
	int error;

	if (mkdir(path, 0777) != 0 && errno != EEXIST)
		return tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	error = tree_walk(path, refuse_entry, NULL, err);
	if (error == -TZ_EUSAGE)
		return tz_error(err, TZ_EUSAGE, "%s: is not empty", path);
	for (size_t i = 0; error == 0 && i < TZ_ARRAY_LEN(folders); i++) {
		snprintf(folder, sizeof(folder), "%s/%s", path, folders[i]);
		if (mkdir(folder, 0777) != 0)
			error = tz_error(
			    err, TZ_EIO, "%s: %s", folder, strerror(errno));
	}
	return error;
}

int
bundle_create(const char *path, unsigned cpu_count, struct bundle_writer **out,
    struct tz_error *err)
{
	struct bundle_writer *writer = calloc(1, sizeof(*writer));
	int error;

	TZ_ASSERT(cpu_count >= 1 && cpu_count <= BUNDLE_CPUS_MAX);
	*out = NULL;
	if (writer == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	writer->cpu_count = cpu_count;
	writer->path = strdup(path);
	writer->bundle.images = calloc(
	    BUNDLE_PARTS_MAX, sizeof(*writer->bundle.images));
	writer->bundle.objects = calloc(
	    BUNDLE_PARTS_MAX, sizeof(*writer->bundle.objects));
	writer->bundle.streams = calloc(
	    BUNDLE_STREAMS_MAX, sizeof(*writer->bundle.streams));
	if (writer->path == NULL || writer->bundle.images == NULL ||
	    writer->bundle.objects == NULL || writer->bundle.streams == NULL)
		error = tz_error(err, TZ_EIO, "%s: out of memory", path);
	else
		error = bundle_make_folders(path, err);
	if (error != 0) {
		bundle_writer_free(writer);
		return error;
	}
	bundle_start(writer);
	error = bundle_error(writer, err);
	if (error != 0) {
		bundle_abandon(writer);
		return error;
	}
	*out = writer;
	return 0;
}

/* Writes a whole file at once and lists it. */
static int
bundle_put_file(struct bundle_writer *writer, const char *name,
    const void *bytes, size_t count)
{
	FILE *file = bundle_file_create(writer, name);

	if (file == NULL)
		return writer->error;
	bundle_file_write(writer, file, name, bytes, count);
	bundle_file_close(writer, &file);
	if (writer->error == 0)
		bundle_list_file(writer, name);
	return writer->error;
}

/* The file name of an image or object: its number, then the letters and digits of NAME. */
static void
bundle_part_name(const char *folder, size_t index, const char *name,
    char out[BUNDLE_NAME_BYTES])
{
	size_t length = (size_t)snprintf(
	    out, BUNDLE_NAME_BYTES, "%s/%02zu-", folder, index);

	for (; *name != '\0' && length < BUNDLE_NAME_BYTES - 1; name++) {
		bool plain = (*name >= 'a' && *name <= 'z') ||
		    (*name >= 'A' && *name <= 'Z') ||
		    (*name >= '0' && *name <= '9');

		out[length++] = plain ? *name : '_';
	}
	out[length] = '\0';
}

int
bundle_add_image(struct bundle_writer *writer, const char *name, uint64_t va,
    const void *bytes, size_t count)
{
	struct bundle *bundle = &writer->bundle;
	struct bundle_image *image = &bundle->images[bundle->image_count];

	TZ_ASSERT(count != 0);
	if (writer->error != 0)
		return writer->error;
	if (bundle->image_count == BUNDLE_PARTS_MAX)
		return writer->error = tz_error(&writer->err, TZ_EUSAGE,
			   "%s: more than %d code images", name,
			   BUNDLE_PARTS_MAX);
	bundle_part_name("images", bundle->image_count, name, image->file);
	snprintf(image->name, sizeof(image->name), "%s", name);
	image->va = va;
	image->bytes = count;
	bundle->image_count++;
	return bundle_put_file(writer, image->file, bytes, count);
}

int
bundle_add_object(struct bundle_writer *writer, const char *name, uint64_t bias,
    const void *bytes, size_t count)
{
	struct bundle *bundle = &writer->bundle;
	struct bundle_object *object = &bundle->objects[bundle->object_count];

	if (writer->error != 0)
		return writer->error;
	if (bundle->object_count == BUNDLE_PARTS_MAX)
		return writer->error = tz_error(&writer->err, TZ_EUSAGE,
			   "%s: more than %d objects", name, BUNDLE_PARTS_MAX);
	bundle_part_name("objects", bundle->object_count, name, object->file);
	snprintf(object->name, sizeof(object->name), "%s", name);
	object->bias = bias;
	bundle->object_count++;
	return bundle_put_file(writer, object->file, bytes, count);
}

int
bundle_add_text(struct bundle_writer *writer, const char *name,
    const char *text, size_t count)
{
	TZ_ASSERT(strchr(name, '/') == NULL);
	TZ_ASSERT(strlen(name) < BUNDLE_NAME_BYTES);
	if (writer->error != 0)
		return writer->error;
	return bundle_put_file(writer, name, text, count);
}

void *
bundle_exec_log_arg(struct bundle_writer *writer, unsigned cpu)
{
	TZ_ASSERT(cpu < writer->cpu_count);
	return &writer->exec_log[cpu];
}

int
bundle_exec_log_sink(void *arg, const uint32_t *words, size_t count)
{
	struct bundle_exec_log *exec_log = arg;
	struct bundle_writer *writer = exec_log->writer;

	if (writer->error == 0)
		writer->error = zfile_write(exec_log->file, words,
		    count * sizeof(*words), &writer->err);
	return writer->error;
}

int
bundle_add_event(struct bundle_writer *writer, const struct event *event)
{
	if (writer->error == 0)
		writer->error = zfile_write(
		    writer->events, event, sizeof(*event), &writer->err);
	return writer->error;
}

int
bundle_add_stream(struct bundle_writer *writer, uint64_t stream,
    const void *bytes, size_t count)
{
	bool thread = (stream & EVENT_STREAM_THREAD) != 0;
	uint32_t id = EVENT_STREAM_ID(stream);
	struct bundle *bundle = &writer->bundle;
	struct bundle_stream *row = bundle->streams;
	size_t i;

	if (writer->error != 0)
		return writer->error;
	for (i = 0; i < bundle->stream_count; i++, row++) {
		if (row->thread == thread && row->id == id)
			break;
	}
	if (i == BUNDLE_STREAMS_MAX)
		return writer->error = tz_error(&writer->err, TZ_EUSAGE,
			   "more than %d streams", BUNDLE_STREAMS_MAX);
	if (i == bundle->stream_count) {
		snprintf(row->file, sizeof(row->file), "%s%u.pt",
		    thread ? "thread" : "cpu", id);
		row->thread = thread;
		row->id = id;
		writer->drained[i] = bundle_file_create(writer, row->file);
		if (writer->drained[i] == NULL)
			return writer->error;
		bundle_list_file(writer, row->file);
		bundle->stream_count++;
	}
	row->bytes += count;
	if (writer->error == 0)
		bundle_file_write(
		    writer, writer->drained[i], row->file, bytes, count);
	return writer->error;
}

int
bundle_add_log(
    struct bundle_writer *writer, uint64_t log, const void *bytes, size_t count)
{
	char name[BUNDLE_NAME_BYTES];

	if (writer->error != 0)
		return writer->error;
	if (log >= BUNDLE_LOGS_MAX)
		return writer->error = tz_error(&writer->err, TZ_EUSAGE,
			   "more than %d logs", BUNDLE_LOGS_MAX);
	snprintf(name, sizeof(name), "pmclog%u", (unsigned)log);
	if (writer->log[log] == NULL) {
		writer->log[log] = bundle_file_create(writer, name);
		if (writer->log[log] == NULL)
			return writer->error;
		bundle_list_file(writer, name);
	}
	bundle_file_write(writer, writer->log[log], name, bytes, count);
	return writer->error;
}

int
bundle_add_trace_off(struct bundle_writer *writer, unsigned cpu,
    const struct trace_off_header *header, const void *bytes)
{
	char name[BUNDLE_NAME_BYTES];

	TZ_ASSERT(cpu < writer->cpu_count);
	if (writer->error != 0)
		return writer->error;
	snprintf(name, sizeof(name), "cpu%u.trace-off", cpu);
	if (writer->trace_off[cpu] == NULL) {
		writer->trace_off[cpu] = bundle_file_create(writer, name);
		if (writer->trace_off[cpu] == NULL)
			return writer->error;
		bundle_list_file(writer, name);
	}
	bundle_file_write(
	    writer, writer->trace_off[cpu], name, header, sizeof(*header));
	bundle_file_write(
	    writer, writer->trace_off[cpu], name, bytes, header->bytes);
	return writer->error;
}

/* Fills in FILE's size and digests from the file on disk. */
static void
bundle_digest_file(struct bundle_writer *writer, struct manifest_file *file)
{
	uint8_t *block = malloc(DIGEST_BLOCK_BYTES);
	char path[4096];
	size_t count, blocks = 0;
	FILE *in;

	bundle_file_path(writer, file->name, path, sizeof(path));
	in = fopen(path, "re");
	while (in != NULL && block != NULL &&
	    (count = fread(block, 1, DIGEST_BLOCK_BYTES, in)) != 0) {
		void *grown = realloc(
		    file->blocks, (blocks + 1) * sizeof(*file->blocks));

		if (grown == NULL)
			break;
		file->blocks = grown;
		digest_bytes(block, count, file->blocks[blocks++]);
		file->bytes += count;
	}
	if (in == NULL || block == NULL || ferror(in) || !feof(in))
		writer->error = tz_error(
		    &writer->err, TZ_EIO, "%s: cannot be read", path);
	if (in != NULL)
		fclose(in);
	free(block);
}

static void
bundle_put_manifest(
    struct bundle_writer *writer, const struct bundle_info *info)
{
	char *text;

	for (size_t i = 0; i < writer->files.count && writer->error == 0; i++)
		bundle_digest_file(writer, &writer->files.files[i]);
	if (writer->error != 0)
		return;
	writer->bundle.info = *info;
	writer->bundle.info.cpu_count = writer->cpu_count;
	text = manifest_format(&writer->bundle, &writer->files);
	if (text == NULL)
		writer->error = tz_error(
		    &writer->err, TZ_EIO, "manifest.json: out of memory");
	else
		(void)bundle_put_file(
		    writer, "manifest.json", text, strlen(text));
	free(text);
}

int
bundle_error(const struct bundle_writer *writer, struct tz_error *err)
{
	if (writer->error == 0)
		return 0;
	return tz_error(
	    err, (enum tz_errno) - writer->error, "%s", writer->err.text);
}

int
bundle_finish(struct bundle_writer *writer, const struct bundle_info *info,
    struct tz_error *err)
{
	int error;

	bundle_close_files(writer);
	if (writer->error == 0)
		bundle_put_manifest(writer, info);
	error = bundle_error(writer, err);
	if (error == 0)
		bundle_writer_free(writer);
	else
		bundle_abandon(writer);
	return error;
}

void
bundle_abandon(struct bundle_writer *writer)
{
	if (writer == NULL)
		return;
	bundle_close_files(writer);
	(void)tree_remove(writer->path);
	bundle_writer_free(writer);
}
