#define _GNU_SOURCE
/*
 * The file of results, DIR/results.jsonl: the command, the driver itself, then a line for
 * each mutant when it ends.  At the end the file is rewritten in order.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <xxhash.h>

#include "harness/host/folder/tree.h"
#include "harness/host/input.h"
#include "harness/mutate/bench.h"

#define FILE_NAME "results.jsonl"

struct store {
	char *path;
	FILE *file; /* in append mode, locked */
};

/* A digest of all edits: with other operators, an id may name another mutant. */
static uint64_t
digest_of(const struct mutate_list *list)
{
	uint64_t digest = list->drawn_count;

	for (size_t i = 0; i < list->drawn_count; i++) {
		const struct mutant *mutant = &list->mutants.at[list->drawn[i]];
		char id[MUTATE_ID_BYTES];

		mutate_id(list, mutant, id);
		digest = XXH3_64bits_withSeed(id, strlen(id), digest);
		for (unsigned j = 0; j < mutant->edit_count; j++) {
			const struct edit *edit = &mutant->edit[j];

			digest = XXH3_64bits_withSeed(
			    &edit->at, sizeof(edit->at), digest);
			digest = XXH3_64bits_withSeed(
			    edit->text, strlen(edit->text), digest);
		}
	}
	return digest;
}

json_t *
store_header(const struct bench *bench)
{
	const struct mutate_setting *setting = bench->options->setting;
	json_t *json = json_pack("{s:s, s:i, s:I, s:I}", "kind", "mutate",
	    "schema", 1, "drawn", (json_int_t)bench->list->drawn_count, "all",
	    (json_int_t)bench->list->mutants.count);
	char text[32];

	snprintf(text, sizeof(text), "%016" PRIx64, digest_of(bench->list));
	json_object_set_new(json, "digest", json_string(text));
	for (; setting->name != NULL; setting++)
		json_object_set_new(
		    json, setting->name, json_string(setting->value));
	return json;
}

static int
fail(const struct store *store, struct tz_error *err)
{
	return tz_error(err, TZ_EIO, "%s: %s", store->path, strerror(errno));
}

/* -TZ_EUSAGE: names the first key in which the file's command differs from this one. */
static int
compare_headers(const struct store *store, const json_t *file, json_t *own,
    struct tz_error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach(own, key, value)
	{
		const json_t *other = json_object_get(file, key);
		char *a, *b;
		int error;

		if (json_equal(value, other))
			continue;
		a = json_dumps(value, JSON_ENCODE_ANY);
		b = json_dumps(other, JSON_ENCODE_ANY);
		error = tz_error(err, TZ_EUSAGE,
		    "%s: results of another command: %s was %s, is %s",
		    store->path, key, b != NULL ? b : "absent",
		    a != NULL ? a : "absent");
		free(a);
		free(b);
		return error;
	}
	return 0;
}

struct reading {
	struct store *store;
	const struct bench *bench;
	struct mutate_run *run;
	unsigned line;
};

/* A mutant that timed out or failed in topaz is run again. */
static bool
read_mutant(const json_t *json, const struct mutate_list *list,
    struct mutate_result *result)
{
	size_t index;

	if (!record_read_result(json, list, &index, result))
		return false;
	result[index].known = result[index].class != MUTATE_TIMED_OUT &&
	    result[index].class != MUTATE_FAILED;
	return true;
}

static int
read_line(struct reading *reading, const json_t *json, struct tz_error *err)
{
	const struct mutate_list *list = reading->bench->list;
	struct mutate_run *run = reading->run;
	const char *kind = json_string_value(json_object_get(json, "kind"));
	bool good = kind != NULL;

	if (reading->line == 1) {
		json_t *own = store_header(reading->bench);
		int error;

		if (!good || strcmp(kind, "mutate") != 0 || own == NULL) {
			json_decref(own);
			return tz_error(err, TZ_EUSAGE,
			    "%s: no results of topaz mutate",
			    reading->store->path);
		}
		error = compare_headers(reading->store, json, own, err);
		json_decref(own);
		return error;
	}
	if (good && strcmp(kind, "baseline") == 0)
		good = record_read_baseline(
		    json, list, &run->baseline, run->result);
	else if (good && strcmp(kind, "mutant") == 0)
		good = read_mutant(json, list, run->result);
	else
		good = good && strcmp(kind, "summary") == 0;
	return good
	    ? 0
	    : tz_error(err, TZ_EFORMAT, "%s:%u: no result of topaz mutate",
		  reading->store->path, reading->line);
}

