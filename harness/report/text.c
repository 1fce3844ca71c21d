#define _GNU_SOURCE
/*
 * Findings and coverage as text for a terminal or a log.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/host/terminal.h"
#include "harness/report/internal.h"

/* Prints TEXT with control characters escaped; returns its width in columns. */
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
	put_field(file, place->function);
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
	/* put_replay() prints this text before the token. */
	return strlen("      replay:  topaz replay ") + strlen(token) >
	    REPORT_LINE_CHARS;
}

static void
put_replay(FILE *file, const struct finding_summary *summary, const char *token,
    const char *path)
{
	char *named = NULL, *line;

	if (path != NULL && report_is_long(token) &&
	    asprintf(&named, "@%s", path) < 0)
		named = NULL;
	line = report_replay(summary, named != NULL ? named : token);
	put_label(file, "replay:");
	put(file, line != NULL ? line : token);
	putc('\n', file);
	free(line);
	free(named);
}

/* The call path to the place, and the object concerned. */
static void
put_cause(FILE *file, const struct finding *finding)
{
	bool called = finding->through[0] != '\0';

	if (!called && finding->object[0] == '\0')
		return;
	put_label(file, "cause:");
	if (called) {
		fputs("called through ", file);
		put(file, finding->through);
	}
	if (finding->object[0] != '\0') {
		fputs(called ? "; object: " : "object: ", file);
		put(file, finding->object);
	}
	putc('\n', file);
}

/* Other violations that the mistake causes, and tokens that show them. */
static void
put_symptoms(FILE *file, const struct finding *finding)
{
	for (unsigned i = 0; i < finding->symptom_count; i++) {
		const struct finding_symptom *symptom = &finding->symptom[i];

		put_label(file, "also:");
		fputs(check_info(symptom->check)->name, file);
		if (symptom->kinds[0] != '\0') {
			fputs(" (", file);
			put(file, symptom->kinds);
			putc(')', file);
		}
		put_field(file, symptom->message);
		put_field(file, symptom->where);
		putc('\n', file);
		put_label(file, "");
		put(file, symptom->token);
		putc('\n', file);
	}
	if (finding->symptom_more) {
		put_label(file, "also:");
		fputs("others\n", file);
	}
}

/* The headline, in colours if enabled. */
static void
put_header(FILE *file, const struct finding *finding)
{
	terminal_put_verdict(file, finding->judged ? "FAIL" : "NOT JUDGED");
	fputs("  ", file);
	terminal_begin(file, TERMINAL_HEADER);
	put(file, finding->driver);
	putc('/', file);
	put(file, finding->scenario);
	put_field(file, finding->profile);
	put_field(file, report_check(finding));
	put_field(file, finding->message);
	put_place(file, &finding->place);
	fprintf(file, "  cpu%u", finding->cpu);
	terminal_end(file);
	putc('\n', file);
}

int
report_text_finding(FILE *file, const struct finding_summary *summary,
    size_t index, const struct report_files *files, struct tz_error *err)
{
	const struct finding *finding = &summary->finding[index];

	put_header(file, finding);
	put_window(file, finding);
	put_label(file, "class:");
	fputs(report_class(finding->class), file);
	if (finding->kinds[0] != '\0') {
		fputs(" (", file);
		put(file, finding->kinds);
		putc(')', file);
	}
	fprintf(file, ": %s\n", report_class_text(finding->class));
	put_cause(file, finding);
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
	put_symptoms(file, finding);
	put_replay(
	    file, summary, finding->token, files != NULL ? files->token : NULL);
	if (files != NULL && files->page != NULL) {
		put_label(file, "report:");
		put(file, files->page);
		putc('\n', file);
	}
	return report_flush(file, err);
}

static int
digits(uint64_t value)
{
	return snprintf(NULL, 0, "%" PRIu64, value);
}

/* How many traces were decoded, and whether they match the execution log. */
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

/* The results of the schedules of ROW. */
static void
put_verdict(FILE *file, const struct finding_coverage *row)
{
	if (row->base_fails)
		fputs("the default schedule fails; ", file);
	if (row->base_unjudged)
		fputs("the default schedule was not judged; ", file);
	if (row->failing == 0)
		fprintf(file, "none %sfails%s", row->base_fails ? "else " : "",
		    row->cut ? " so far" : "");
	else
		fprintf(file, "%" PRIu64 " fail%s%s", row->failing,
		    row->failing == 1 ? "s" : "",
		    row->base_fails ? " otherwise" : "");
	if (row->unjudged != 0)
		fprintf(file, ", %" PRIu64 " not judged", row->unjudged);
}

/*
 * The number of this shard; or, of several, which are missing and which were not run to
 * the end.
 */
