/*
 * What reencode.c and the files that try and set up share and nobody else sees.
 */
#ifndef TOPAZ_TRACES_REENCODE_SEARCH_SEARCH_INTERNAL_H
#define TOPAZ_TRACES_REENCODE_SEARCH_SEARCH_INTERNAL_H

#include "traces/reencode/reencode.h"

/* Outcomes of a full TNT packet, long and short. */
#define REENCODE_TNT_LONG  47
#define REENCODE_TNT_SHORT 6

/* One way to make the trace again. */
struct reencode_try {
	const uint8_t *bytes;
	const uint8_t *decoded; /* .bytes for libipt */
	uint64_t count;
	const struct profile *profile;
	struct profile_uarch *uarch; /* that of .profile */
	const struct reencode_options *options;
	struct memory_image *image;
	struct walk *walk;
	uint64_t ctl;
	/* The first with .ctl and the result's filter, further ones as given. */
	struct unit_driver_setting *settings;
	size_t setting_count;
	bool inferred;     /* all of them: of .ctl, each without its .off */
	uint64_t left_out; /* packets that the profile has not, by pkt_kind */
	bool watched;      /* there is more than transfers */
	bool roomless;     /* PSBs wait for room in the internal buffer */
	uint32_t phase; /* output offset minus trace offset; 64: to be found */
	bool endless;   /* the flow comes to a ring of jumps */
	uint64_t widen_left; /* bytes that may still be driven to widen choices */
	struct replay_choice choices[DRIVE_CHOICES];
};

/* Adds a line on what was inferred. */
void reencode_say(struct reencode_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes the trace again, in one way. */
int reencode_once(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err);

/*
 * The same in each way that may be, up to the best.  Where one CTL for all of it does not
 * do, there may be several.
 */
int reencode_tries(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err);

/* The same with each output offset and PacketByteCnt that may be, up to the best. */
int reencode_phases(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err);

/* One of these ways, with each PSB period that may be, from the longest on. */
typedef int reencode_run(struct reencode_try *try,
    struct reencode_result *result, struct tz_error *err);
int reencode_periods(struct reencode_try *try, reencode_run *run,
    struct reencode_result *result, struct tz_error *err);

/* Bytes of the trace that are equal, from its beginning on; UINT64_MAX: all. */
uint64_t reencode_reach(const struct reencode_result *result);

/* Is the first difference that a PSB came too early or too late? */
bool reencode_psb_differs(const struct reencode_result *result);

/*
 * Looks for enables behind which CTL is another: .settings, if there are.  -TZ_EIO: out
 * of memory.
 */
int reencode_resets(struct reencode_try *try, struct tz_error *err);

/*
 * Tries whether BIT of CTL changes at the enable before the first difference, and so on
 * from there; a few times.
 */
int reencode_flip(struct reencode_try *try, uint64_t bit,
    struct reencode_result *result, struct tz_error *err);

/* CTL and ranges: given, or out of the packets.  .settings is to be freed. */
int reencode_config(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err);

#endif
