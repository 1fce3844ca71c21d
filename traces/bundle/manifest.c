#include "traces/bundle/manifest.h"

#include "traces/bundle/manifest_model.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANIFEST_COST_MODEL "model" /* "cost" of "cpu" */

/* 64-bit numbers are hexadecimal text: JSON integers are limited to 2^63 - 1. */
static json_t *
manifest_hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

static json_t *
manifest_integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* TEXT may be no UTF-8 (a guest's message): invalid bytes become '?'. */
static json_t *
manifest_text(const char *text)
{
	json_t *string = json_string(text);
	char safe[512];
	size_t i;

	if (string != NULL)
		return string;
	for (i = 0; text[i] != '\0' && i < sizeof(safe) - 1; i++)
		safe[i] = (signed char)text[i] < 0 ? '?' : text[i];
	safe[i] = '\0';
	return json_string(safe);
}

static json_t *
manifest_counters(const struct bundle_info *info)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < info->cpu_count; i++) {
		const struct bundle_counters *cpu = &info->cpu[i];

		json_array_append_new(list,
		    json_pack("{s:o, s:o, s:o, s:o}", "insns",
			manifest_integer(cpu->insns), "trace_bytes",
			manifest_integer(cpu->trace_bytes), "pmis",
			manifest_integer(cpu->pmis), "nmis",
			manifest_integer(cpu->nmis)));
	}
	return list;
}

static json_t *
manifest_images(const struct bundle *bundle)
{
	json_t *list = json_array();

	for (size_t i = 0; i < bundle->image_count; i++) {
		const struct bundle_image *image = &bundle->images[i];

		json_array_append_new(list,
		    json_pack("{s:s, s:s, s:o, s:o, s:o}", "file", image->file,
			"name", image->name, "va", manifest_hex(image->va),
			"bytes", manifest_integer(image->bytes), "offset",
			manifest_integer(image->offset)));
	}
	return list;
}

static json_t *
manifest_objects(const struct bundle *bundle)
{
	json_t *list = json_array();

	for (size_t i = 0; i < bundle->object_count; i++) {
		const struct bundle_object *object = &bundle->objects[i];

		json_array_append_new(list,
		    json_pack("{s:s, s:s, s:o}", "file", object->file, "name",
			object->name, "bias", manifest_hex(object->bias)));
	}
	return list;
}

static json_t *
manifest_streams(const struct bundle *bundle)
{
	json_t *list = json_array();

	for (size_t i = 0; i < bundle->stream_count; i++) {
		const struct bundle_stream *stream = &bundle->streams[i];

		json_array_append_new(list,
		    json_pack("{s:s, s:s, s:o, s:o}", "file", stream->file,
			"kind", stream->thread ? "thread" : "cpu", "id",
			manifest_integer(stream->id), "bytes",
			manifest_integer(stream->bytes)));
	}
	return list;
}

static json_t *
manifest_digests(const struct manifest_files *files)
{
	json_t *all = json_object();

	for (size_t i = 0; i < files->count; i++) {
		const struct manifest_file *file = &files->files[i];
		json_t *blocks = json_array();

		for (size_t j = 0; j < digest_blocks(file->bytes); j++)
			json_array_append_new(
			    blocks, json_string(file->blocks[j]));
		json_object_set_new(all, file->name,
		    json_pack("{s:o, s:o}", "bytes",
			manifest_integer(file->bytes), "xxh3", blocks));
	}
	return all;
}

/* The digest of ROOT without its member "check". */
static bool
manifest_check(json_t *root, char text[DIGEST_TEXT_BYTES])
{
	char *dump = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);

	if (dump == NULL)
		return false;
	digest_bytes(dump, strlen(dump), text);
	free(dump);
	return true;
}

