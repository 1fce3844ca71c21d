/*
 * JUnit XML, as Jenkins, GitLab and others read it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/internal.h"

/* True if the character at TEXT, BYTES long, is a valid XML 1.0 character. */
static bool
is_xml(const char *text, size_t bytes)
{
	unsigned char c = (unsigned char)text[0];

	if (bytes == 1)
		return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
	/* U+FFFE and U+FFFF */
	return memcmp(text, "\xef\xbf\xbe", bytes < 3 ? bytes : 3) != 0 &&
	    memcmp(text, "\xef\xbf\xbf", bytes < 3 ? bytes : 3) != 0;
}

/* Writes TEXT as content or as an attribute value in double quotes. */
static void
put_xml(FILE *file, const char *text)
{
	while (*text != '\0') {
		size_t bytes = report_utf8(text);

		if (bytes == 0 || !is_xml(text, bytes))
			fputs("\xef\xbf\xbd", file);
		else if (strchr("<>&\"'\t\n\r", *text) != NULL)
			fprintf(file, "&#%d;", *text);
		else
			fwrite(text, 1, bytes, file);
		text += bytes == 0 ? 1 : bytes;
	}
}

/* Writes NAME="VALUE", preceded by a space. */
static void
put_attribute(FILE *file, const char *name, const char *value)
{
	fprintf(file, " %s=\"", name);
	put_xml(file, value);
	putc('"', file);
}

/* The number of findings before INDEX with the same scenario and profile. */
static unsigned
earlier(const struct finding_summary *summary, size_t index)
{
	const struct finding *finding = &summary->finding[index];
	unsigned count = 0;

	for (size_t i = 0; i < index; i++) {
		const struct finding *other = &summary->finding[i];

		count += strcmp(other->scenario, finding->scenario) == 0 &&
		    strcmp(other->profile, finding->profile) == 0;
	}
	return count;
}

static void
put_property(FILE *file, const char *name, const char *value)
{
	if (value[0] == '\0')
		return;
	fputs("        <property", file);
	put_attribute(file, "name", name);
	put_attribute(file, "value", value);
	fputs("/>\n", file);
}

static void
put_window(FILE *file, const struct finding *finding)
{
	const char *none = report_no_window(finding);

	if (none != NULL)
		fprintf(file, "\nwindow: %s", none);
	else if (finding->window_count != 0)
		fprintf(file,
		    "\nfails at %" PRIu32 " of %" PRIu32 " boundaries",
		    finding->window_failing, finding->window_count);
}

static void
put_symptoms(FILE *file, const struct finding *finding)
{
	for (unsigned i = 0; i < finding->symptom_count; i++) {
		const struct finding_symptom *symptom = &finding->symptom[i];

		fprintf(file, "\nalso: %s ", check_info(symptom->check)->name);
		put_xml(file, symptom->message);
		fputs(" (", file);
		put_xml(file, symptom->token);
		putc(')', file);
	}
}

static void
put_replay(FILE *file, const struct finding_summary *summary, const char *token)
{
	char *line = report_replay(summary, token);

	fputs("\nreplay: ", file);
	put_xml(file, line != NULL ? line : token);
	free(line);
}

/* The time of a case is virtual: from the run's start to the violation. */
static void
put_virtual(FILE *file, const struct finding_summary *summary,
    const struct finding *finding)
{
	uint64_t hz = summary->tsc_hz;

	if (hz != 0)
		fprintf(file, " time=\"%" PRIu64 ".%09" PRIu64 "\"",
		    finding->cycles / hz,
		    finding->cycles % hz * 1000000000 / hz);
}

/* The time of the suite is wall time; everything else is the same on every run. */
static void
put_host(FILE *file, const struct finding_summary *summary)
{
	if (summary->host_seconds > 0)
		fprintf(file, " time=\"%.3f\"", summary->host_seconds);
}

static void
put_finding(FILE *file, const struct finding_summary *summary, size_t index)
{
	const struct finding *finding = &summary->finding[index];
	const struct check_info *check = check_info(finding->check);
	const char *kind = finding->judged ? "failure" : "error";
	char page[REPORT_NAME_BYTES];
	unsigned number = earlier(summary, index) + 1;

	report_name(page, index, "html");
	fputs("    <testcase", file);
	put_attribute(file, "classname", finding->driver);
	fputs(" name=\"", file);
	put_xml(file, finding->scenario);
	putc('[', file);
	put_xml(file, finding->profile);
	putc(']', file);
	if (number > 1)
		fprintf(file, " #%u", number);
	putc('"', file);
	put_virtual(file, summary, finding);
	fputs(">\n      <properties>\n", file);
	put_property(file, "token", finding->token);
	put_property(file, "passing", finding->passing);
	put_property(file, "class", report_class(finding->class));
	put_property(file, "kinds", finding->kinds);
	put_property(file, "sha256", finding->sha256);
	put_property(file, "fingerprint", finding->fingerprint);
	put_property(file, "cause", finding->object);
	put_property(file, "report", page);
	fprintf(file, "      </properties>\n      <%s", kind);
	put_attribute(file, "type", check->name);
	put_attribute(file, "message", finding->message);
	putc('>', file);
	put_xml(file, check->text);
	fputs(" (", file);
	put_xml(file, check->citation);
	fputs(")\nat ", file);
	put_xml(file, finding->place.function);
	putc(' ', file);
	put_xml(file, finding->place.file);
	fprintf(file, ":%d cpu%u\nclass: ", finding->place.line, finding->cpu);
	fputs(report_class_text(finding->class), file);
	put_window(file, finding);
	put_symptoms(file, finding);
	put_replay(file, summary, finding->token);
	fprintf(file, "</%s>\n    </testcase>\n", kind);
}

static void
put_coverage(FILE *file, const struct finding_summary *summary)
{
	for (size_t i = 0; i < summary->coverage_count; i++) {
		const struct finding_coverage *row = &summary->coverage[i];

		if (!report_row_passed(row) && !report_row_cut(row))
			continue;
		fputs("    <testcase", file);
		put_attribute(file, "classname", summary->driver);
		put_attribute(file, "name", row->what);
		fputs(">\n", file);
		if (row->cut)
			fputs("      <skipped message=\"not run to the end\""
			      "/>\n",
			    file);
		fputs("      <system-out>", file);
		put_xml(file, row->how);
		fprintf(file,
		    ": %" PRIu64 " of %" PRIu64 ", %" PRIu64
		    " merged</system-out>\n    </testcase>\n",
		    row->done, row->total, row->merged);
	}
}

int
report_junit(const char *path, const struct finding_summary *summary,
    struct tz_error *err)
{
	struct report_rows rows = report_rows(summary);
	FILE *file;
	int error = report_open(path, &file, err);

	if (error != 0)
		return error;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	      "<testsuites>\n  <testsuite",
	    file);
	put_attribute(file, "name", summary->driver);
	fprintf(file, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"",
	    rows.passed + rows.cut + summary->finding_count,
	    summary->judged_count,
	    summary->finding_count - summary->judged_count);
	fprintf(file, " skipped=\"%zu\"", rows.cut);
	put_host(file, summary);
	fputs(">\n    <properties>\n", file);
	put_property(file, "profile", summary->profile);
	put_property(file, "sha256", summary->sha256);
	put_property(file, "command", summary->command);
	fputs("    </properties>\n", file);
	for (size_t i = 0; i < summary->finding_count; i++)
		put_finding(file, summary, i);
	put_coverage(file, summary);
	fputs("  </testsuite>\n</testsuites>\n", file);
	return report_close(file, path, err);
}
