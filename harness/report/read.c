/*
 * Reads a summary from JSON lines.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "harness/host/input.h"
#include "harness/report/internal.h"

/* Copies the text of KEY; false: missing, or too long. */
static bool
get_text(const json_t *json, const char *key, char *text, size_t bytes)
{
	const json_t *value = json_object_get(json, key);
	size_t length;

	if (!json_is_string(value))
		return false;
	length = json_string_length(value);
	if (length >= bytes || strlen(json_string_value(value)) != length)
		return false;
	memcpy(text, json_string_value(value), length + 1);
	return true;
}

/* A number, or a string of hexadecimal digits with or without "0x". */
static bool
to_u64(const json_t *value, uint64_t *out)
{
	char *end;

	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*out = (uint64_t)json_integer_value(value);
		return true;
	}
	if (!json_is_string(value) || json_string_length(value) == 0)
		return false;
	errno = 0;
	*out = strtoull(json_string_value(value), &end, 16);
	return errno == 0 && *end == '\0';
}

static bool
get_u64(const json_t *json, const char *key, uint64_t *out)
{
	return to_u64(json_object_get(json, key), out);
}

static bool
get_u32(const json_t *json, const char *key, uint32_t *out)
{
	uint64_t value;

	if (!get_u64(json, key, &value) || value > UINT32_MAX)
		return false;
	*out = (uint32_t)value;
	return true;
}

static bool
get_place(const json_t *json, const char *key, struct finding_place *place)
{
	const json_t *object = json_object_get(json, key);
	uint32_t line;

	if (!get_u32(object, "line", &line) || line > INT32_MAX ||
	    !get_u32(object, "offset", &place->offset_bytes))
		return false;
	place->line = (int)line;
	return get_text(object, "function", place->function,
		   sizeof(place->function)) &&
	    get_text(object, "file", place->file, sizeof(place->file));
}

static bool
get_class(const json_t *json, enum finding_class *class)
{
	char name[16];

	if (!get_text(json, "class", name, sizeof(name)))
		return false;
	for (*class = FINDING_BASE; *class <= FINDING_FAULT; (*class)++)
		if (strcmp(name, report_class(*class)) == 0)
			return true;
	return false;
}

static bool
get_rank(const json_t *json, uint64_t rank[3])
{
	const json_t *array = json_object_get(json, "rank");

	return json_array_size(array) == 3 &&
	    to_u64(json_array_get(array, 0), &rank[0]) &&
	    to_u64(json_array_get(array, 1), &rank[1]) &&
	    to_u64(json_array_get(array, 2), &rank[2]);
}

#define GET_TEXT(json, key, field) get_text(json, key, field, sizeof(field))

static bool
get_flag(const json_t *json, const char *key, bool *flag)
{
	const json_t *value = json_object_get(json, key);

	*flag = json_is_true(value);
	return json_is_boolean(value);
}

static bool
get_symptom(const json_t *json, struct finding_symptom *symptom)
{
	char check[FINDING_NAME_BYTES];

	if (!GET_TEXT(json, "check", check))
		return false;
	symptom->check = check_find(check);
	return symptom->check != CHECK_COUNT &&
	    GET_TEXT(json, "kinds", symptom->kinds) &&
	    GET_TEXT(json, "message", symptom->message) &&
	    GET_TEXT(json, "where", symptom->where) &&
	    GET_TEXT(json, "token", symptom->token) &&
	    get_rank(json, symptom->rank);
}

static bool
get_symptoms(const json_t *json, struct finding *finding)
{
	const json_t *array = json_object_get(json, "symptoms");
	size_t count = json_array_size(array);

	if (!json_is_array(array) || count > FINDING_SYMPTOMS_MAX ||
	    !get_flag(json, "symptoms_more", &finding->symptom_more))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!get_symptom(
			json_array_get(array, i), &finding->symptom[i]))
			return false;
	}
	finding->symptom_count = (unsigned)count;
	return true;
}

/* Keys that are missing in files of an older topaz stay empty, or 0. */
static bool
has(const json_t *json, const char *key)
{
	return json_object_get(json, key) != NULL;
}

static bool
get_verdict(const json_t *json, struct finding *finding)
{
	char verdict[16];

	if (!GET_TEXT(json, "verdict", verdict))
		return false;
	finding->judged = strcmp(verdict, "failed") == 0;
	return strcmp(verdict, report_verdict(finding)) == 0;
}

