/*
 * libipt's block decoder with nothing around it: what re-encoding is measured
 * against.  A file of its own, since libipt and the PT unit both have a struct
 * pt_event.
 */
#ifndef TOPAZ_TESTS_BENCH_BARE_H
#define TOPAZ_TESTS_BENCH_BARE_H

#include "traces/decode/decode.h"

/* Decodes the whole trace and drops it.  Returns how many instructions. */
uint64_t bare_blocks(const struct decode_config *config);

#endif
