/*
 * A trace captured anywhere, made again: its flow is recovered, fed to the PT
 * unit, and the unit's packets are compared with the trace's.
 */
#ifndef TOPAZ_TRACES_REENCODE_REENCODE_H
#define TOPAZ_TRACES_REENCODE_REENCODE_H

#include "traces/reencode/search/search.h"

#include <stdio.h>

/*
 * Re-encodes COUNT bytes that ran in the memory of IMAGE.  -TZ_EUSAGE: the
 * profile refuses IA32_RTIT_CTL or a range; -TZ_EFORMAT: ranges are needed and
 * cannot be inferred; -TZ_EIO.  The result is to be freed after success.
 */
int reencode_trace(const uint8_t *bytes, uint64_t count,
    struct memory_image *image, const struct reencode_options *options,
    struct reencode_result *result, struct tz_error *err);

/* Writes RESULT as text. */
void reencode_print(
    const struct reencode_result *result, const uint8_t *bytes, FILE *file);

/* The profile whose processor is nearest to SIGNATURE. */
const struct profile *reencode_nearest(uint32_t signature);

#endif
