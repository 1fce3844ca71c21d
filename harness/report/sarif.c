#define _GNU_SOURCE
/*
 * SARIF 2.1.0 (OASIS standard, 2020), which code hosts and editors show beside the
 * source.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/internal.h"
#include "topaz_version.h"

/* Maximum number of events in a flow, up to the violation: viewers fail with more. */
#define FLOW_EVENTS 400

/*
 * 3.4.3: a relative URI reference, no "..", percent-encoded.  "." in the compiler's
 * paths is the FOLDER of the driver's sources.
 */
static json_t *
uri_json(const char *folder, const char *file)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~/+,=@";
	char joined[FINDING_TEXT_BYTES +
	    sizeof(((struct finding_place *)NULL)->file) + 1];
	char uri[3 * sizeof(joined) + 1];
	const char *path = joined;
	size_t used = 0;

	/* Paths with further folders are topaz's own sources. */
	if (strncmp(file, "./", 2) == 0 && strchr(file + 2, '/') == NULL &&
	    folder[0] != '\0')
		snprintf(joined, sizeof(joined), "%s/%s", folder, file + 2);
	else
		path = file;
	while (*path == '/' || strncmp(path, "./", 2) == 0 ||
	    strncmp(path, "../", 3) == 0)
		path += *path == '/' ? 1 : path[1] == '/' ? 2 : 3;
	for (; *path != '\0'; path++) {
		unsigned char c = (unsigned char)*path;

		TZ_ASSERT(used + 4 <= sizeof(uri));
		if (strchr(plain, c) != NULL)
			uri[used++] = (char)c;
		else
			used += (size_t)snprintf(
			    &uri[used], sizeof(uri) - used, "%%%02X", c);
	}
	return json_stringn(uri, used);
}

static json_t *
location_json(
    const char *folder, const struct finding_place *place, const char *text)
{
	json_t *location = json_object(), *physical;

	if (place != NULL && place->file[0] != '\0') {
		physical = json_pack("{s:{s:o, s:s}}", "artifactLocation",
		    "uri", uri_json(folder, place->file), "uriBaseId",
		    "SRCROOT");
		if (place->line > 0)
			json_object_set_new(physical, "region",
			    json_pack("{s:i}", "startLine", place->line));
		json_object_set_new(location, "physicalLocation", physical);
	}
	if (place != NULL && place->function[0] != '\0')
		json_object_set_new(location, "logicalLocations",
		    json_pack("[{s:o, s:s}]", "name",
			report_json_string(place->function), "kind",
			"function"));
	if (text != NULL)
		json_object_set_new(location, "message",
		    json_pack("{s:o}", "text", report_json_string(text)));
	return location;
}

/* Trace output and bookkeeping events are omitted from flows. */
static bool
is_step(const struct event *event)
{
	return event->kind != EVENT_OUTPUT && event->kind != EVENT_PSB &&
	    event->kind != EVENT_ALLOC && event->kind != EVENT_FREE &&
	    event->kind != EVENT_TOPA_ENTRY && event->kind != EVENT_STACK;
}

static json_t *
step_json(const char *folder, const struct finding_timeline *timeline,
    size_t index, unsigned order)
{
	const struct event *event = &timeline->event[index];
	const struct event_info *info = event_info(event->kind);
	const uint64_t value[] = { event->a, event->b, event->c };
	char text[256];
	int used = snprintf(text, sizeof(text), "%s", info->text);

	for (unsigned i = 0; i < TZ_ARRAY_LEN(value); i++)
		if (info->arg[i][0] != '\0')
			used += snprintf(&text[used],
			    sizeof(text) - (size_t)used, " %s=0x%" PRIx64,
			    info->arg[i], value[i]);
	return json_pack("{s:o, s:i}", "location",
	    location_json(folder,
		timeline->event_place == NULL ? NULL
					      : &timeline->event_place[index],
		text),
	    "executionOrder", (int)order);
}

