/*
 * The progress of topaz reencode on standard error, once a trace has taken a second: a line
 * that is updated, or a line for each tenth.
 */
#ifndef TOPAZ_HARNESS_CMD_REENCODE_REENCODE_PROGRESS_H
#define TOPAZ_HARNESS_CMD_REENCODE_REENCODE_PROGRESS_H

#include "harness/cmd/cmd.h"

struct reencode_progress {
	enum cmd_progress mode;
	const char *name; /* of the trace */
	unsigned tries;
	double begin, shown; /* of this try; the last line; seconds */
	uint64_t tenth;      /* of the last line, of this try */
	bool bar;            /* one is there */
};

/* MODE auto: a bar on a terminal, else nothing. */
void reencode_progress_begin(struct reencode_progress *progress,
    enum cmd_progress mode, const char *name);

/* Of struct reencode_options; ARG is the progress. */
void reencode_progress_tell(void *arg, uint64_t done, uint64_t count);

/* Removes the bar. */
void reencode_progress_end(struct reencode_progress *progress);

#endif
