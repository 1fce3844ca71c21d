/*
 * Writes all formats to one folder.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/host/folder/tree.h"
#include "harness/report/internal.h"

static char *
join(const char *directory, const char *name)
{
	size_t bytes = strlen(directory) + strlen(name) + 2;
	char *path = malloc(bytes);

	TZ_ASSERT(path != NULL);
	snprintf(path, bytes, "%s/%s", directory, name);
	return path;
}

static int
write_token(const char *directory, const char *name, const char *token,
    struct tz_error *err)
{
	char *path = join(directory, name);
	FILE *file;
	int error = report_open(path, &file, err);

	if (error == 0) {
		fprintf(file, "%s\n", token);
		error = report_close(file, path, err);
	}
	free(path);
	return error;
}

static int
write_page(const char *directory, const struct finding_summary *summary,
    size_t index, const struct finding_timeline *timeline, struct tz_error *err)
{
	char name[REPORT_NAME_BYTES];
	char *path;
	int error;

	report_name(name, index, "html");
	path = join(directory, name);
	error = report_page(path, summary, index, timeline, err);
	free(path);
	return error;
}

/* Writes the tokens that are too long for a line. */
static int
write_tokens(const char *directory, const struct finding_summary *summary,
    struct tz_error *err)
{
	char name[REPORT_NAME_BYTES];
	int error = 0;

	for (size_t i = 0; i < summary->finding_count && error == 0; i++) {
		const char *token = summary->finding[i].token;

		report_name(name, i, "token");
		if (report_is_long(token))
			error = write_token(directory, name, token, err);
	}
	return error;
}

int
report_write_forms(const char *directory, const struct finding_summary *summary,
    const struct finding_timeline *timelines, struct tz_error *err)
{
	static const struct {
		const char *name;
		int (*write)(const char *path,
		    const struct finding_summary *summary,
		    struct tz_error *err);
	} form[] = {
		{ "index.html", report_index },
		{ "findings.jsonl", report_json_write },
		{ "junit.xml", report_junit },
	};
	char *path;
	int error = tree_make(directory, 0777, err);

	if (error == 0)
		error = write_tokens(directory, summary, err);
	for (size_t i = 0; i < TZ_ARRAY_LEN(form) && error == 0; i++) {
		path = join(directory, form[i].name);
		error = form[i].write(path, summary, err);
		free(path);
	}
	if (error != 0)
		return error;
	path = join(directory, "findings.sarif");
	error = report_sarif(path, summary, timelines, err);
	free(path);
	return error;
}

int
report_write_all(const char *directory, const struct finding_summary *summary,
    const struct finding_timeline *timelines, struct tz_error *err)
{
	int error = tree_make(directory, 0777, err);

	for (size_t i = 0; i < summary->finding_count && error == 0; i++)
		error = write_page(directory, summary, i,
		    timelines == NULL ? NULL : &timelines[i], err);
	return error == 0
	    ? report_write_forms(directory, summary, timelines, err)
	    : error;
}
