/*
 * What reencode.c and setup.c share and nobody else sees.
 */
#ifndef TOPAZ_TRACES_REENCODE_REENCODE_WORK_H
#define TOPAZ_TRACES_REENCODE_REENCODE_WORK_H

#include "traces/reencode/reencode.h"

/* One way to make the trace again. */
struct reencode_try {
	const uint8_t *bytes;
	const uint8_t *decoded; /* .bytes for libipt */
	uint64_t count;
	const struct profile *profile;
	struct profile_manner *manner; /* that of .profile */
	const struct reencode_options *options;
	struct pieces *pieces;
	struct walk *walk;
	uint64_t ctl;
	uint64_t left_out; /* packets that the profile has not, by scan_kind */
	bool watched;      /* there is more than transfers */
	bool roomless;     /* PSBs wait for room in the internal buffer */
	uint32_t phase; /* output offset minus trace offset; 64: to be found */
	struct drive_choice choices[DRIVE_CHOICES];
};

/* Adds a line on what was inferred. */
void reencode_say(struct reencode_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* CTL and ranges: given, or out of the packets. */
int reencode_config(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err);

#endif
