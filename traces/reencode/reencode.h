/*
 * Re-encodes a captured trace: its control flow is recovered and reported to the PT unit
 * of emu/pt, and the unit's packets are compared with those of the trace.
 */
#ifndef TOPAZ_TRACES_REENCODE_REENCODE_H
#define TOPAZ_TRACES_REENCODE_REENCODE_H

#include "traces/reencode/search/search.h"

#include <stdio.h>

struct json_t;

/*
 * Re-encodes the COUNT BYTES of a trace of the code in IMAGE.  -TZ_EUSAGE: the profile
 * refuses IA32_RTIT_CTL or a range; -TZ_EFORMAT: ranges are needed and cannot be inferred,
 * or libipt refuses the image; -TZ_EIO: out of memory.  After success the caller frees
 * RESULT with reencode_result_free().
 */
int reencode_trace(const uint8_t *bytes, uint64_t count,
    struct memory_image *image, const struct reencode_options *options,
    struct reencode_result *result, struct tz_error *err);

/* Writes RESULT as text; BYTES is the trace. */
void reencode_print(
    const struct reencode_result *result, const uint8_t *bytes, FILE *file);

/*
 * RESULT of the trace NAME as JSON, of which the caller has a reference.  WHOLE: with all
 * of the excerpt, which is long.  NULL: out of memory.
 */
struct json_t *reencode_json(const char *name,
    const struct reencode_options *options,
    const struct reencode_result *result, bool whole);

#endif
