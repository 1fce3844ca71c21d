/*
 * Findings and coverage as text for a terminal or a log.
 */
#include <inttypes.h>
#include <string.h>

#include "harness/report/internal.h"

/* TEXT with nothing in it that a terminal obeys; its width in columns. */
static int
put(FILE *file, const char *text)
{
	int columns = 0;

	while (*text != '\0') {
		size_t bytes = report_utf8(text);
		unsigned char c = (unsigned char)*text;

		/* U+0080..U+009F are C1 controls. */
		if (bytes == 0 || c < 0x20 || c == 0x7f ||
		    (c == 0xc2 && (unsigned char)text[1] < 0xa0)) {
			columns += fprintf(file, "\\x%02x", c);
			text++;
			continue;
		}
		fwrite(text, 1, bytes, file);
		text += bytes;
		columns++;
	}
	return columns;
}

static void
put_field(FILE *file, const char *text)
{
	if (text[0] == '\0')
		return;
	fputs("  ", file);
	put(file, text);
}

static void
put_place(FILE *file, const struct finding_place *place)
{
	put_field(file, place->function[0] != '\0' ? place->function : "?");
	if (place->file[0] == '\0')
		return;
	put_field(file, report_base_name(place->file));
	fprintf(file, ":%d", place->line);
}

static void
put_label(FILE *file, const char *label)
{
	fprintf(file, "      %-9s", label);
}

static void
put_window(FILE *file, const struct finding *finding)
{
	const struct finding_place *first = &finding->window_first;
	const struct finding_place *last = &finding->window_last;

	const char *none = report_no_window(finding);

	if (finding->window_count == 0 && none == NULL)
		return;
	put_label(file, "window:");
	if (none != NULL) {
		fprintf(file, "%s\n", none);
		return;
	}
	if (first->function[0] != '\0') {
		put(file, first->function);
		fprintf(file, "+0x%x..", first->offset_bytes);
		if (strcmp(first->function, last->function) != 0)
			put(file, last->function);
		fprintf(file, "+0x%x: ", last->offset_bytes);
	}
	fprintf(file, "fails at %" PRIu32 " of %" PRIu32 " boundaries\n",
	    finding->window_failing, finding->window_count);
}

bool
report_is_long(const char *token)
{
	/* What put_replay() puts before it. */
	return strlen("      replay:  topaz replay ") + strlen(token) >
	    REPORT_LINE_CHARS;
}

static void
put_replay(FILE *file, const char *token, const char *path)
{
	put_label(file, "replay:");
	fputs("topaz replay ", file);
	if (path != NULL && report_is_long(token)) {
		putc('@', file);
		put(file, path);
	} else {
		put(file, token);
	}
	putc('\n', file);
}

int
report_text_finding(FILE *file, const struct finding *finding,
    const char *token_path, const char *page, struct tz_error *err)
{
	fputs("FAIL  ", file);
	put(file, finding->driver);
	putc('/', file);
	put(file, finding->scenario);
	put_field(file, finding->profile);
	put_field(file, report_check(finding));
	put_field(file, finding->message);
	put_place(file, &finding->place);
	fprintf(file, "  cpu%u\n", finding->cpu);
	put_window(file, finding);
	put_label(file, "class:");
	fputs(report_class(finding->class), file);
	if (finding->kinds[0] != '\0') {
		fputs(" (", file);
		put(file, finding->kinds);
		putc(')', file);
	}
	fprintf(file, ": %s\n", report_class_text(finding->class));
	if (finding->steps[0] != '\0') {
		put_label(file, "steps:");
		put(file, finding->steps);
		putc('\n', file);
	}
	if (finding->passing[0] != '\0') {
		put_label(file, "nearest passing:");
		putc(' ', file);
		put(file, finding->passing);
		putc('\n', file);
	}
	put_replay(file, finding->token, token_path);
	if (page != NULL) {
		put_label(file, "report:");
		put(file, page);
		putc('\n', file);
	}
	return report_flush(file, err);
}

static int
digits(uint64_t value)
{
	return snprintf(NULL, 0, "%" PRIu64, value);
}

