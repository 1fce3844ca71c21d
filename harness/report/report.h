/*
 * Output formats for findings: text for a terminal, one page for each finding, an index
 * page, JUnit, SARIF 2.1.0, JSON lines, baselines.  It does not judge and needs no
 * machine; its only input is harness/finding/finding.h.
 *
 * Every function that returns int gives 0, -TZ_EIO where writing the file or allocating
 * memory failed, or an error that its comment names; ERR then has one line with the
 * file's name.  Strings of a finding may hold any bytes: what a format cannot represent
 * (control characters in a terminal or in XML, invalid UTF-8) is written as an escape,
 * as U+FFFD or, in JSON, as '?'.  The same input gives the same bytes.
 *
 * "Passed", "failed" and "not judged" mean the same in all formats.  Failed: findings.
 * Not judged: reasons why runs could not be judged, one for each place.  Passed: rows
 * of the coverage that were completed, with all runs judged and none failed, the
 * default schedule included.
 */
#ifndef TOPAZ_HARNESS_REPORT_REPORT_H
#define TOPAZ_HARNESS_REPORT_REPORT_H

#include <stdio.h>

#include "harness/finding/finding.h"

/*
 * A token is printed if its line is at most this long; if not, the name of its file
 * is.
 */
#define REPORT_LINE_CHARS 120

/* Version of the JSON lines: key "schema" of each. */
#define REPORT_SCHEMA 2

/*
 * Writes all formats to DIRECTORY, which is created if missing: finding-NN.html (NN
 * from 01, in the order of the summary), finding-NN.token where the token is too long
 * for a line, index.html, findings.jsonl, junit.xml, findings.sarif.  TIMELINES has one
 * element for each finding, or is NULL: pages without timelines.
 */
int report_write_all(const char *directory,
    const struct finding_summary *summary,
    const struct finding_timeline *timelines, struct tz_error *err);

/* The same without the pages, which the caller has written with report_page(). */
int report_write_forms(const char *directory,
    const struct finding_summary *summary,
    const struct finding_timeline *timelines, struct tz_error *err);

/*
 * The file name of the finding of INDEX, from 0: "finding-07.html" with SUFFIX
 * "html".
 */
#define REPORT_NAME_BYTES 40
void report_name(
    char name[REPORT_NAME_BYTES], size_t index, const char *suffix);

/*
 * text.c: one block for each finding, in colours on a terminal
 * (harness/host/terminal.h).  FILES are the files of the finding, or NULL: then lines
 * may be long.
 */
struct report_files {
	/* file with the token, printed if the token is long */
	const char *token;
	const char *page; /* or NULL */
};
int report_text_finding(FILE *file, const struct finding_summary *summary,
    size_t index, const struct report_files *files, struct tz_error *err);
/* One line for each row of the coverage, aligned. */
int report_text_coverage(
    FILE *file, const struct finding_summary *summary, struct tz_error *err);
/* Counts of coverage rows; rows that failed are not counted. */
struct report_rows {
	size_t passed;
	size_t cut; /* not completed, and no failure so far */
};
struct report_rows report_rows(const struct finding_summary *summary);
/* True if any row of the coverage was not completed. */
bool report_is_cut(const struct finding_summary *summary);
/* How many shards of the exploration are not in SUMMARY. */
unsigned report_shards_missing(const struct finding_summary *summary);

/*
 * Prints "N not run to the end" if N is not 0, then the last line: "N passed, N failed,
 * N not judged".
 */
int report_text_last(
    FILE *file, const struct finding_summary *summary, struct tz_error *err);
/* Prints "N passed, N failed, N not judged" and a newline. */
void report_text_counts(
    FILE *file, size_t passed, size_t failed, size_t not_judged);

/*
 * page.c: the page of the finding of INDEX; TIMELINE may be NULL.  It links to its
 * neighbours and to index.html in the same folder.
 */
int report_page(const char *path, const struct finding_summary *summary,
    size_t index, const struct finding_timeline *timeline,
    struct tz_error *err);

/* index.c: all findings, what was covered and what was not. */
int report_index(const char *path, const struct finding_summary *summary,
    struct tz_error *err);

/*
 * junit.c: a suite is a driver, a case is scenario[profile]; further findings of the
 * same case have " #2" and so on; the failure type is the check.  A row of the coverage
 * without a failing schedule is a case that passed, or that was skipped if the row was
 * not completed.
 */
int report_junit(const char *path, const struct finding_summary *summary,
    struct tz_error *err);

/*
 * sarif.c: rules are checks.  One thread flow for each CPU, with one executionOrder
 * over all: the last events up to the violation; TIMELINES may be NULL.  Results have
 * partialFingerprints.  Locations are relative to %SRCROOT%, the folder in which topaz
 * was started, if the driver's sources are below it.
 */
int report_sarif(const char *path, const struct finding_summary *summary,
    const struct finding_timeline *timelines, struct tz_error *err);

/*
 * json.c: one object on each line, with sorted keys: findings ("kind": "finding"); for
 * a shard, the groups to merge ("group"); then the summary ("summary").
 */
int report_json(
    FILE *file, const struct finding_summary *summary, struct tz_error *err);
int report_json_write(const char *path, const struct finding_summary *summary,
    struct tz_error *err);

/*
 * read.c: reads the output of report_json(), to merge shards.  Errors of
 * harness/host/input.h; -TZ_EFORMAT: not of this schema, with the line number.  SUMMARY
 * must be freed, also after an error.
 */
int report_read(
    const char *path, struct finding_summary *summary, struct tz_error *err);
void report_summary_free(struct finding_summary *summary);

/*
 * merge.c: merges FROM, another shard of the same exploration, into INTO.  Rows of the
 * coverage with the same name are added up.  The resulting findings are those of one
 * exploration of the whole (harness/finding/mistakes.h).  -TZ_EUSAGE: another driver or
 * profile, not a shard, or too many rows for a summary; -TZ_EIO: no memory.
 */
int report_merge(struct finding_summary *into,
    const struct finding_summary *from, struct tz_error *err);

/* baseline.c: known findings, one JSON object on each line. */
struct report_baseline {
	struct report_mark {
		char print[FINDING_PRINT_BYTES];
		char check[FINDING_NAME_BYTES], function[FINDING_NAME_BYTES];
		char kinds[FINDING_NAME_BYTES];
	} * mark;
	size_t count;
};
int report_baseline_write(const char *path,
    const struct finding_summary *summary, struct tz_error *err);
/*
 * Makes a baseline of the findings of SUMMARY; BASELINE must be freed, also after an
 * error.
 */
int report_baseline_of(const struct finding_summary *summary,
    struct report_baseline *baseline, struct tz_error *err);
/* Errors as of report_read(); BASELINE must be freed, also after an error. */
int report_baseline_read(
    const char *path, struct report_baseline *baseline, struct tz_error *err);
void report_baseline_free(struct report_baseline *baseline);
bool report_baseline_has(
    const struct report_baseline *baseline, const struct finding *finding);

struct report_comparison {
	size_t new_count, fixed_count, still_count; /* of fingerprints */
};
void report_baseline_compare(const struct report_baseline *baseline,
    const struct finding_summary *summary,
    struct report_comparison *comparison);
/*
 * Prints one line for each finding that is new, fixed or still failing, then the
 * counts.
 */
int report_text_comparison(FILE *file, const struct report_baseline *baseline,
    const struct finding_summary *summary, struct tz_error *err);

#endif
