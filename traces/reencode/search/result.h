/*
 * What comes out of re-encoding, of the best way that was found.
 */
#ifndef TOPAZ_TRACES_REENCODE_SEARCH_RESULT_H
#define TOPAZ_TRACES_REENCODE_SEARCH_RESULT_H

#include "traces/reencode/replay/replay.h"

/* Lines that say what was inferred. */
#define REENCODE_LINES      24
#define REENCODE_LINE_BYTES 128

struct reencode_result {
	bool equal;
	bool one_ctl; /* what does not show is the same at all enables */
	bool nothing; /* no PSB, or none from which anything decodes */
	uint64_t bytes;
	uint64_t ctl; /* that the unit was driven with */
	struct decode_filter filter;
	struct trace_stats stats;
	struct replay_result replay;
	uint64_t distinct_blocks, distinct_insns;
	unsigned line_count;
	char line[REENCODE_LINES][REENCODE_LINE_BYTES];
};

/* Adds a line on what was inferred. */
void result_note(struct reencode_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Bytes of the trace that are equal, from its beginning on; UINT64_MAX: all. */
uint64_t result_reach(const struct reencode_result *result);

/* Is the first difference that a PSB came too early or too late? */
bool result_psb_differs(const struct reencode_result *result);

void reencode_result_free(struct reencode_result *result);

#endif
