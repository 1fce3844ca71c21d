/*
 * The page of topaz reencode: each trace with a long excerpt around its first difference.
 */
#ifndef TOPAZ_HARNESS_CMD_REENCODE_REENCODE_PAGE_H
#define TOPAZ_HARNESS_CMD_REENCODE_REENCODE_PAGE_H

#include "emu/base/base.h"

struct json_t;
struct output;

struct reencode_page {
	struct output *output;
	struct json_t *traces;
};

/* Reserves the file PATH.  Errors as of output_claim_file(). */
int reencode_page_begin(
    struct reencode_page *page, const char *path, struct tz_error *err);

/* Adds TRACE, of reencode_json(), and takes its reference.  -TZ_EIO: out of memory. */
int reencode_page_add(
    struct reencode_page *page, struct json_t *trace, struct tz_error *err);

/* Writes the file; COMMAND is shown in it.  -TZ_EIO. */
int reencode_page_end(
    struct reencode_page *page, const char *command, struct tz_error *err);

#endif
