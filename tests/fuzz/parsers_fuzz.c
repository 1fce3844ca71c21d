/*
 * Goal: whatever a file of a bundle, a manifest, a baseline or a token holds, reading
 * it ends in a value or in a message: one line, not empty, that names the file where
 * there is one. Method: the first byte of the input chooses the reader, the rest is
 * the file; the sanitizers watch for the rest. What was accepted as a token or a
 * sequence is written and read again, and must be the same.
 *
 * Run it from the root of the sources: it reads driver/insntrace/driver.yaml.
 */
#include "harness/explore/schedule.h"
#include "harness/manifest/manifest.h"
#include "harness/report/report.h"
#include "tests/fuzz/fuzz.h"
#include "traces/bundle.h"
#include "traces/manifest.h"
#include "traces/packets.h"
#include "traces/truth_read.h"
#include "traces/zfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder for what is only read from files; it goes when the process ends. */
static char folder[] = "/tmp/topaz-fuzz-XXXXXX";
static char folder_driver[64], folder_file[64], folder_yaml[96];

static void
folder_remove(void)
{
	static const char *const files[] = { "events.zst", "cpu0.fell",
		"truth-cpu0.zst" };

	for (size_t i = 0; i < TZ_ARRAY_LEN(files); i++) {
		char path[96];

		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		unlink(path);
	}
	unlink(folder_file);
	unlink(folder_yaml);
	rmdir(folder_driver);
	rmdir(folder);
}

static void
folder_make(void)
{
	if (folder_file[0] != '\0')
		return;
	TZ_ASSERT(mkdtemp(folder) != NULL);
	snprintf(folder_driver, sizeof(folder_driver), "%s/d", folder);
	snprintf(folder_file, sizeof(folder_file), "%s/file", folder);
	snprintf(
	    folder_yaml, sizeof(folder_yaml), "%s/driver.yaml", folder_driver);
	TZ_ASSERT(mkdir(folder_driver, 0700) == 0);
	atexit(folder_remove);
}

static void
write_file(const char *path, const uint8_t *data, size_t bytes)
{
	FILE *file = fopen(path, "wbe");

	TZ_ASSERT(file != NULL);
	TZ_ASSERT(fwrite(data, 1, bytes, file) == bytes);
	fclose(file);
}

static void
check_error(int error, const struct tz_error *err, const char *name)
{
	FUZZ_CHECK(error <= 0, "an error that is none: %d", error);
	if (error == 0)
		return;
	FUZZ_CHECK(err->text[0] != '\0', "error %d without a message", error);
	FUZZ_CHECK(strchr(err->text, '\n') == NULL, "a message of two lines");
	FUZZ_CHECK(name == NULL || strstr(err->text, name) != NULL,
	    "'%s' does not name %s", err->text, name);
}

static void
read_manifest(const uint8_t *data, size_t bytes)
{
	struct manifest_files files = { 0 };
	struct bundle *bundle = calloc(1, sizeof(*bundle));
	struct tz_error err = { "" };
	int error;

	TZ_ASSERT(bundle != NULL);
	error = manifest_parse((const char *)data, bytes, bundle, &files, &err);
	check_error(error, &err, "manifest.json");
	if (error == 0)
		free(manifest_format(bundle, &files));
	manifest_files_free(&files);
	bundle_close(bundle);
}

static void
read_truth(const uint8_t *data, size_t bytes)
{
	static uint8_t nops[4096];
	struct bundle_image image = {
		.va = 0x1000, .bytes = sizeof(nops), .code = nops
	};
	struct code *code;
	struct truth_log *log;
	struct tz_error err = { "" };
	uint32_t *words = malloc(bytes + 4);
	int error;

	memset(nops, 0x90, sizeof(nops));
	memcpy(&nops[2048], "\xf3\xa4\xeb\xfe\xc3", 5);
	code = code_create(&image, 1);
	TZ_ASSERT(words != NULL && code != NULL);
	memcpy(words, data, bytes);
	error = truth_read(
	    "truth-cpu0.zst", words, bytes / 4, code, &log, &err);
	check_error(error, &err, "truth-cpu0.zst");
	if (error == 0)
		truth_log_free(log);
	code_destroy(code);
	free(words);
}

static void
read_zstd(const uint8_t *data, size_t bytes)
{
	struct tz_error err = { "" };
	uint8_t *content = NULL;
	size_t count;
	int error = zfile_decompress(
	    "some.zst", data, bytes, &content, &count, &err);

	check_error(error, &err, "some.zst");
	if (error == 0)
		free(content);
	error = zfile_unpack("some.zst", data, bytes, &content, &count, &err);
	check_error(error, &err, "some.zst");
	if (error == 0)
		free(content);
}

/* The input as the content of a compressed file of a bundle. */
static void
pack(const char *name, const uint8_t *data, size_t bytes)
{
	struct zfile_writer *writer;
	struct tz_error err;
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
	TZ_ASSERT(zfile_create(path, &writer, &err) == 0);
	TZ_ASSERT(zfile_write(writer, data, bytes, &err) == 0);
	TZ_ASSERT(zfile_finish(writer, &err) == 0);
}