/* One thread flow for each CPU that has a step among the last FLOW_EVENTS. */
static json_t *
flow_json(const char *folder, const struct finding *finding,
    const struct finding_timeline *timeline)
{
	size_t end = finding->event < timeline->event_count
	    ? (size_t)finding->event + 1
	    : timeline->event_count;
	size_t begin = end, steps = 0;
	json_t *flows = json_array(), *locations, *id;
	unsigned order;

	while (begin > 0 && steps < FLOW_EVENTS)
		steps += is_step(&timeline->event[--begin]);
	for (unsigned cpu = 0; cpu < timeline->cpu_count; cpu++) {
		locations = json_array();
		order = 0;
		for (size_t i = begin; i < end; i++) {
			if (!is_step(&timeline->event[i]))
				continue;
			order++;
			if (timeline->event[i].cpu == cpu)
				json_array_append_new(locations,
				    step_json(folder, timeline, i, order));
		}
		if (json_array_size(locations) == 0) {
			json_decref(locations);
			continue;
		}
		id = json_sprintf("cpu%u", cpu);
		json_array_append_new(flows,
		    json_pack("{s:o, s:o}", "id", id, "locations", locations));
	}
	if (json_array_size(flows) == 0) {
		json_decref(flows);
		return NULL;
	}
	return json_pack("[{s:o}]", "threadFlows", flows);
}

/* The message of FINDING, preceded by BEFORE, and the command that replays it. */
static json_t *
message_json(const struct finding_summary *summary,
    const struct finding *finding, const char *before)
{
	char *replay = report_replay(summary, finding->token), *text;

	if (replay == NULL ||
	    asprintf(&text, "%s%s\nreplay: %s", before, finding->message,
		replay) < 0)
		text = NULL;
	free(replay);
	return json_pack("{s:o}", "text", report_json_given(text));
}

static json_t *
result_json(const struct finding_summary *summary,
    const struct finding *finding, const struct finding_timeline *timeline)
{
	const char *folder = summary->folder;
	json_t *result, *flow;

	result = json_pack("{s:s, s:i, s:s, s:o, s:[o], s:{s:s}, "
			   "s:{s:o, s:s, s:o, s:o, s:o, s:o}}",
	    "ruleId", report_check(finding), "ruleIndex", (int)finding->check,
	    "level", "error", "message", message_json(summary, finding, ""),
	    "locations", location_json(folder, &finding->place, NULL),
	    "partialFingerprints", "topaz/v2", finding->fingerprint,
	    "properties", "token", report_json_string(finding->token), "class",
	    report_class(finding->class), "driver",
	    report_json_string(finding->driver), "scenario",
	    report_json_string(finding->scenario), "profile",
	    report_json_string(finding->profile), "sha256",
	    report_json_string(finding->sha256));
	flow = timeline == NULL ? NULL : flow_json(folder, finding, timeline);
	if (result != NULL && flow != NULL)
		json_object_set_new(result, "codeFlows", flow);
	return result;
}

static json_t *
rules_json(void)
{
	json_t *rules = json_array();

	for (unsigned i = 0; i < CHECK_COUNT; i++) {
		const struct check_info *info = check_info((enum check_id)i);

		json_array_append_new(rules,
		    json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "id", info->name,
			"name", info->name, "shortDescription", "text",
			info->text, "help", "text", info->citation));
	}
	return rules;
}

/* A run that could not be judged. */
static json_t *
unjudged_json(
    const struct finding_summary *summary, const struct finding *finding)
{
	return json_pack("{s:s, s:o, s:[o], s:{s:s, s:i}}", "level", "error",
	    "message", message_json(summary, finding, "not judged: "),
	    "locations", location_json(summary->folder, &finding->place, NULL),
	    "associatedRule", "id", report_check(finding), "index",
	    (int)finding->check);
}