/* How many traces were decoded, and whether they are what was executed. */
static void
put_decoded(FILE *file, const struct finding_summary *summary)
{
	size_t differ = 0;

	if (summary->decoded == 0)
		return;
	for (size_t i = 0; i < summary->finding_count; i++)
		differ += summary->finding[i].check == CHECK_DECODED;
	fprintf(file, "decoded %" PRIu64 " of %" PRIu64 " schedules, %s\n",
	    summary->decoded, summary->schedules,
	    differ == 0 ? "all match" : "not all match");
}

int
report_text_coverage(
    FILE *file, const struct finding_summary *summary, struct tz_error *err)
{
	int what = 0, done = 0, total = 0, how = 0;

	for (size_t i = 0; i < summary->coverage_count; i++) {
		const struct finding_coverage *row = &summary->coverage[i];

		what = (int)strlen(row->what) > what ? (int)strlen(row->what)
						     : what;
		how = (int)strlen(row->how) > how ? (int)strlen(row->how) : how;
		done = digits(row->done) > done ? digits(row->done) : done;
		total = digits(row->total) > total ? digits(row->total) : total;
	}
	for (size_t i = 0; i < summary->coverage_count; i++) {
		const struct finding_coverage *row = &summary->coverage[i];

		fprintf(file, "%*s", put(file, row->what) - what - 2, "");
		fprintf(file, "%*" PRIu64 " / %*" PRIu64 "  ", done, row->done,
		    total, row->total);
		fprintf(file, "%*s", put(file, row->how) - how - 2, "");
		if (row->failing == 0 && row->cut)
			fputs("none fails so far", file);
		else if (row->failing == 0)
			fputs("none fails", file);
		else
			fprintf(file, "%" PRIu64 " fail%s", row->failing,
			    row->failing == 1 ? "s" : "");
		if (row->merged != 0)
			fprintf(file, "  (%" PRIu64 " merged)", row->merged);
		if (row->done < row->total)
			fprintf(file, "  %" PRIu64 " not run",
			    row->total - row->done);
		putc('\n', file);
	}
	put_decoded(file, summary);
	return report_flush(file, err);
}

int
report_text_last(
    FILE *file, const struct finding_summary *summary, struct tz_error *err)
{
	struct report_rows rows = report_rows(summary);

	if (rows.cut != 0)
		fprintf(file, "%zu not run to the end\n", rows.cut);
	fprintf(file, "%zu passed, %zu failed\n", rows.passed,
	    summary->finding_count);
	return report_flush(file, err);
}

static bool
seen_before(const struct finding_summary *summary, size_t index,
    const char print[REPORT_PRINT_BYTES])
{
	char other[REPORT_PRINT_BYTES];

	for (size_t i = 0; i < index; i++) {
		report_fingerprint(&summary->finding[i], other);
		if (strcmp(other, print) == 0)
			return true;
	}
	return false;
}

static void
put_mark(FILE *file, const char *label, const char *print, const char *check,
    const char *function, const char *kinds)
{
	fprintf(file, "%-5s  %s  ", label, print);
	put(file, check);
	put_field(file, function[0] != '\0' ? function : "?");
	put_field(file, kinds);
	putc('\n', file);
}

int
report_text_comparison(FILE *file, const struct report_baseline *baseline,
    const struct finding_summary *summary, struct tz_error *err)
{
	struct report_comparison comparison;
	char print[REPORT_PRINT_BYTES];

	for (size_t i = 0; i < summary->finding_count; i++) {
		const struct finding *finding = &summary->finding[i];
		bool known = report_baseline_has(baseline, finding);

		report_fingerprint(finding, print);
		if (!seen_before(summary, i, print))
			put_mark(file, known ? "still" : "new", print,
			    report_check(finding), finding->place.function,
			    finding->kinds);
	}
	for (size_t i = 0; i < baseline->count; i++) {
		const struct report_mark *mark = &baseline->mark[i];
		bool found = false;

		for (size_t j = 0; j < summary->finding_count; j++) {
			report_fingerprint(&summary->finding[j], print);
			found |= strcmp(print, mark->print) == 0;
		}
		if (!found)
			put_mark(file, "fixed", mark->print, mark->check,
			    mark->function, mark->kinds);
	}
	report_baseline_compare(baseline, summary, &comparison);
	fprintf(file, "new %zu   fixed %zu   still failing %zu\n",
	    comparison.new_count, comparison.fixed_count,
	    comparison.still_count);
	return report_flush(file, err);
}
