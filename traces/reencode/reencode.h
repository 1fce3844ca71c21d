/*
 * A trace captured anywhere, made again: its flow is recovered, fed to the PT
 * unit, and the unit's packets are compared with the trace's.
 */
#ifndef TOPAZ_TRACES_REENCODE_REENCODE_H
#define TOPAZ_TRACES_REENCODE_REENCODE_H

#include "traces/reencode/replay/replay.h"

#include <stdio.h>

struct reencode_options {
	const struct profile *profile;
	uint32_t signature; /* CPUID.1:EAX, 0: unknown */
	uint32_t errata;    /* that show, bits by profile_erratum */
	bool errata_given;  /* else those of an overflow may, too */
	enum compare_form form;
	bool ctl_given, filter_given;
	uint64_t ctl; /* IA32_RTIT_CTL */
	struct decode_filter filter;
	/*
	 * The same with the offsets from which on, where they change; the first is
	 * that of .ctl and .filter.  None: they do not.
	 */
	const struct unit_driver_setting *settings;
	size_t setting_count;
};

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
	struct compare_difference difference;
	uint64_t distinct_blocks, distinct_insns;
	unsigned line_count;
	char line[REENCODE_LINES][REENCODE_LINE_BYTES];
};

/*
 * Re-encodes COUNT bytes that ran in the memory of IMAGE.  -TZ_EUSAGE: the
 * profile refuses IA32_RTIT_CTL or a range; -TZ_EFORMAT: ranges are needed and
 * cannot be inferred; -TZ_EIO.  The result is to be freed after success.
 */
int reencode_trace(const uint8_t *bytes, uint64_t count,
    struct memory_image *image, const struct reencode_options *options,
    struct reencode_result *result, struct tz_error *err);
void reencode_result_free(struct reencode_result *result);

/* Writes RESULT as text. */
void reencode_print(
    const struct reencode_result *result, const uint8_t *bytes, FILE *file);

/* The profile whose processor is nearest to SIGNATURE. */
const struct profile *reencode_nearest(uint32_t signature);

#endif
