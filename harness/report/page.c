/*
 * The page of a finding: page.html with the finding and its run as JSON.
 */
#include <jansson.h>

#include "harness/report/internal.h"

/* Names of the neighbours' pages; null: none. */
static json_t *
links_json(const struct finding_summary *summary, size_t index)
{
	char prev[REPORT_NAME_BYTES], next[REPORT_NAME_BYTES];
	bool has_prev = index > 0,
	     has_next = index + 1 < summary->finding_count;

	if (has_prev)
		report_name(prev, index - 1, "html");
	if (has_next)
		report_name(next, index + 1, "html");
	return json_pack("{s:o, s:o, s:s, s:I, s:I}", "prev",
	    has_prev ? json_string(prev) : json_null(), "next",
	    has_next ? json_string(next) : json_null(), "index", "index.html",
	    "number", (json_int_t)index + 1, "count",
	    (json_int_t)summary->finding_count);
}

int
report_page(const char *path, const struct finding_summary *summary,
    size_t index, const struct finding_timeline *timeline, struct tz_error *err)
{
	const struct finding *finding;
	const struct check_info *check;
	const char *no_window;

	TZ_ASSERT(index < summary->finding_count);
	finding = &summary->finding[index];
	no_window = report_no_window(finding);
	check = check_info(finding->check);
	return report_fill(path, report_page_html, report_page_html_bytes,
	    json_pack(
		"{s:i, s:o, s:{s:s, s:s, s:s}, s:s, s:s, s:o, s:o, s:o, s:o}",
		"schema", REPORT_SCHEMA, "finding",
		report_json_finding(summary, finding), "check", "name",
		check->name, "text", check->text, "citation", check->citation,
		"class_text", report_class_text(finding->class), "no_window",
		no_window != NULL ? no_window : "", "links",
		links_json(summary, index), "command",
		report_json_string(summary->command), "replay_options",
		report_json_given(report_replay_options(summary)), "story",
		timeline == NULL ? json_null()
				 : report_json_timeline(timeline)),
	    err);
}