char *
manifest_format(const struct bundle *bundle, const struct manifest_files *files)
{
	const struct bundle_info *info = &bundle->info;
	char check[DIGEST_TEXT_BYTES];
	char *text = NULL;
	json_t *root;

	root = json_pack("{s:i, s:{s:s, s:s, s:s}, s:{s:i, s:o}, s:s, s:o, "
			 "s:{s:s, s:i, s:o}, s:o, s:o, s:o, s:o, s:o, s:i}",
	    "topaz", BUNDLE_VERSION, "driver", "name", info->driver, "source",
	    info->source, "sha256", info->sha256, "cpu", "count",
	    (int)info->cpu_count, "models", manifest_models_format(info),
	    "scenario", info->scenario, "cmdline", manifest_text(info->cmdline),
	    "result", "end", info->end, "code", info->code, "text",
	    manifest_text(info->text), "counters", manifest_counters(info),
	    "images", manifest_images(bundle), "objects",
	    manifest_objects(bundle), "streams", manifest_streams(bundle),
	    "files", manifest_digests(files), "digest_block",
	    (int)DIGEST_BLOCK_BYTES);
	if (root == NULL)
		return NULL;
	if (info->core_cbr != 0)
		json_object_set_new(json_object_get(root, "cpu"), "core_cbr",
		    json_integer(info->core_cbr));
	if (info->cost)
		json_object_set_new(json_object_get(root, "cpu"), "cost",
		    json_string(MANIFEST_COST_MODEL));
	if (manifest_check(root, check)) {
		json_object_set_new(root, "check", json_string(check));
		text = json_dumps(root, JSON_INDENT(1) | JSON_SORT_KEYS);
	}
	json_decref(root);
	return text;
}

/* Context of reading; it keeps the first error. */
struct manifest_reader {
	struct tz_error *err;
	unsigned version;
	int error;
};

static void
manifest_bad(struct manifest_reader *reader, const char *key, const char *why)
{
	if (reader->error == 0)
		reader->error = tz_error(reader->err, TZ_EFORMAT,
		    "manifest.json: member \"%s\" %s", key, why);
}

static void
manifest_get_text(struct manifest_reader *reader, const json_t *from,
    const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(from, key));

	out[0] = '\0';
	if (text == NULL)
		manifest_bad(reader, key, "is missing or no string");
	else if (strlen(text) >= size)
		manifest_bad(reader, key, "is too long");
	else
		memcpy(out, text, strlen(text) + 1);
}

static uint64_t
manifest_get_hex(
    struct manifest_reader *reader, const json_t *from, const char *key)
{
	const char *text = json_string_value(json_object_get(from, key));
	char *end = NULL;
	uint64_t value;

	if (text == NULL || strncmp(text, "0x", 2) != 0 || strlen(text) > 18) {
		manifest_bad(reader, key, "is missing or not hexadecimal");
		return 0;
	}
	value = strtoull(&text[2], &end, 16);
	if (end == &text[2] || *end != '\0')
		manifest_bad(reader, key, "is not hexadecimal");
	return value;
}

static uint64_t
manifest_get_count(struct manifest_reader *reader, const json_t *from,
    const char *key, uint64_t max)
{
	const json_t *value = json_object_get(from, key);
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 0 || (uint64_t)number > max) {
		manifest_bad(reader, key, "is missing or out of range");
		return 0;
	}
	return (uint64_t)number;
}

/* Allocates an element of SIZE for each member of the array KEY. */
static void *
manifest_get_list(struct manifest_reader *reader, const json_t *from,
    const char *key, size_t size, size_t *count)
{
	const json_t *list = json_object_get(from, key);
	void *elements;

	*count = 0;
	if (!json_is_array(list)) {
		manifest_bad(reader, key, "is missing or no array");
		return NULL;
	}
	elements = calloc(json_array_size(list) + 1, size);
	if (elements == NULL)
		manifest_bad(reader, key, "does not fit in memory");
	else
		*count = json_array_size(list);
	return elements;
}

/* True if VALUE is the name of the cost model. */
static bool
manifest_is_model(const json_t *value)
{
	const char *text = json_string_value(value);

	return text != NULL && strcmp(text, MANIFEST_COST_MODEL) == 0;
}

