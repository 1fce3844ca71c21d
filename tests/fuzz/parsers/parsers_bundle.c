/*
 * Goal: a bundle whose manifest or files hold anything is refused by a message, or
 * verified to a verdict. Method: bundles are written with the digests that belong to
 * what they hold, since a wrong digest ends everything early.
 */
#include "emu/base/exec_log.h"
#include "harness/host/folder/tree.h"
#include "tests/fuzz/parsers/parsers.h"
#include "traces/bundle/bundle_write.h"
#include "traces/bundle/manifest.h"
#include "traces/verify/verify.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define BUNDLE_VA UINT64_C(0x400000)

/* What the files of a bundle hold, part by part. */
struct parts {
	const uint8_t *code, *stream, *trace_off;
	size_t code_bytes, stream_bytes, trace_off_bytes;
	const uint32_t *words;
	size_t word_count;
	const struct event *events;
	size_t event_count;
	bool thread;
};

static void
write_bundle(const char *path, const struct parts *parts)
{
	struct bundle_info info = {
		.driver = "driver",
		.source = "driver.c",
		.model = { { "skylake", 0x506e3, 0 },
		    { "skylake", 0x506e3, 0 } },
		.scenario = "fuzz",
		.end = "exit",
	};
	struct bundle_writer *writer;
	struct tz_error err = { "" };

	TZ_ASSERT(bundle_create(path, 2, &writer, &err) == 0);
	bundle_add_image(
	    writer, "code", BUNDLE_VA, parts->code, parts->code_bytes);
	bundle_exec_log_sink(
	    bundle_exec_log_arg(writer, 0), parts->words, parts->word_count);
	for (size_t i = 0; i < parts->event_count; i++)
		bundle_add_event(writer, &parts->events[i]);
	bundle_add_stream(writer, parts->thread ? EVENT_STREAM_THREAD | 7 : 0,
	    parts->stream, parts->stream_bytes);
	if (parts->trace_off_bytes != 0)
		bundle_add_text(writer, "cpu0.trace-off",
		    (const char *)parts->trace_off, parts->trace_off_bytes);
	FUZZ_CHECK(
	    bundle_finish(writer, &info, &err) == 0, "finish: %s", err.text);
}

/* Everything that a bundle is opened for. */
static void
use_bundle(const char *path, bool whole)
{
	struct verify_options options = { .rows = VERIFY_ROWS_DEFAULT };
	struct verify_result result = { 0 };
	struct bundle *bundle;
	struct tz_error err = { "" };
	FILE *null = fopen("/dev/null", "we");
	int error = bundle_open(path, &bundle, &err);

	TZ_ASSERT(null != NULL);
	parsers_check(error, &err, NULL);
	FUZZ_CHECK(error == 0 || !whole, "not opened: %s", err.text);
	if (error == 0) {
		error = verify_bundle(bundle, &options, &result, &err);
		parsers_check(error, &err, NULL);
		if (error == 0) {
			verify_print(&result, null);
			free(verify_json(&result));
			verify_result_free(&result);
		}
		bundle_close(bundle);
	}
	fclose(null);
}

/* The text of a manifest with the digest that it must carry, or NULL. */
static char *
sign(const uint8_t *data, size_t bytes)
{
	json_error_t error;
	json_t *root = json_loadb(
	    (const char *)data, bytes, JSON_REJECT_DUPLICATES, &error);
	char check[DIGEST_TEXT_BYTES], *text;

	if (root == NULL || !json_is_object(root)) {
		json_decref(root);
		return NULL;
	}
	json_object_del(root, "check");
	text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
	TZ_ASSERT(text != NULL);
	digest_bytes(text, strlen(text), check);
	free(text);
	json_object_set_new(root, "check", json_string(check));
	text = json_dumps(root, JSON_INDENT(1));
	json_decref(root);
	return text;
}

void
read_signed_manifest(const uint8_t *data, size_t bytes)
{
	static bool made;
	static const uint8_t code[] = { 0x90, 0xc3 };
	static const uint32_t words[] = {
		EXEC_LOG_CONTEXT << 2 | EXEC_LOG_EXTRA, 0, 0x1000, 0
	};
	const struct parts parts = { .code = code,
		.code_bytes = sizeof(code),
		.words = words,
		.word_count = TZ_ARRAY_LEN(words),
		.stream = code,
		.stream_bytes = sizeof(code) };
	const char *path = parsers_path("bundle");
	const char *manifest = parsers_path("bundle/manifest.json");
	char *text = sign(data, bytes);

	if (!made)
		write_bundle(path, &parts);
	made = true;
	if (text != NULL)
		parsers_write(manifest, (const uint8_t *)text, strlen(text));
	else
		parsers_write(manifest, data, bytes);
	free(text);
	use_bundle(path, false);
}

/* The next part of the input, as long as its first two bytes say. */
static const uint8_t *
take_part(struct fuzz_input *input, size_t *bytes)
{
	size_t left;

	*bytes = fuzz_below(input, 1024);
	left = input->bytes - input->at;
	if (*bytes > left)
		*bytes = left;
	input->at += *bytes;
	return input->data + input->at - *bytes;
}

void
read_bundle(const uint8_t *data, size_t bytes)
{
	struct fuzz_input input = { data, bytes, 0 };
	unsigned how = fuzz_below(&input, 256);
	struct parts parts = { .thread = how & 1 };
	const char *path = parsers_path("whole");
	size_t word_bytes, event_bytes;
	const uint8_t *part;
	uint32_t *words;
	struct event *events;

	parts.code = take_part(&input, &parts.code_bytes);
	if (parts.code_bytes == 0) {
		parts.code = (const uint8_t *)"\x90";
		parts.code_bytes = 1;
	}
	parts.stream = take_part(&input, &parts.stream_bytes);
	parts.trace_off = take_part(&input, &parts.trace_off_bytes);
	part = take_part(&input, &word_bytes);
	words = malloc(word_bytes + 4);
	TZ_ASSERT(words != NULL);
	memcpy(words, part, word_bytes);
	parts.words = words;
	parts.word_count = word_bytes / 4;
	part = take_part(&input, &event_bytes);
	events = malloc(event_bytes + sizeof(*events));
	TZ_ASSERT(events != NULL);
	memcpy(events, part, event_bytes);
	for (size_t i = 0; i < event_bytes / sizeof(*events); i++) {
		/* Accounting takes memory by the page: not gigabytes of it. */
		if (events[i].b >> 32 == 0)
			events[i].b &= 0xfffff;
		if (events[i].c >> 32 == 0)
			events[i].c &= 0xfffff;
	}
	parts.events = events;
	parts.event_count = event_bytes / sizeof(*events);
	write_bundle(path, &parts);
	use_bundle(path, true);
	(void)tree_remove(path);
	free(words);
	free(events);
}
