/*
 * The result of a re-encoding: that of the best choice that the search found.
 */
#ifndef TOPAZ_TRACES_REENCODE_SEARCH_RESULT_H
#define TOPAZ_TRACES_REENCODE_SEARCH_RESULT_H

#include "traces/reencode/excerpt.h"
#include "traces/reencode/replay/replay.h"

/* Lines of text on what was inferred. */
#define REENCODE_LINES      24
#define REENCODE_LINE_BYTES 128

enum result_verdict {
	RESULT_EQUAL,
	RESULT_DIFFERS,       /* a packet: .replay.difference */
	RESULT_CONTRADICTION, /* Zydis or the flow against libipt: .replay.wrong */
	RESULT_UNDECODED,     /* libipt cannot follow: a gap */
	RESULT_NOTHING,
};

struct reencode_result {
	bool equal;
	bool one_ctl; /* bits that no packet shows are taken as equal at all enables */
	bool nothing; /* no PSB, or no instruction could be decoded */
	uint64_t bytes;
	uint64_t ctl; /* IA32_RTIT_CTL of the unit */
	struct decode_filter filter;
	struct trace_stats stats;
	struct replay_result replay;
	struct excerpt excerpt; /* where the trace is not equal */
	uint64_t distinct_blocks, distinct_insns;
	unsigned line_count;
	char line[REENCODE_LINES][REENCODE_LINE_BYTES];
};

/* Adds a line on what was inferred; more than REENCODE_LINES are dropped. */
void result_note(struct reencode_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

enum result_verdict result_verdict(const struct reencode_result *result);

/* The first gap at which libipt cannot follow, for RESULT_UNDECODED. */
struct replay_gap *result_undecoded(const struct reencode_result *result);

/* The trace offset of the first difference; UINT64_MAX: none. */
uint64_t result_reach(const struct reencode_result *result);

/* Is the first difference that a PSB came too early or too late? */
bool result_psb_differs(const struct reencode_result *result);

void reencode_result_free(struct reencode_result *result);

#endif
