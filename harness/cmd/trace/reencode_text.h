/*
 * Values of the options of topaz reencode, out of their text.  Each function returns
 * NULL or, where nothing was changed, why TEXT is refused (static).
 */
#ifndef TOPAZ_HARNESS_CMD_TRACE_REENCODE_TEXT_H
#define TOPAZ_HARNESS_CMD_TRACE_REENCODE_TEXT_H

#include "traces/decode/decode.h"

/* FAMILY/MODEL/STEPPING, decimal or 0x, as CPUID.1:EAX has it. */
const char *reencode_cpu(const char *text, uint32_t *signature);

/* A-B, hexadecimal, both in it: the next range of FILTER, which has 4 at most. */
const char *reencode_range(const char *text, struct decode_filter *filter);

/* A hexadecimal number of up to 64 bits. */
const char *reencode_hex(const char *text, uint64_t *value);

#endif
