/*
 * Pages that are built in: a file of HTML with one slot for data, @DATA@, which embed.sh
 * makes an array of bytes.
 */
#ifndef TOPAZ_HARNESS_REPORT_FILL_H
#define TOPAZ_HARNESS_REPORT_FILL_H

#include "emu/base/base.h"

struct json_t;

/*
 * Writes PAGE with DATA in its one slot; takes ownership of DATA.  '<' is escaped in
 * DATA, so that no end tag and no comment can begin there.  -TZ_EIO: the file cannot be
 * written, or DATA is NULL: no memory.
 */
int report_fill(const char *path, const unsigned char *page, size_t page_bytes,
    struct json_t *data, struct tz_error *err);

#endif