/* A check that was not judged in some schedules. */
static json_t *
reason_json(
    const struct finding_summary *summary, const struct finding_unjudged *row)
{
	const char *check = check_info(row->check)->name;

	return json_pack("{s:s, s:{s:o}, s:{s:s, s:i}}", "level", "note",
	    "message", "text",
	    json_sprintf("not judged: %s in %" PRIu64 " of %" PRIu64
			 " schedules: %s",
		check, row->schedules, summary->schedules,
		check_reason_text(row->reason)),
	    "associatedRule", "id", check, "index", (int)row->check);
}

/* A part of the exploration that was not run to its end. */
static json_t *
cut_json(const struct finding_coverage *row)
{
	json_t *what = report_json_string(row->what);
	json_t *json = json_pack("{s:s, s:{s:o}}", "level", "warning",
	    "message", "text",
	    json_sprintf("not run to the end: %s: %" PRIu64 " of %" PRIu64,
		json_string_value(what), row->done, row->total));

	json_decref(what);
	return json;
}

static json_t *
notifications_json(const struct finding_summary *summary)
{
	json_t *all = json_array();

	for (size_t i = summary->judged_count; i < summary->finding_count; i++)
		json_array_append_new(
		    all, unjudged_json(summary, &summary->finding[i]));
	for (size_t i = 0; i < summary->unjudged_count; i++)
		json_array_append_new(
		    all, reason_json(summary, &summary->unjudged[i]));
	for (size_t i = 0; i < summary->coverage_count; i++) {
		if (summary->coverage[i].cut)
			json_array_append_new(
			    all, cut_json(&summary->coverage[i]));
	}
	return all;
}

/*
 * The result of the exploration: whether it ended, and whether all runs could be
 * judged.
 */
static json_t *
invocation_json(const struct finding_summary *summary)
{
	json_t *json = json_pack("{s:b, s:o}", "executionSuccessful",
	    summary->judged_count == summary->finding_count &&
		!report_is_cut(summary),
	    "toolExecutionNotifications", notifications_json(summary));

	/* With many shards, the command may be too long to be kept. */
	if (json != NULL && summary->command[0] != '\0')
		json_object_set_new(
		    json, "commandLine", report_json_string(summary->command));
	if (json != NULL && summary->exit_code != FINDING_EXIT_UNKNOWN)
		json_object_set_new(
		    json, "exitCode", json_integer(summary->exit_code));
	return json;
}

int
report_sarif(const char *path, const struct finding_summary *summary,
    const struct finding_timeline *timelines, struct tz_error *err)
{
	json_t *results = json_array(), *root;
	FILE *file;
	int error = report_open(path, &file, err);

	for (size_t i = 0; i < summary->judged_count && error == 0; i++)
		json_array_append_new(results,
		    result_json(summary, &summary->finding[i],
			timelines == NULL ? NULL : &timelines[i]));
	root = json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:s, s:o}}, s:[o], "
			 "s:o, s:s, s:{s:{s:{s:s}}}}]}",
	    "version", "2.1.0", "$schema",
	    "https://json.schemastore.org/sarif-2.1.0.json", "runs", "tool",
	    "driver", "name", "topaz", "version", TOPAZ_VERSION,
	    "informationUri", "man:topaz(1)", "rules", rules_json(),
	    "invocations", invocation_json(summary), "results", results,
	    "columnKind", "utf16CodeUnits", "originalUriBaseIds", "SRCROOT",
	    "description", "text", "the folder in which topaz was called");
	if (error == 0) {
		if (root == NULL ||
		    (json_dumpf(root, file,
			 JSON_INDENT(1) | JSON_SORT_KEYS | JSON_ESCAPE_SLASH) !=
			    0 &&
			ferror(file) == 0))
			error = tz_error(
			    err, TZ_EIO, "%s: out of memory", path);
		putc('\n', file);
		if (report_close(file, path, error == 0 ? err : NULL) != 0)
			error = -TZ_EIO;
	}
	json_decref(root);
	return error;
}
