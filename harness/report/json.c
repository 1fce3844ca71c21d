/*
 * Findings and summaries as JSON objects, and as JSON lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/internal.h"

/* Integers up to this value are exact as a double. */
#define EXACT_MAX (UINT64_C(1) << 53)

json_t *
report_json_string(const char *text)
{
	size_t length = strlen(text), used = 0;
	char *clean = malloc(length + 1);
	json_t *json;

	if (clean == NULL)
		return NULL;
	while (*text != '\0') {
		size_t bytes = report_utf8(text);

		if (bytes == 0) {
			/* Not U+FFFD: a string that is read back must fit in the
			 * same number of bytes. */
			clean[used++] = '?';
			text++;
			continue;
		}
		memcpy(&clean[used], text, bytes);
		used += bytes;
		text += bytes;
	}
	json = json_stringn_nocheck(clean, used);
	free(clean);
	return json;
}

json_t *
report_json_given(char *text)
{
	json_t *json = text == NULL ? NULL : report_json_string(text);

	free(text);
	return json;
}

json_t *
report_json_u64(uint64_t value)
{
	if (value <= EXACT_MAX)
		return json_integer((json_int_t)value);
	return json_sprintf("0x%" PRIx64, value);
}

json_t *
report_json_place(const struct finding_place *place)
{
	return json_pack("{s:o, s:o, s:i, s:i}", "function",
	    report_json_string(place->function), "file",
	    report_json_string(place->file), "line", place->line, "offset",
	    (int)place->offset_bytes);
}

static json_t *
symptom_json(const struct finding_symptom *symptom)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:[o, o, o]}", "check",
	    check_info(symptom->check)->name, "kinds",
	    report_json_string(symptom->kinds), "message",
	    report_json_string(symptom->message), "where",
	    report_json_string(symptom->where), "token",
	    report_json_string(symptom->token), "rank",
	    report_json_u64(symptom->rank[0]),
	    report_json_u64(symptom->rank[1]),
	    report_json_u64(symptom->rank[2]));
}

static json_t *
symptoms_json(const struct finding *finding)
{
	json_t *symptoms = json_array();

	for (unsigned i = 0; i < finding->symptom_count; i++)
		json_array_append_new(
		    symptoms, symptom_json(&finding->symptom[i]));
	return symptoms;
}

json_t *
report_json_finding(
    const struct finding_summary *summary, const struct finding *finding)
{
	json_t *root, *rest;

	root = json_pack(
	    "{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
	    REPORT_SCHEMA, "kind", "finding", "verdict",
	    report_verdict(finding), "check", report_check(finding), "class",
	    report_class(finding->class), "driver",
	    report_json_string(finding->driver), "scenario",
	    report_json_string(finding->scenario), "profile",
	    report_json_string(finding->profile), "sha256",
	    report_json_string(finding->sha256), "token",
	    report_json_string(finding->token), "replay",
	    report_json_given(report_replay(summary, finding->token)));
	rest = json_pack("{s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o}",
	    "passing", report_json_string(finding->passing), "message",
	    report_json_string(finding->message), "kinds",
	    report_json_string(finding->kinds), "steps",
	    report_json_string(finding->steps), "cpu", (int)finding->cpu,
	    "insns", report_json_u64(finding->insns), "cycles",
	    report_json_u64(finding->cycles), "event",
	    report_json_u64(finding->event), "state_hash",
	    json_sprintf("%016" PRIx64, finding->state_hash), "place",
	    report_json_place(&finding->place));
	if (rest != NULL && json_object_update(root, rest) != 0)
		root = NULL;
	json_decref(rest);
	rest = json_pack(
	    "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:[o, o, o], "
	    "s:{s:I, s:I, s:o, s:o}}",
	    "fingerprint", finding->fingerprint, "cause",
	    json_sprintf("%016" PRIx64, finding->cause), "own",
	    json_sprintf("%016" PRIx64, finding->own), "entry",
	    report_json_string(finding->entry), "through",
	    report_json_string(finding->through), "object",
	    report_json_string(finding->object), "symptoms",
	    symptoms_json(finding), "symptoms_more", finding->symptom_more,
	    "rank", report_json_u64(finding->rank[0]),
	    report_json_u64(finding->rank[1]),
	    report_json_u64(finding->rank[2]), "window", "failing",
	    (json_int_t)finding->window_failing, "count",
	    (json_int_t)finding->window_count, "first",
	    report_json_place(&finding->window_first), "last",
	    report_json_place(&finding->window_last));
	if (rest == NULL || json_object_update(root, rest) != 0) {
		json_decref(root);
		root = NULL;
	}
	json_decref(rest);
	return root;
}

