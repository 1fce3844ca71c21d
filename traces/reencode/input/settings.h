/*
 * IA32_RTIT_CTL and the ranges of each part of a stream.
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_SETTINGS_H
#define TOPAZ_TRACES_REENCODE_INPUT_SETTINGS_H

#include "traces/decode/decode.h"
#include "traces/verify/account/account.h"

/* The setting of all enables from trace offset .offset on. */
struct setting {
	uint64_t offset;
	uint64_t ctl; /* IA32_RTIT_CTL without ranges */
	struct decode_filter filter;
	/* Where .ctl is inferred: bits that are 0 here, and bits that are inverted. */
	uint64_t off, flip;
};

/*
 * The settings of the STREAM-th stream of a bundle with ACCOUNT, made of its COUNT
 * EVENTS, by rising offset in its file, one wherever they change; *SETTINGS is to be
 * freed.  A stream of which nothing was traced has none.  -TZ_EIO: out of memory.
 */
int settings_read(const struct event *events, size_t count,
    const struct account *account, size_t stream, struct setting **settings,
    size_t *setting_count, struct tz_error *err);

#endif