static bool
get_finding(const json_t *json, struct finding *finding)
{
	const json_t *window = json_object_get(json, "window");
	char check[FINDING_NAME_BYTES];
	uint32_t cpu;

	if (!GET_TEXT(json, "check", check) || !get_u32(json, "cpu", &cpu))
		return false;
	finding->check = check_find(check);
	finding->cpu = cpu;
	return finding->check != CHECK_COUNT && get_verdict(json, finding) &&
	    GET_TEXT(json, "fingerprint", finding->fingerprint) &&
	    GET_TEXT(json, "entry", finding->entry) &&
	    GET_TEXT(json, "through", finding->through) &&
	    GET_TEXT(json, "object", finding->object) &&
	    get_symptoms(json, finding) &&
	    get_u64(json, "own", &finding->own) &&
	    get_class(json, &finding->class) &&
	    GET_TEXT(json, "driver", finding->driver) &&
	    GET_TEXT(json, "scenario", finding->scenario) &&
	    GET_TEXT(json, "profile", finding->profile) &&
	    GET_TEXT(json, "sha256", finding->sha256) &&
	    GET_TEXT(json, "token", finding->token) &&
	    GET_TEXT(json, "passing", finding->passing) &&
	    GET_TEXT(json, "message", finding->message) &&
	    GET_TEXT(json, "kinds", finding->kinds) &&
	    GET_TEXT(json, "steps", finding->steps) &&
	    get_u64(json, "cause", &finding->cause) &&
	    get_rank(json, finding->rank) &&
	    get_u64(json, "insns", &finding->insns) &&
	    (!has(json, "cycles") ||
		get_u64(json, "cycles", &finding->cycles)) &&
	    get_u64(json, "event", &finding->event) &&
	    get_u64(json, "state_hash", &finding->state_hash) &&
	    get_place(json, "place", &finding->place) &&
	    get_u32(window, "failing", &finding->window_failing) &&
	    get_u32(window, "count", &finding->window_count) &&
	    get_place(window, "first", &finding->window_first) &&
	    get_place(window, "last", &finding->window_last);
}

static bool
get_row(const json_t *json, struct finding_coverage *row)
{
	return GET_TEXT(json, "what", row->what) &&
	    GET_TEXT(json, "how", row->how) &&
	    get_u64(json, "done", &row->done) &&
	    get_u64(json, "total", &row->total) &&
	    get_u64(json, "merged", &row->merged) &&
	    get_u64(json, "failing", &row->failing) &&
	    get_u64(json, "unjudged", &row->unjudged) &&
	    get_flag(json, "cut", &row->cut) &&
	    get_flag(json, "base_fails", &row->base_fails) &&
	    get_flag(json, "base_unjudged", &row->base_unjudged);
}

static bool
get_coverage(const json_t *json, struct finding_summary *summary)
{
	const json_t *coverage = json_object_get(json, "coverage");
	size_t count = json_array_size(coverage);

	if (!json_is_array(coverage) || count > TZ_ARRAY_LEN(summary->coverage))
		return false;
	summary->coverage_count = count;
	for (size_t i = 0; i < count; i++) {
		if (!get_row(
			json_array_get(coverage, i), &summary->coverage[i]))
			return false;
	}
	return true;
}

static bool
get_unjudged(const json_t *json, struct finding_summary *summary)
{
	const json_t *array = json_object_get(json, "unjudged");
	size_t count = json_array_size(array);
	char name[FINDING_NAME_BYTES];

	if (!json_is_array(array) || count > TZ_ARRAY_LEN(summary->unjudged))
		return false;
	summary->unjudged_count = count;
	for (size_t i = 0; i < count; i++) {
		struct finding_unjudged *row = &summary->unjudged[i];
		const json_t *from = json_array_get(array, i);

		if (!GET_TEXT(from, "check", name))
			return false;
		row->check = check_find(name);
		if (!GET_TEXT(from, "reason", name))
			return false;
		row->reason = check_reason_find(name);
		if (row->check == CHECK_COUNT || row->reason == REASON_COUNT ||
		    !get_u64(from, "schedules", &row->schedules))
			return false;
	}
	return true;
}

/* Reads the numbers of shards in LIST, from 1, as bits from 0. */
static bool
get_bits(const json_t *list, uint32_t count, uint8_t *bits)
{
	if (!json_is_array(list))
		return false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		uint64_t value;

		if (!to_u64(json_array_get(list, i), &value) || value < 1 ||
		    value > count)
			return false;
		bits[(value - 1) / 8] |= (uint8_t)(1u << (value - 1) % 8);
	}
	return true;
}

/* Summaries of older versions have no "cut". */
static bool
get_shards(const json_t *json, struct finding_summary *summary)
{
	const json_t *shards = json_object_get(json, "shards");
	const json_t *cut = json_object_get(shards, "cut");
	uint32_t count;

	if (!get_u32(shards, "of", &count) || count == 0 ||
	    count > FINDING_SHARDS_MAX ||
	    !get_bits(json_object_get(shards, "have"), count, summary->shard) ||
	    (cut != NULL && !get_bits(cut, count, summary->shard_cut)))
		return false;
	summary->shards = count;
	return true;
}

/* Reads the options of a replay, and how the exploration ended. */
static bool
get_again(const json_t *json, struct finding_summary *summary)
{
	uint32_t code;

	summary->exit_code = FINDING_EXIT_UNKNOWN;
	if (has(json, "exit_code") && get_u32(json, "exit_code", &code) &&
	    code <= UINT8_MAX)
		summary->exit_code = (int)code;
	return (!has(json, "drivers") ||
		   GET_TEXT(json, "drivers", summary->drivers)) &&
	    (!has(json, "from") || GET_TEXT(json, "from", summary->from)) &&
	    (!has(json, "tsc_hz") || get_u64(json, "tsc_hz", &summary->tsc_hz));
}

