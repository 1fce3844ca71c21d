/*
 * What the formats share: valid UTF-8, JSON values, files.  Not for others.
 */
#ifndef TOPAZ_HARNESS_REPORT_INTERNAL_H
#define TOPAZ_HARNESS_REPORT_INTERNAL_H

#include "harness/report/report.h"

struct json_t;

/* Bytes of the UTF-8 character that TEXT begins with; 0: it is none. */
size_t report_utf8(const char *text);

/* "base", "schedule", "fault". */
const char *report_class(enum finding_class class);
/* One sentence of what that class means. */
const char *report_class_text(enum finding_class class);

/*
 * Why a finding that needs deviations has no window: a sentence; NULL: it has one, or
 * needs no deviation.
 */
const char *report_no_window(const struct finding *finding);

/*
 * replay.c: "topaz replay TOKEN OPTION...", quoted for a shell; the options alone, each
 * with a space before it.  Both are the caller's to free; NULL: out of memory.
 */
char *report_replay(const struct finding_summary *summary, const char *token);
char *report_replay_options(const struct finding_summary *summary);

/* Is "replay:  topaz replay TOKEN" longer than a line? */
bool report_is_long(const char *token);

/* "failed" or "not judged". */
const char *report_verdict(const struct finding *finding);

/* A part in which there was nothing to do: the budget was too small for it. */
bool report_row_is_empty(const struct finding_coverage *row);

/*
 * Was ROW done to its end, all of it judged, and failed nothing of it?  Or was it
 * only not done to its end?
 */
bool report_row_passed(const struct finding_coverage *row);
bool report_row_cut(const struct finding_coverage *row);

/* Is shard INDEX, from 0, in SUMMARY? */
bool report_has_shard(const struct finding_summary *summary, unsigned index);
/* Was shard INDEX, from 0, not run to the end? */
bool report_shard_is_cut(const struct finding_summary *summary, unsigned index);

/* What follows the last '/'. */
const char *report_base_name(const char *path);

/* The name of its check. */
const char *report_check(const struct finding *finding);

/*
 * A file to write; report_close() gives the error of any write to it.
 */
int report_open(const char *path, FILE **file, struct tz_error *err);
int report_close(FILE *file, const char *path, struct tz_error *err);
/* 0 or -TZ_EIO of a file that the caller opened. */
int report_flush(FILE *file, struct tz_error *err);

/* A string of the finding's; NULL: out of memory. */
struct json_t *report_json_string(const char *text);
/* The same of a string that it frees. */
struct json_t *report_json_given(char *text);
/* A number that JavaScript holds exactly, else a string of hexadecimal digits. */
struct json_t *report_json_u64(uint64_t value);
struct json_t *report_json_place(const struct finding_place *place);
struct json_t *report_json_finding(
    const struct finding_summary *summary, const struct finding *finding);
struct json_t *report_json_summary(const struct finding_summary *summary);

/* What the page draws of a timeline. */
struct json_t *report_json_timeline(const struct finding_timeline *timeline);

/*
 * PAGE with DATA, which is given up, in its one slot.  In the data '<' is escaped:
 * neither an end tag nor a comment can begin there.
 */
int report_fill(const char *path, const unsigned char *page, size_t page_bytes,
    struct json_t *data, struct tz_error *err);

/* page.html and index.html as they were built in. */
extern const unsigned char report_page_html[];
extern const size_t report_page_html_bytes;
extern const unsigned char report_index_html[];
extern const size_t report_index_html_bytes;

#endif
