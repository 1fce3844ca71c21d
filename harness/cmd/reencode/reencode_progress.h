/*
 * The progress of topaz reencode on standard error: one line on a terminal, once a trace
 * has taken a second.
 */
#ifndef TOPAZ_HARNESS_CMD_REENCODE_REENCODE_PROGRESS_H
#define TOPAZ_HARNESS_CMD_REENCODE_REENCODE_PROGRESS_H

#include "emu/base/base.h"

enum reencode_progress_mode {
	REENCODE_PROGRESS_AUTO, /* a bar on a terminal */
	REENCODE_PROGRESS_BAR,
	REENCODE_PROGRESS_NONE,
};

struct reencode_progress {
	bool on;
	const char *name; /* of the trace */
	unsigned tries;
	double begin, shown; /* of this try; the last line; seconds */
	bool any;            /* a line is there */
};

/* "auto", "bar" or "none"; false: TEXT is none of them. */
bool reencode_progress_mode(
    const char *text, enum reencode_progress_mode *mode);

void reencode_progress_begin(struct reencode_progress *progress,
    enum reencode_progress_mode mode, const char *name);

/* Of struct reencode_options; ARG is the progress. */
void reencode_progress_tell(void *arg, uint64_t done, uint64_t count);

/* Removes the line. */
void reencode_progress_end(struct reencode_progress *progress);

#endif