static void
read_parts(const uint8_t *data, size_t bytes)
{
	struct bundle *bundle = calloc(1, sizeof(*bundle));
	struct tz_error err = { "" };
	struct event *events;
	struct fell fell = { 0 };
	uint32_t *words;
	uint8_t copy[64];
	size_t count;
	int error;

	TZ_ASSERT(bundle != NULL);
	bundle->path = folder;
	bundle->info.cpu_count = 2;
	pack("events.zst", data, bytes);
	error = bundle_read_events(bundle, &events, &count, &err);
	check_error(error, &err, "events.zst");
	if (error == 0)
		free(events);
	pack("truth-cpu0.zst", data, bytes);
	error = bundle_read_truth(bundle, 0, &words, &count, &err);
	check_error(error, &err, "truth-cpu0.zst");
	if (error == 0)
		free(words);
	pack("cpu0.fell", data, bytes);
	error = bundle_read_fell(bundle, 0, &fell, &err);
	check_error(error, &err, "cpu0.fell");
	if (error == 0) {
		fell_copy(&fell, bytes & 15, sizeof(copy), copy);
		fell_free(&fell);
	}
	free(bundle);
}

static char *
as_text(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);

	TZ_ASSERT(text != NULL);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	return text;
}

static void
read_token(const uint8_t *data, size_t bytes)
{
	char *text = as_text(data, bytes), again[TOKEN_TEXT_BYTES];
	struct token token, second;
	struct schedule schedule;
	struct tz_error err = { "" };
	int error;

	/* @FILE would read whatever is there. */
	if (text[0] == '@') {
		free(text);
		return;
	}
	error = token_parse(text, &token, &err);
	check_error(error, &err, NULL);
	if (error == 0 && token_format(&token, again, sizeof(again))) {
		FUZZ_CHECK(token_parse(again, &second, &err) == 0,
		    "'%s' became '%s': %s", text, again, err.text);
		FUZZ_CHECK(second.schedule.count == token.schedule.count &&
			second.seed == token.seed &&
			second.check == token.check &&
			strcmp(second.steps, token.steps) == 0,
		    "'%s' became '%s'", text, again);
	}
	err.text[0] = '\0';
	check_error(token_parse_subject(text, &token, &err), &err, NULL);
	err.text[0] = '\0';
	check_error(schedule_parse(text, &schedule, &err), &err, NULL);
	free(text);
}

static void
read_driver(const uint8_t *data, size_t bytes)
{
	struct manifest *manifest;
	struct tz_error err = { "" };
	int error;

	write_file(folder_yaml, data, bytes);
	error = manifest_read(folder, "d", &manifest, &err);
	check_error(error, &err, "driver.yaml");
	if (error == 0)
		manifest_free(manifest);
}

static void
read_sequence(const uint8_t *data, size_t bytes)
{
	static struct manifest *manifest;
	char *text = as_text(data, bytes), again[1024], third[1024];
	static struct sequence sequence, second;
	static struct script script;
	struct tz_error err = { "" };
	int error;

	if (manifest == NULL &&
	    manifest_read("driver", "insntrace", &manifest, &err) != 0)
		fuzz_fail(__FILE__, __LINE__, "%s", err.text);
	error = sequence_parse(manifest, text, &sequence, &err);
	check_error(error, &err, NULL);
	if (error == 0) {
		err.text[0] = '\0';
		check_error(
		    sequence_script(manifest, &sequence, 2, &script, &err),
		    &err, NULL);
	}
	if (error == 0 &&
	    sequence_format(manifest, &sequence, again, sizeof(again))) {
		FUZZ_CHECK(sequence_parse(manifest, again, &second, &err) == 0,
		    "'%s' became '%s': %s", text, again, err.text);
		FUZZ_CHECK(
		    sequence_format(manifest, &second, third, sizeof(third)) &&
			strcmp(again, third) == 0,
		    "'%s' became '%s'", again, third);
	}
	free(text);
}

static void
read_baseline(const uint8_t *data, size_t bytes)
{
	struct report_baseline baseline;
	struct tz_error err = { "" };

	write_file(folder_file, data, bytes);
	check_error(report_baseline_read(folder_file, &baseline, &err), &err,
	    folder_file);
	report_baseline_free(&baseline);
}

static void
read_packets(const uint8_t *data, size_t bytes)
{
	static const uint8_t psb[16] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2,
		0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
	uint8_t *stream = malloc(bytes + sizeof(psb));
	FILE *file = fopen("/dev/null", "we");
	char line[128];

	TZ_ASSERT(stream != NULL && file != NULL);
	memcpy(stream, psb, sizeof(psb));
	memcpy(stream + sizeof(psb), data, bytes);
	FUZZ_CHECK(packets_print(stream, bytes + sizeof(psb),
		       bytes & 1 ? 0x506e3 : 0, 0, bytes & 2, file) >= 0,
	    "packets_print() fails");
	packets_describe(
	    stream, bytes + sizeof(psb), sizeof(psb), line, sizeof(line));
	fclose(file);
	free(stream);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static void (*const readers[])(const uint8_t *, size_t) = {
		read_manifest, read_truth, read_zstd, read_parts, read_token,
		read_driver, read_sequence, read_baseline, read_packets
	};

	if (bytes == 0)
		return 0;
	folder_make();
	readers[data[0] % TZ_ARRAY_LEN(readers)](data + 1, bytes - 1);
	return 0;
}