static void
manifest_get_info(struct manifest_reader *reader, const json_t *root,
    struct bundle_info *info)
{
	const json_t *driver = json_object_get(root, "driver");
	const json_t *cpu = json_object_get(root, "cpu");
	const json_t *result = json_object_get(root, "result");
	const json_t *list = json_object_get(root, "counters");
	const char *bad;

	manifest_get_text(
	    reader, driver, "name", info->driver, sizeof(info->driver));
	manifest_get_text(
	    reader, driver, "source", info->source, sizeof(info->source));
	manifest_get_text(
	    reader, driver, "sha256", info->sha256, sizeof(info->sha256));
	info->cpu_count = (unsigned)manifest_get_count(
	    reader, cpu, "count", BUNDLE_CPUS_MAX);
	bad = manifest_models_parse(cpu, reader->version, info);
	if (bad != NULL)
		manifest_bad(reader, bad, "of a CPU is missing or bad");
	if (json_object_get(cpu, "core_cbr") != NULL)
		info->core_cbr = (uint32_t)manifest_get_count(
		    reader, cpu, "core_cbr", UINT8_MAX);
	info->cost = json_object_get(cpu, "cost") != NULL;
	if (info->cost && !manifest_is_model(json_object_get(cpu, "cost")))
		manifest_bad(reader, "cost", "is not \"model\"");
	manifest_get_text(
	    reader, root, "scenario", info->scenario, sizeof(info->scenario));
	manifest_get_text(
	    reader, root, "cmdline", info->cmdline, sizeof(info->cmdline));
	manifest_get_text(reader, result, "end", info->end, sizeof(info->end));
	manifest_get_text(
	    reader, result, "text", info->text, sizeof(info->text));
	info->code = (int)json_integer_value(json_object_get(result, "code"));
	if (json_array_size(list) != info->cpu_count)
		manifest_bad(reader, "counters", "has not one row a CPU");
	for (unsigned i = 0; i < info->cpu_count; i++) {
		const json_t *row = json_array_get(list, i);

		info->cpu[i].insns = manifest_get_count(
		    reader, row, "insns", INT64_MAX);
		info->cpu[i].trace_bytes = manifest_get_count(
		    reader, row, "trace_bytes", INT64_MAX);
		info->cpu[i].pmis = manifest_get_count(
		    reader, row, "pmis", INT64_MAX);
		info->cpu[i].nmis = manifest_get_count(
		    reader, row, "nmis", INT64_MAX);
	}
}

static void
manifest_get_parts(
    struct manifest_reader *reader, const json_t *root, struct bundle *bundle)
{
	bundle->images = manifest_get_list(reader, root, "images",
	    sizeof(*bundle->images), &bundle->image_count);
	for (size_t i = 0; i < bundle->image_count; i++) {
		struct bundle_image *image = &bundle->images[i];
		const json_t *row = json_array_get(
		    json_object_get(root, "images"), i);

		manifest_get_text(
		    reader, row, "file", image->file, sizeof(image->file));
		manifest_get_text(
		    reader, row, "name", image->name, sizeof(image->name));
		image->va = manifest_get_hex(reader, row, "va");
		image->bytes = manifest_get_count(
		    reader, row, "bytes", UINT32_MAX);
		image->offset = manifest_get_count(
		    reader, row, "offset", UINT32_MAX);
	}
	bundle->objects = manifest_get_list(reader, root, "objects",
	    sizeof(*bundle->objects), &bundle->object_count);
	for (size_t i = 0; i < bundle->object_count; i++) {
		struct bundle_object *object = &bundle->objects[i];
		const json_t *row = json_array_get(
		    json_object_get(root, "objects"), i);

		manifest_get_text(
		    reader, row, "file", object->file, sizeof(object->file));
		manifest_get_text(
		    reader, row, "name", object->name, sizeof(object->name));
		object->bias = manifest_get_hex(reader, row, "bias");
	}
	bundle->streams = manifest_get_list(reader, root, "streams",
	    sizeof(*bundle->streams), &bundle->stream_count);
	for (size_t i = 0; i < bundle->stream_count; i++) {
		struct bundle_stream *stream = &bundle->streams[i];
		const json_t *row = json_array_get(
		    json_object_get(root, "streams"), i);
		char kind[8];

		manifest_get_text(
		    reader, row, "file", stream->file, sizeof(stream->file));
		manifest_get_text(reader, row, "kind", kind, sizeof(kind));
		stream->thread = strcmp(kind, "thread") == 0;
		stream->id = (uint32_t)manifest_get_count(
		    reader, row, "id", UINT32_MAX);
		stream->bytes = manifest_get_count(
		    reader, row, "bytes", INT64_MAX);
	}
}