static bool
get_summary(const json_t *json, struct finding_summary *summary)
{
	return get_again(json, summary) && get_coverage(json, summary) &&
	    get_unjudged(json, summary) && get_shards(json, summary) &&
	    GET_TEXT(json, "folder", summary->folder) &&
	    get_u64(json, "decoded", &summary->decoded) &&
	    GET_TEXT(json, "driver", summary->driver) &&
	    GET_TEXT(json, "profile", summary->profile) &&
	    GET_TEXT(json, "sha256", summary->sha256) &&
	    GET_TEXT(json, "command", summary->command) &&
	    get_u64(json, "schedules", &summary->schedules);
}

/* Appends an element to ARRAY, which has COUNT, and clears it; NULL: no memory. */
static void *
add_one(void **array, size_t count, size_t bytes)
{
	void *grown = realloc(*array, (count + 1) * bytes);

	if (grown == NULL)
		return NULL;
	*array = grown;
	return memset((char *)grown + count * bytes, 0, bytes);
}

static bool
add_finding(const json_t *json, struct finding_summary *summary)
{
	struct finding *finding = add_one((void **)&summary->finding,
	    summary->finding_count, sizeof(*finding));

	if (finding == NULL || !get_finding(json, finding))
		return false;
	summary->finding_count++;
	summary->judged_count += finding->judged;
	return true;
}

/* Reads the finding that was made of GROUP, if any. */
static bool
add_made(const json_t *json, struct finding_summary *summary,
    struct finding_group *group)
{
	struct finding *made;

	group->made = -1;
	if (json_is_null(json))
		return true;
	made = add_one(
	    (void **)&summary->made, summary->made_count, sizeof(*made));
	if (made == NULL || !get_finding(json, made))
		return false;
	group->made = (int)summary->made_count++;
	return true;
}

static bool
add_group(const json_t *json, struct finding_summary *summary)
{
	struct finding_group *group = add_one(
	    (void **)&summary->group, summary->group_count, sizeof(*group));
	char check[FINDING_NAME_BYTES];

	if (group == NULL || !GET_TEXT(json, "check", check))
		return false;
	group->check = check_find(check);
	summary->group_count++;
	return group->check != CHECK_COUNT &&
	    get_u64(json, "cause", &group->cause) &&
	    get_u64(json, "own", &group->own) &&
	    get_u32(json, "kinds", &group->kinds) &&
	    get_flag(json, "fault", &group->fault) &&
	    get_u64(json, "event", &group->event) &&
	    get_u64(json, "mistake", &group->mistake) &&
	    get_flag(json, "apart", &group->apart) &&
	    get_symptom(json_object_get(json, "symptom"), &group->symptom) &&
	    add_made(json_object_get(json, "finding"), summary, group);
}

/* Reads one line; *DONE: it was the summary, which is the last line. */
static const char *
read_object(const json_t *json, struct finding_summary *summary, bool *done)
{
	uint64_t schema, findings, not_judged;
	char kind[16];

	if (*done)
		return "something follows the summary";
	if (!get_u64(json, "schema", &schema) || !GET_TEXT(json, "kind", kind))
		return "no \"schema\" and \"kind\"";
	if (schema != REPORT_SCHEMA)
		return "written by another version";
	if (strcmp(kind, "finding") == 0)
		return add_finding(json, summary) ? NULL : "no finding";
	if (strcmp(kind, "group") == 0)
		return add_group(json, summary) ? NULL : "no group";
	if (strcmp(kind, "summary") != 0)
		return "neither a finding, a group nor a summary";
	*done = true;
	if (!get_summary(json, summary) ||
	    !get_u64(json, "findings", &findings) ||
	    !get_u64(json, "not_judged", &not_judged))
		return "no summary";
	return findings == summary->judged_count &&
		findings + not_judged == summary->finding_count
	    ? NULL
	    : "findings are missing";
}

int
report_read(
    const char *path, struct finding_summary *summary, struct tz_error *err)
{
	json_error_t where;
	const char *bad = NULL;
	bool done = false;
	size_t room = 0;
	char *line = NULL;
	int number = 0, error;
	ssize_t bytes;
	FILE *file;

	memset(summary, 0, sizeof(*summary));
	error = input_open(path, INPUT_FINDINGS, &file, err);
	if (error != 0)
		return error;
	while (bad == NULL && (bytes = getline(&line, &room, file)) >= 0) {
		json_t *json = json_loadb(line, (size_t)bytes,
		    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);

		number++;
		bad = json == NULL ? where.text
				   : read_object(json, summary, &done);
		json_decref(json);
	}
	free(line);
	fclose(file);
	if (bad == NULL && !done) {
		number++;
		bad = "the summary is missing";
	}
	if (bad == NULL)
		return 0;
	return tz_error(err, TZ_EFORMAT, "%s:%d: %s", path, number, bad);
}

void
report_summary_free(struct finding_summary *summary)
{
	free(summary->finding);
	free(summary->group);
	free(summary->made);
	memset(summary, 0, sizeof(*summary));
}