/* The data by which the shards of an exploration are joined. */
static json_t *
group_json(
    const struct finding_summary *summary, const struct finding_group *group)
{
	json_t *made = group->made < 0
	    ? json_null()
	    : report_json_finding(summary, &summary->made[group->made]);

	return json_pack(
	    "{s:i, s:s, s:o, s:o, s:o, s:s, s:b, s:o, s:o, s:b, s:o, s:o}",
	    "schema", REPORT_SCHEMA, "kind", "group", "cause",
	    json_sprintf("%016" PRIx64, group->cause), "own",
	    json_sprintf("%016" PRIx64, group->own), "kinds",
	    report_json_u64(group->kinds), "check",
	    check_info(group->check)->name, "fault", group->fault, "event",
	    report_json_u64(group->event), "mistake",
	    json_sprintf("%016" PRIx64, group->mistake), "apart", group->apart,
	    "symptom", symptom_json(&group->symptom), "finding", made);
}

static json_t *
coverage_json(const struct finding_coverage *row)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b}",
	    "what", report_json_string(row->what), "how",
	    report_json_string(row->how), "done", report_json_u64(row->done),
	    "total", report_json_u64(row->total), "merged",
	    report_json_u64(row->merged), "failing",
	    report_json_u64(row->failing), "unjudged",
	    report_json_u64(row->unjudged), "cut", row->cut, "base_fails",
	    row->base_fails, "base_unjudged", row->base_unjudged);
}

static json_t *
unjudged_json(const struct finding_summary *summary)
{
	json_t *unjudged = json_array();

	for (size_t i = 0; i < summary->unjudged_count; i++) {
		const struct finding_unjudged *row = &summary->unjudged[i];

		json_array_append_new(unjudged,
		    json_pack("{s:s, s:s, s:o}", "check",
			check_info(row->check)->name, "reason",
			check_reason_name(row->reason), "schedules",
			report_json_u64(row->schedules)));
	}
	return unjudged;
}

/*
 * The number of shards, and the numbers, from 1, of those that are included and of
 * those that were not run to the end.
 */
static json_t *
shards_json(const struct finding_summary *summary)
{
	json_t *have = json_array(), *cut = json_array();

	for (unsigned i = 0; i < summary->shards; i++) {
		if (report_has_shard(summary, i))
			json_array_append_new(have, json_integer(i + 1));
		if (report_shard_is_cut(summary, i))
			json_array_append_new(cut, json_integer(i + 1));
	}
	return json_pack("{s:i, s:o, s:o}", "of", (int)summary->shards, "have",
	    have, "cut", cut);
}

json_t *
report_json_summary(const struct finding_summary *summary)
{
	json_t *coverage = json_array();

	for (size_t i = 0; i < summary->coverage_count; i++)
		json_array_append_new(
		    coverage, coverage_json(&summary->coverage[i]));
	return json_pack(
	    "{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o,"
	    " s:o, s:o, s:o, s:o, s:i}",
	    "schema", REPORT_SCHEMA, "kind", "summary", "folder",
	    report_json_string(summary->folder), "driver",
	    report_json_string(summary->driver), "profile",
	    report_json_string(summary->profile), "sha256",
	    report_json_string(summary->sha256), "command",
	    report_json_string(summary->command), "schedules",
	    report_json_u64(summary->schedules), "decoded",
	    report_json_u64(summary->decoded), "findings",
	    report_json_u64(summary->judged_count), "not_judged",
	    report_json_u64(summary->finding_count - summary->judged_count),
	    "unjudged", unjudged_json(summary), "shards", shards_json(summary),
	    "coverage", coverage, "drivers",
	    report_json_string(summary->drivers), "from",
	    report_json_string(summary->from), "tsc_hz",
	    report_json_u64(summary->tsc_hz), "exit_code", summary->exit_code);
}

/* Takes ownership of JSON. */
static int
write_line(FILE *file, json_t *json, struct tz_error *err)
{
	int error = json == NULL
	    ? -1
	    : json_dumpf(json, file,
		  JSON_COMPACT | JSON_SORT_KEYS | JSON_ESCAPE_SLASH);

	json_decref(json);
	if (error != 0 && ferror(file) != 0)
		return tz_error(err, TZ_EIO, "output: %s", strerror(errno));
	if (error != 0)
		return tz_error(err, TZ_EIO, "out of memory");
	putc('\n', file);
	return 0;
}

int
report_json(
    FILE *file, const struct finding_summary *summary, struct tz_error *err)
{
	int error = 0;

	for (size_t i = 0; i < summary->finding_count && error == 0; i++)
		error = write_line(file,
		    report_json_finding(summary, &summary->finding[i]), err);
	for (size_t i = 0; i < summary->group_count && error == 0 &&
	     report_shards_missing(summary) != 0;
	     i++)
		error = write_line(
		    file, group_json(summary, &summary->group[i]), err);
	if (error == 0)
		error = write_line(file, report_json_summary(summary), err);
	return error != 0 ? error : report_flush(file, err);
}

int
report_json_write(const char *path, const struct finding_summary *summary,
    struct tz_error *err)
{
	FILE *file;
	int error = report_open(path, &file, err);
	int close_error;

	if (error != 0)
		return error;
	error = report_json(file, summary, err);
	/* The error of report_close() names the file. */
	close_error = report_close(file, path, err);
	return error != 0 ? error : close_error;
}