static void
manifest_get_file(struct manifest_reader *reader, const char *name,
    const json_t *row, struct manifest_file *file)
{
	const json_t *blocks = json_object_get(row, "xxh3");
	size_t count;

	if (strlen(name) >= sizeof(file->name)) {
		manifest_bad(reader, "files", "has too long a name");
		return;
	}
	memcpy(file->name, name, strlen(name) + 1);
	file->bytes = manifest_get_count(reader, row, "bytes", INT64_MAX);
	count = digest_blocks(file->bytes);
	if (json_array_size(blocks) != count) {
		manifest_bad(reader, name, "has not one digest a block");
		file->bytes = 0;
		return;
	}
	file->blocks = calloc(count + 1, sizeof(*file->blocks));
	if (file->blocks == NULL) {
		manifest_bad(reader, name, "does not fit in memory");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(blocks, i));

		if (text == NULL || strlen(text) != DIGEST_TEXT_BYTES - 1)
			manifest_bad(reader, name, "has a bad digest");
		else
			memcpy(file->blocks[i], text, DIGEST_TEXT_BYTES);
	}
}

static void
manifest_get_files(
    struct manifest_reader *reader, json_t *root, struct manifest_files *files)
{
	json_t *all = json_object_get(root, "files");
	const char *name;
	json_t *row;

	if (!json_is_object(all)) {
		manifest_bad(reader, "files", "is missing or no object");
		return;
	}
	files->files = calloc(json_object_size(all) + 1, sizeof(*files->files));
	if (files->files == NULL) {
		manifest_bad(reader, "files", "does not fit in memory");
		return;
	}
	json_object_foreach(all, name, row)
	{
		manifest_get_file(
		    reader, name, row, &files->files[files->count]);
		files->count++;
	}
}

int
manifest_parse(const char *text, size_t bytes, struct bundle *bundle,
    struct manifest_files *files, struct tz_error *err)
{
	struct manifest_reader reader = { .err = err };
	char stated[DIGEST_TEXT_BYTES], check[DIGEST_TEXT_BYTES];
	json_error_t json;
	json_t *root;

	root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &json);
	if (root == NULL)
		return tz_error(err, TZ_EFORMAT, "manifest.json:%d:%d: %s",
		    json.line, json.column, json.text);
	reader.version = (unsigned)manifest_get_count(
	    &reader, root, "topaz", INT32_MAX);
	if (reader.version < 1 || reader.version > BUNDLE_VERSION)
		manifest_bad(&reader, "topaz", "is a version unknown here");
	manifest_get_text(&reader, root, "check", stated, sizeof(stated));
	json_object_del(root, "check");
	if (!manifest_check(root, check))
		manifest_bad(&reader, "check", "does not fit in memory");
	else if (strcmp(stated, check) != 0)
		manifest_bad(&reader, "check", "does not match the content");
	if (reader.error == 0) {
		manifest_get_info(&reader, root, &bundle->info);
		manifest_get_parts(&reader, root, bundle);
		manifest_get_files(&reader, root, files);
	}
	json_decref(root);
	return reader.error;
}

void
manifest_files_free(struct manifest_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->files[i].blocks);
	free(files->files);
	files->files = NULL;
	files->count = 0;
}