/* Reads all complete lines; removes an incomplete one, which a killed process left. */
static int
read_all(struct reading *reading, struct tz_error *err)
{
	FILE *file = reading->store->file;
	off_t end = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t bytes;
	int error = 0;

	rewind(file);
	while (error == 0 && (bytes = getline(&line, &room, file)) > 0) {
		json_t *json;

		if (line[bytes - 1] != '\n')
			break;
		reading->line++;
		json = json_loadb(line, (size_t)bytes, 0, NULL);
		error = read_line(reading, json, err);
		json_decref(json);
		end += bytes;
	}
	free(line);
	if (error == 0 && (fflush(file) != 0 || ftruncate(fileno(file), end)))
		error = fail(reading->store, err);
	return error;
}

int
store_open(const struct bench *bench, struct mutate_run *run,
    struct store **out, struct tz_error *err)
{
	const char *folder = bench->options->output;
	struct store *store = calloc(1, sizeof(*store));
	struct reading reading = { store, bench, run, 0 };
	int error;

	*out = store;
	if (store == NULL ||
	    asprintf(&store->path, "%s/" FILE_NAME, folder) < 0)
		return tz_error(err, TZ_EIO, "out of memory");
	error = tree_make(folder, 0777, err);
	if (error != 0)
		return error;
	error = input_check(store->path, INPUT_FINDINGS, err);
	if (error != 0 && error != -TZ_ENOENT)
		return error;
	store->file = fopen(store->path, "a+e");
	if (store->file == NULL)
		return fail(store, err);
	if (flock(fileno(store->file), LOCK_EX | LOCK_NB) != 0)
		return tz_error(err, TZ_EUSAGE, "%s: another process writes it",
		    store->path);
	error = read_all(&reading, err);
	return error != 0 || reading.line != 0
	    ? error
	    : store_add(store, store_header(bench), err);
}

static bool
put(FILE *file, json_t *json)
{
	char *text = json == NULL
	    ? NULL
	    : json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
	bool good = text != NULL && fprintf(file, "%s\n", text) > 0;

	free(text);
	json_decref(json);
	return good;
}

int
store_add(struct store *store, json_t *json, struct tz_error *err)
{
	if (store == NULL) {
		json_decref(json);
		return 0;
	}
	return put(store->file, json) && fflush(store->file) == 0
	    ? 0
	    : fail(store, err);
}

int
store_finish(struct store *store, const struct bench *bench,
    const struct mutate_run *run, struct tz_error *err)
{
	const struct mutate_list *list = bench->list;
	char *path = NULL;
	FILE *file;
	bool good;

	if (store == NULL)
		return 0;
	if (asprintf(&path, "%s.new", store->path) < 0)
		return tz_error(err, TZ_EIO, "out of memory");
	file = fopen(path, "w");
	good = file != NULL && put(file, store_header(bench)) &&
	    put(file, record_baseline(list, &run->baseline, run->result));
	for (size_t i = 0; good && i < list->drawn_count; i++)
		good = put(file, record_result(list, i, &run->result[i]));
	if (good)
		good = put(file, record_summary(list, run));
	if (file != NULL && fclose(file) != 0)
		good = false;
	good = good && rename(path, store->path) == 0;
	if (!good) {
		int error = fail(store, err);

		unlink(path);
		free(path);
		return error;
	}
	free(path);
	return 0;
}

void
store_close(struct store *store)
{
	if (store == NULL)
		return;
	if (store->file != NULL)
		fclose(store->file);
	free(store->path);
	free(store);
}
