/*
 * The index page: index.html with the summary as JSON.
 */
#include <jansson.h>

#include "harness/report/internal.h"

static json_t *
row_json(const struct finding_summary *summary, size_t index)
{
	const struct finding *finding = &summary->finding[index];
	const struct check_info *check = check_info(finding->check);
	const char *no_window = report_no_window(finding);
	char page[REPORT_NAME_BYTES];

	report_name(page, index, "html");
	return json_pack("{s:o, s:s, s:s, s:s, s:s, s:s}", "finding",
	    report_json_finding(summary, finding), "page", page, "text",
	    check->text, "citation", check->citation, "class_text",
	    report_class_text(finding->class), "no_window",
	    no_window != NULL ? "none" : "");
}

int
report_index(const char *path, const struct finding_summary *summary,
    struct tz_error *err)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < summary->finding_count; i++)
		json_array_append_new(rows, row_json(summary, i));
	return report_fill(path, report_index_html, report_index_html_bytes,
	    json_pack("{s:i, s:o, s:o}", "schema", REPORT_SCHEMA, "summary",
		report_json_summary(summary), "findings", rows),
	    err);
}
