#include "harness/cmd/reencode/reencode_page.h"

#include <jansson.h>

#include "harness/host/folder/output.h"
#include "harness/report/fill.h"

extern const unsigned char reencode_page_html[];
extern const size_t reencode_page_html_bytes;

int
reencode_page_begin(
    struct reencode_page *page, const char *path, struct tz_error *err)
{
	int error = output_claim_file(path, &page->output, err);

	if (error != 0)
		return error;
	page->traces = json_array();
	if (page->traces != NULL)
		return 0;
	output_abandon(page->output);
	return tz_error(err, TZ_EIO, "%s: out of memory", path);
}

int
reencode_page_add(
    struct reencode_page *page, struct json_t *trace, struct tz_error *err)
{
	return trace == NULL || json_array_append_new(page->traces, trace) != 0
	    ? tz_error(err, TZ_EIO, "page: out of memory")
	    : 0;
}

int
reencode_page_end(
    struct reencode_page *page, const char *command, struct tz_error *err)
{
	json_t *data = json_pack(
	    "{s:s, s:O}", "command", command, "traces", page->traces);
	int error = report_fill(output_new(page->output), reencode_page_html,
	    reencode_page_html_bytes, data, err);

	json_decref(page->traces);
	if (error == 0)
		return output_publish(page->output, err);
	output_rename(page->output, err);
	output_abandon(page->output);
	return error;
}
