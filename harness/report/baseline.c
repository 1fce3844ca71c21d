/*
 * Known findings, and the comparison of a summary with them.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "harness/host/input.h"
#include "harness/report/internal.h"

int
report_baseline_write(const char *path, const struct finding_summary *summary,
    struct tz_error *err)
{
	int error, bad = 0;
	FILE *file;

	error = report_open(path, &file, err);
	if (error != 0)
		return error;
	for (size_t i = 0; i < summary->finding_count; i++) {
		const struct finding *finding = &summary->finding[i];
		json_t *json;

		if (!finding->judged)
			continue;
		json = json_pack("{s:i, s:s, s:s, s:o, s:o}", "schema",
		    REPORT_SCHEMA, "fingerprint", finding->fingerprint, "check",
		    report_check(finding), "function",
		    report_json_string(finding->place.function), "kinds",
		    report_json_string(finding->kinds));
		bad |= json == NULL ||
		    json_dumpf(json, file, JSON_COMPACT | JSON_SORT_KEYS) != 0;
		putc('\n', file);
		json_decref(json);
	}
	error = report_close(file, path, err);
	if (error == 0 && bad)
		error = tz_error(err, TZ_EIO, "%s: out of memory", path);
	return error;
}

int
report_baseline_of(const struct finding_summary *summary,
    struct report_baseline *baseline, struct tz_error *err)
{
	*baseline = (struct report_baseline){
		.mark = calloc(
		    summary->finding_count + 1, sizeof(*baseline->mark)),
	};
	if (baseline->mark == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	for (size_t i = 0; i < summary->finding_count; i++) {
		const struct finding *finding = &summary->finding[i];
		struct report_mark *mark = &baseline->mark[baseline->count];

		if (!finding->judged)
			continue;
		memcpy(mark->print, finding->fingerprint, sizeof(mark->print));
		snprintf(mark->check, sizeof(mark->check), "%s",
		    report_check(finding));
		snprintf(mark->function, sizeof(mark->function), "%s",
		    finding->place.function);
		snprintf(
		    mark->kinds, sizeof(mark->kinds), "%s", finding->kinds);
		baseline->count++;
	}
	return 0;
}

static bool
get_mark(const json_t *json, struct report_mark *mark)
{
	static const char digits[] = "0123456789abcdef";
	const char *print = json_string_value(
	    json_object_get(json, "fingerprint"));
	const char *check = json_string_value(json_object_get(json, "check"));
	const char *function = json_string_value(
	    json_object_get(json, "function"));
	const char *kinds = json_string_value(json_object_get(json, "kinds"));

	if (json_integer_value(json_object_get(json, "schema")) !=
		REPORT_SCHEMA ||
	    print == NULL || check == NULL || function == NULL || kinds == NULL)
		return false;
	if (strlen(print) != FINDING_PRINT_BYTES - 1 ||
	    strspn(print, digits) != FINDING_PRINT_BYTES - 1)
		return false;
	snprintf(mark->print, sizeof(mark->print), "%s", print);
	snprintf(mark->check, sizeof(mark->check), "%s", check);
	snprintf(mark->function, sizeof(mark->function), "%s", function);
	snprintf(mark->kinds, sizeof(mark->kinds), "%s", kinds);
	return true;
}

static bool
add_mark(struct report_baseline *baseline, const json_t *json)
{
	size_t count = baseline->count + 1;
	struct report_mark *grown = realloc(
	    baseline->mark, count * sizeof(*grown));

	if (grown == NULL)
		return false;
	baseline->mark = grown;
	if (!get_mark(json, &grown[count - 1]))
		return false;
	baseline->count = count;
	return true;
}

int
report_baseline_read(
    const char *path, struct report_baseline *baseline, struct tz_error *err)
{
	bool good = true;
	size_t room = 0;
	char *line = NULL;
	int number = 0;
	ssize_t bytes;
	FILE *file;
	int error;

	memset(baseline, 0, sizeof(*baseline));
	error = input_open(path, INPUT_BASELINE, &file, err);
	if (error != 0)
		return error;
	while (good && (bytes = getline(&line, &room, file)) >= 0) {
		json_t *json = json_loadb(
		    line, (size_t)bytes, JSON_REJECT_DUPLICATES, NULL);

		number++;
		good = json != NULL && add_mark(baseline, json);
		json_decref(json);
	}
	free(line);
	fclose(file);
	if (good)
		return 0;
	return tz_error(err, TZ_EFORMAT,
	    "%s:%d: not a line of a baseline of this version; make it again: "
	    "--write-baseline",
	    path, number);
}

void
report_baseline_free(struct report_baseline *baseline)
{
	free(baseline->mark);
	memset(baseline, 0, sizeof(*baseline));
}

bool
report_baseline_has(
    const struct report_baseline *baseline, const struct finding *finding)
{
	for (size_t i = 0; i < baseline->count; i++)
		if (strcmp(baseline->mark[i].print, finding->fingerprint) == 0)
			return true;
	return false;
}

void
report_baseline_compare(const struct report_baseline *baseline,
    const struct finding_summary *summary, struct report_comparison *comparison)
{
	memset(comparison, 0, sizeof(*comparison));
	for (size_t i = 0; i < summary->finding_count; i++) {
		if (!summary->finding[i].judged)
			continue;
		if (report_baseline_has(baseline, &summary->finding[i]))
			comparison->still_count++;
		else
			comparison->new_count++;
	}
	TZ_ASSERT(comparison->still_count <= baseline->count);
	comparison->fixed_count = baseline->count - comparison->still_count;
}
