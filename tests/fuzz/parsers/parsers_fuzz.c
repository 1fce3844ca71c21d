/*
 * Goal: whatever a file of a bundle, a manifest, a baseline or a token holds, reading it
 * ends in a value or in a message: one line, not empty, that names the file where there
 * is one. Method: the first byte of the input chooses the reader, the rest is the file,
 * or what several files hold; the sanitizers watch for the rest. What was accepted as a
 * token or a sequence is written and read again, and must be the same.
 *
 * Run it from the root of the sources: it reads driver/insntrace/driver.yaml.
 */
#define _GNU_SOURCE /* nftw */

#include "harness/explore/runner/schedule.h"
#include "harness/manifest/manifest.h"
#include "harness/report/report.h"
#include "tests/fuzz/parsers/parsers.h"
#include "traces/bundle/bundle.h"
#include "traces/bundle/exec_log_read.h"
#include "traces/bundle/manifest.h"
#include "traces/bundle/zfile.h"
#include "traces/decode/packets.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder for what is only read from files; it goes when the process ends. */
static char folder[] = "/tmp/topaz-fuzz-XXXXXX";

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void
folder_remove(void)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void
folder_make(void)
{
	static bool made;

	if (made)
		return;
	made = true;
	TZ_ASSERT(mkdtemp(folder) != NULL);
	TZ_ASSERT(mkdir(parsers_path("insntrace"), 0700) == 0);
	atexit(folder_remove);
}

const char *
parsers_path(const char *name)
{
	static char path[4][96];
	static unsigned next;
	char *one = path[next++ % TZ_ARRAY_LEN(path)];

	snprintf(one, sizeof(path[0]), "%s/%s", folder, name);
	return one;
}

void
parsers_write(const char *path, const uint8_t *data, size_t bytes)
{
	FILE *file = fopen(path, "wbe");

	TZ_ASSERT(file != NULL);
	TZ_ASSERT(fwrite(data, 1, bytes, file) == bytes);
	fclose(file);
}

void
parsers_check(int error, const struct tz_error *err, const char *name)
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
	parsers_check(error, &err, "manifest.json");
	if (error == 0)
		free(manifest_format(bundle, &files));
	manifest_files_free(&files);
	bundle_close(bundle);
}

/* Code at 1000h: NOPs, and in their midst a string instruction and transfers. */
static struct code *
make_code(void)
{
	static uint8_t nops[4096];
	/* The code refers to it. */
	static const struct bundle_image image = {
		.va = 0x1000, .bytes = sizeof(nops), .code = nops
	};
	struct code *code = code_create(&image, 1);

	TZ_ASSERT(code != NULL);
	memset(nops, 0x90, sizeof(nops));
	memcpy(&nops[2048], "\xf3\xa4\xeb\xfe\xc3", 5);
	return code;
}

static void
read_packed_exec_log(FILE *file)
{
	struct code *code = make_code();
	struct exec_log_file *log;
	struct tz_error err = { "" };
	int error = exec_log_read_packed(
	    "truth-cpu0.zst", file, code, &log, &err);

	parsers_check(error, &err, "truth-cpu0.zst");
	exec_log_file_free(log);
	code_destroy(code);
}

static void
read_exec_log(const uint8_t *data, size_t bytes)
{
	struct code *code = make_code();
	struct exec_log_file *log;
	struct tz_error err = { "" };
	uint32_t *words = malloc(bytes + 4);
	int error;

	TZ_ASSERT(words != NULL);
	memcpy(words, data, bytes);
	error = exec_log_read(
	    "truth-cpu0.zst", words, bytes / 4, code, &log, &err);
	parsers_check(error, &err, "truth-cpu0.zst");
	if (error == 0)
		exec_log_file_free(log);
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

	parsers_check(error, &err, "some.zst");
	if (error == 0)
		free(content);
	error = zfile_unpack("some.zst", data, bytes, &content, &count, &err);
	parsers_check(error, &err, "some.zst");
	if (error == 0)
		free(content);
}

/* The input as the content of a compressed file of a bundle. */
static void
pack(const char *name, const uint8_t *data, size_t bytes)
{
	struct zfile_writer *writer;
	struct tz_error err;
	const char *path = parsers_path(name);

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
	struct trace_off trace_off = { 0 };
	char name[BUNDLE_NAME_BYTES];
	uint8_t copy[64];
	FILE *file;
	size_t count;
	int error;

	TZ_ASSERT(bundle != NULL);
	bundle->path = folder;
	bundle->info.cpu_count = 2;
	pack("events.zst", data, bytes);
	error = bundle_read_events(bundle, &events, &count, &err);
	parsers_check(error, &err, "events.zst");
	if (error == 0)
		free(events);
	pack("truth-cpu0.zst", data, bytes);
	error = bundle_open_exec_log(bundle, 0, name, &file, &err);
	TZ_ASSERT(error == 0);
	read_packed_exec_log(file);
	fclose(file);
	pack("cpu0.trace-off", data, bytes);
	error = bundle_read_trace_off(bundle, 0, &trace_off, &err);
	parsers_check(error, &err, "cpu0.trace-off");
	if (error == 0) {
		trace_off_copy(&trace_off, bytes & 15, sizeof(copy), copy);
		trace_off_free(&trace_off);
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
	parsers_check(error, &err, NULL);
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
	parsers_check(token_parse_subject(text, &token, &err), &err, NULL);
	err.text[0] = '\0';
	parsers_check(schedule_parse(text, &schedule, &err), &err, NULL);
	free(text);
}

static void
read_driver(const uint8_t *data, size_t bytes)
{
	struct manifest *manifest;
	struct tz_error err = { "" };
	int error;

	parsers_write(parsers_path("insntrace/driver.yaml"), data, bytes);
	error = manifest_read(folder, "insntrace", &manifest, &err);
	parsers_check(error, &err, "driver.yaml");
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
	parsers_check(error, &err, NULL);
	if (error == 0) {
		err.text[0] = '\0';
		parsers_check(
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
	const char *path = parsers_path("baseline");
	struct report_baseline baseline;
	struct tz_error err = { "" };

	parsers_write(path, data, bytes);
	parsers_check(report_baseline_read(path, &baseline, &err), &err, path);
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
	static void (*const readers[])(
	    const uint8_t *, size_t) = { read_manifest, read_exec_log,
		read_zstd, read_parts, read_token, read_driver, read_sequence,
		read_baseline, read_packets, read_pieces, read_options,
		read_signed_manifest, read_bundle, read_scan, read_trace };

	if (bytes == 0)
		return 0;
	folder_make();
	readers[data[0] % TZ_ARRAY_LEN(readers)](data + 1, bytes - 1);
	return 0;
}