static void
put_shards(FILE *file, const struct finding_summary *summary)
{
	unsigned missing = report_shards_missing(summary);
	bool one = !summary->joined && missing + 1 == summary->shards;

	for (unsigned i = 0; missing != 0 && i < summary->shards; i++) {
		if (report_has_shard(summary, i) == one)
			fprintf(file, "%s shard %u of %u\n",
			    one ? "this is" : "missing:", i + 1,
			    summary->shards);
	}
	for (unsigned i = 0; !one && i < summary->shards; i++) {
		if (report_shard_is_cut(summary, i))
			fprintf(file, "not run to the end: shard %u of %u\n",
			    i + 1, summary->shards);
	}
}

/* Checks that were not judged in some schedules, one line for each reason. */
static void
put_unjudged(FILE *file, const struct finding_summary *summary)
{
	for (size_t i = 0; i < summary->unjudged_count; i++) {
		const struct finding_unjudged *row = &summary->unjudged[i];
		bool first = i == 0 || row[-1].reason != row->reason ||
		    row[-1].schedules != row->schedules;
		bool last = i + 1 == summary->unjudged_count ||
		    row[1].reason != row->reason ||
		    row[1].schedules != row->schedules;

		fputs(first ? "not judged: " : ", ", file);
		fputs(check_info(row->check)->name, file);
		if (last)
			fprintf(file,
			    " in %" PRIu64 " of %" PRIu64 " schedules: %s\n",
			    row->schedules, summary->schedules,
			    check_reason_text(row->reason));
	}
}

int
report_text_coverage(
    FILE *file, const struct finding_summary *summary, struct tz_error *err)
{
	int what = 0, done = 0, total = 0, how = 0;

	for (size_t i = 0; i < summary->coverage_count; i++) {
		const struct finding_coverage *row = &summary->coverage[i];

		if (report_row_is_empty(row))
			continue;
		what = (int)strlen(row->what) > what ? (int)strlen(row->what)
						     : what;
		how = (int)strlen(row->how) > how ? (int)strlen(row->how) : how;
		done = digits(row->done) > done ? digits(row->done) : done;
		total = digits(row->total) > total ? digits(row->total) : total;
	}
	for (size_t i = 0; i < summary->coverage_count; i++) {
		const struct finding_coverage *row = &summary->coverage[i];

		if (report_row_is_empty(row))
			continue;
		fprintf(file, "%*s", put(file, row->what) - what - 2, "");
		fprintf(file, "%*" PRIu64 " / %*" PRIu64 "  ", done, row->done,
		    total, row->total);
		fprintf(file, "%*s", put(file, row->how) - how - 2, "");
		put_verdict(file, row);
		if (row->merged != 0)
			fprintf(file, "  (%" PRIu64 " merged)", row->merged);
		if (row->done < row->total)
			fprintf(file, "  %" PRIu64 " not run",
			    row->total - row->done);
		putc('\n', file);
	}
	put_decoded(file, summary);
	put_unjudged(file, summary);
	put_shards(file, summary);
	return report_flush(file, err);
}

/* Prints NUMBER and WORD, in STYLE unless NUMBER is 0. */
static void
put_count(
    FILE *file, size_t number, const char *word, enum terminal_style style)
{
	if (number != 0)
		terminal_begin(file, style);
	fprintf(file, "%zu %s", number, word);
	if (number != 0)
		terminal_end(file);
}

void
report_text_counts(FILE *file, size_t passed, size_t failed, size_t not_judged)
{
	put_count(file, passed, "passed", TERMINAL_GOOD);
	fputs(", ", file);
	put_count(file, failed, "failed", TERMINAL_BAD);
	fputs(", ", file);
	put_count(file, not_judged, "not judged", TERMINAL_UNSURE);
	putc('\n', file);
}

int
report_text_last(
    FILE *file, const struct finding_summary *summary, struct tz_error *err)
{
	struct report_rows rows = report_rows(summary);

	if (rows.cut != 0)
		fprintf(file, "%zu not run to the end\n", rows.cut);
	report_text_counts(file, rows.passed, summary->judged_count,
	    summary->finding_count - summary->judged_count);
	return report_flush(file, err);
}

static void
put_mark(FILE *file, const char *label, const char *print, const char *check,
    const char *function, const char *kinds)
{
	fprintf(file, "%-5s  %s  ", label, print);
	put(file, check);
	put_field(file, function);
	put_field(file, kinds);
	putc('\n', file);
}

int
report_text_comparison(FILE *file, const struct report_baseline *baseline,
    const struct finding_summary *summary, struct tz_error *err)
{
	struct report_comparison comparison;

	for (size_t i = 0; i < summary->finding_count; i++) {
		const struct finding *finding = &summary->finding[i];
		bool known = report_baseline_has(baseline, finding);

		if (finding->judged)
			put_mark(file, known ? "still" : "new",
			    finding->fingerprint, report_check(finding),
			    finding->place.function, finding->kinds);
	}
	for (size_t i = 0; i < baseline->count; i++) {
		const struct report_mark *mark = &baseline->mark[i];
		bool found = false;

		for (size_t j = 0; j < summary->finding_count; j++) {
			found |= strcmp(summary->finding[j].fingerprint,
				     mark->print) == 0;
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
