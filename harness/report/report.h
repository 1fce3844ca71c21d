/*
 * What is said about findings, and in which form: text for a terminal, one page a
 * finding, an index page, JUnit, SARIF 2.1.0, JSON lines, baselines.  It judges
 * nothing and needs no machine: harness/finding/finding.h is all it reads.
 *
 * Every function that returns int gives 0, or -TZ_EIO where the file or the memory
 * refused, or what is said beside it, with one line that names the file.  Strings
 * of a finding may hold anything: what a format cannot carry (control characters in
 * a terminal or in XML, bytes that are no UTF-8) becomes visible as an escape, as
 * U+FFFD or, in JSON, as '?'.  The same input gives the same bytes.
 *
 * Passed, failed and not judged, everywhere: failed are the findings; not judged are
 * the reasons why runs could not be judged, one for each place; passed are the rows of
 * the coverage that were done to their end, whose runs were all judged, and of which
 * none failed, the default schedule included.
 */
#ifndef TOPAZ_HARNESS_REPORT_REPORT_H
#define TOPAZ_HARNESS_REPORT_REPORT_H

#include <stdio.h>

#include "harness/finding/finding.h"

/* A token is printed where its line is at most that long; else its file is. */
#define REPORT_LINE_CHARS 120

/* Version of the JSON lines: key "schema" of each. */
#define REPORT_SCHEMA 2

/*
 * Everything into DIRECTORY, which is made if it is not there: finding-NN.html (NN
 * from 01 on, in the order of the summary), finding-NN.token where the token is too
 * long for a line, index.html, findings.jsonl, junit.xml, findings.sarif.  STORIES
 * are as many as findings, or NULL: the pages then have no time line.
 */
int report_write_all(const char *directory,
    const struct finding_summary *summary,
    const struct finding_timeline *timelines, struct tz_error *err);

/* The same without the pages: report_page() has written them, one by one. */
int report_write_forms(const char *directory,
    const struct finding_summary *summary,
    const struct finding_timeline *timelines, struct tz_error *err);

/* "finding-07.html" of the finding of that index, from 0; SUFFIX "html". */
#define REPORT_NAME_BYTES 40
void report_name(
    char name[REPORT_NAME_BYTES], size_t index, const char *suffix);

/*
 * text.c: one block a finding, in colours on a terminal (harness/host/terminal.h).
 * FILES are those of the finding, or NULL: then lines may be long.
 */
struct report_files {
	const char *token; /* that holds the token, named where it is long */
	const char *page;  /* or NULL */
};
int report_text_finding(FILE *file, const struct finding_summary *summary,
    size_t index, const struct report_files *files, struct tz_error *err);
/* One line a row of the coverage, aligned. */
int report_text_coverage(
    FILE *file, const struct finding_summary *summary, struct tz_error *err);
/* Rows of the coverage by what became of them; a row that fails is in neither. */
struct report_rows {
	size_t passed;
	size_t cut; /* not done to their end, and nothing failed so far */
};
struct report_rows report_rows(const struct finding_summary *summary);
/* Is any row of the coverage not done to its end? */
bool report_is_cut(const struct finding_summary *summary);
/* How many shards of the exploration are not in SUMMARY. */
unsigned report_shards_missing(const struct finding_summary *summary);

/*
 * "N not run to the end", if any is not; "N passed, N failed, N not judged", the last
 * line.
 */
int report_text_last(
    FILE *file, const struct finding_summary *summary, struct tz_error *err);
/* "N passed, N failed, N not judged" and a newline. */
void report_text_counts(
    FILE *file, size_t passed, size_t failed, size_t not_judged);

/*
 * page.c: the page of the finding of INDEX; STORY may be NULL.  Links go to its
 * neighbours and to index.html in the same folder.
 */
int report_page(const char *path, const struct finding_summary *summary,
    size_t index, const struct finding_timeline *timeline,
    struct tz_error *err);

/* index.c: all findings, what was covered and what was not. */
int report_index(const char *path, const struct finding_summary *summary,
    struct tz_error *err);

/*
 * junit.c: suite = driver, case = scenario[profile], further findings of the same
 * case " #2" and so on, failure type = check; a row of the coverage without a
 * failing schedule is a case that passed, or skipped where it is cut.
 */
int report_junit(const char *path, const struct finding_summary *summary,
    struct tz_error *err);

/*
 * sarif.c: rules = checks, one thread flow a CPU with one executionOrder over all
 * (the last events up to the violation; STORIES may be NULL), partialFingerprints,
 * locations relative to %SRCROOT%, the folder in which topaz was called, if the
 * driver's sources are below it.
 */
int report_sarif(const char *path, const struct finding_summary *summary,
    const struct finding_timeline *timelines, struct tz_error *err);

/*
 * json.c: one object a line with sorted keys: findings ("kind": "finding"); of a
 * shard what it is merged by ("group"); then the summary ("summary").
 */
int report_json(
    FILE *file, const struct finding_summary *summary, struct tz_error *err);
int report_json_write(const char *path, const struct finding_summary *summary,
    struct tz_error *err);

/*
 * read.c: what report_json() wrote, for shards that merge.  Errors of
 * harness/host/input.h; -TZ_EFORMAT: not of this schema, with the line.  SUMMARY is to
 * be freed, also after an error.
 */
int report_read(
    const char *path, struct finding_summary *summary, struct tz_error *err);
void report_summary_free(struct finding_summary *summary);

/*
 * merge.c: FROM into INTO, another shard of the same exploration.  Rows of the
 * coverage with one name are added up; the findings are those that one exploration of
 * the whole has (harness/finding/mistakes.h).  -TZ_EUSAGE: another driver or profile,
 * no shard, or more rows than a summary holds; -TZ_EIO: no memory.
 */
int report_merge(struct finding_summary *into,
    const struct finding_summary *from, struct tz_error *err);

/* baseline.c: the findings that are known, one JSON object a line. */
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
/* The findings of SUMMARY as known ones; BASELINE is to be freed in any case. */
int report_baseline_of(const struct finding_summary *summary,
    struct report_baseline *baseline, struct tz_error *err);
/* Errors as of report_read(); BASELINE is to be freed, also after an error. */
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
/* One line each of what is new, fixed and still failing, then the counts. */
int report_text_comparison(FILE *file, const struct report_baseline *baseline,
    const struct finding_summary *summary, struct tz_error *err);

#endif
