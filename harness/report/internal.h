/*
 * Helpers that the formats share: valid UTF-8, JSON values, files.  For this folder
 * only.
 */
#ifndef TOPAZ_HARNESS_REPORT_INTERNAL_H
#define TOPAZ_HARNESS_REPORT_INTERNAL_H

#include "harness/report/fill.h"
#include "harness/report/report.h"

struct json_t;

/* Length in bytes of the UTF-8 character at the start of TEXT; 0: invalid. */
size_t report_utf8(const char *text);

/* "base", "schedule", "fault". */
const char *report_class(enum finding_class class);
/* One sentence that explains CLASS. */
const char *report_class_text(enum finding_class class);

/*
 * A sentence that says why FINDING, which needs deviations, has no window; NULL: it has
 * a window, or needs no deviation.
 */
const char *report_no_window(const struct finding *finding);

/*
 * replay.c: the command "topaz replay TOKEN OPTION...", quoted for a shell; and the
 * options alone, each preceded by a space.  The caller frees both; NULL: out of memory.
 */
char *report_replay(const struct finding_summary *summary, const char *token);
char *report_replay_options(const struct finding_summary *summary);

/* True if "replay:  topaz replay TOKEN" is longer than REPORT_LINE_CHARS. */
bool report_is_long(const char *token);

/* "failed" or "not judged". */
const char *report_verdict(const struct finding *finding);

/* True if ROW had no schedules to run because the budget was too small. */
bool report_row_is_empty(const struct finding_coverage *row);

/*
 * report_row_passed(): ROW was completed, all runs were judged, none failed.
 * report_row_cut(): ROW was not completed, and nothing else is wrong.
 */
bool report_row_passed(const struct finding_coverage *row);
bool report_row_cut(const struct finding_coverage *row);

/* True if shard INDEX, from 0, is in SUMMARY. */
bool report_has_shard(const struct finding_summary *summary, unsigned index);
/* True if shard INDEX, from 0, was not run to the end. */
bool report_shard_is_cut(const struct finding_summary *summary, unsigned index);

/* The part of PATH after the last '/'. */
const char *report_base_name(const char *path);

/* The name of the check that FINDING violates. */
const char *report_check(const struct finding *finding);

/*
 * Output files.  report_close() returns the error of any write to FILE.
 */
int report_open(const char *path, FILE **file, struct tz_error *err);
int report_close(FILE *file, const char *path, struct tz_error *err);
/* Flushes a file that the caller opened.  0 or -TZ_EIO. */
int report_flush(FILE *file, struct tz_error *err);

/* A JSON string of TEXT, made valid UTF-8; NULL: out of memory. */
struct json_t *report_json_string(const char *text);
/* The same; frees TEXT. */
struct json_t *report_json_given(char *text);
/* A number that JavaScript holds exactly, else a string of hexadecimal digits. */
struct json_t *report_json_u64(uint64_t value);
struct json_t *report_json_place(const struct finding_place *place);
struct json_t *report_json_finding(
    const struct finding_summary *summary, const struct finding *finding);
struct json_t *report_json_summary(const struct finding_summary *summary);

/* The data that the page draws a timeline from. */
struct json_t *report_json_timeline(const struct finding_timeline *timeline);

/* The embedded page.html and index.html. */
extern const unsigned char report_page_html[];
extern const size_t report_page_html_bytes;
extern const unsigned char report_index_html[];
extern const size_t report_index_html_bytes;

#endif
