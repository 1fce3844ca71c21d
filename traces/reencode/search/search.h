/*
 * What re-encoding is asked for and what comes out, and the ways in between: a trace
 * is made again in each that its packets leave open, up to the best.
 */
#ifndef TOPAZ_TRACES_REENCODE_SEARCH_SEARCH_H
#define TOPAZ_TRACES_REENCODE_SEARCH_SEARCH_H

#include "traces/reencode/replay/replay.h"

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
	const struct setting *settings;
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

struct search {
	const uint8_t *bytes;
	const uint8_t *decoded; /* .bytes for libipt */
	uint64_t count;
	const struct reencode_options *options;
	struct memory_image *image;
	struct walk *walk;
	struct reencode_result *result;
	struct tz_error *err;
	int error; /* nothing is driven any more */
	/* One way: */
	struct profile profile; /* with .uarch */
	struct profile_uarch uarch;
	uint64_t ctl;
	/* The first with .ctl and the result's filter, further ones as given. */
	struct setting *settings;
	size_t setting_count;
	bool inferred;     /* all of them: of .ctl, each without its .off */
	uint64_t left_out; /* packets that the profile has not, by pkt_kind */
	bool watched;      /* there is more than transfers */
	bool roomless;     /* PSBs wait for room in the internal buffer */
	uint32_t phase; /* output offset minus trace offset; 64: to be found */
	bool endless;   /* the flow comes to a ring of jumps */
	uint64_t widen_left; /* bytes that may still be driven to widen choices */
	struct replay_choice choices[REPLAY_CHOICES];
};

/* Adds a line on what was inferred. */
void search_say(struct search *search, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Bytes of the trace that are equal, from its beginning on; UINT64_MAX: all. */
uint64_t search_reach(const struct search *search);

/*
 * Makes the trace again in each way that may be, up to the best; .error.  Where one CTL
 * for all of it does not do, there may be several.
 */
void search_run(struct search *search);

/* CTL and ranges: given, or out of the packets; .error.  .settings is to be freed. */
void setup_run(struct search *search);

/*
 * Ranges that hold every traced IP and no target of a TIP.PGD, as wide as can be: the
 * result's filter.  -TZ_EFORMAT: four are not enough; -TZ_EIO: out of memory.
 */
int ranges_infer(struct search *search);

/* The bits of IA32_RTIT_CTL without which there are no packets of KINDS, a set. */
uint64_t setup_shown(uint64_t kinds);

/*
 * Looks for enables behind which CTL is another: .settings, if there are.  -TZ_EIO: out
 * of memory.
 */
int ctl_changes_find(struct search *search);

/* From OFFSET on BIT is another.  False: out of memory. */
bool ctl_changes_flip(struct search *search, uint64_t offset, uint64_t bit);

/* As it was before. */
void ctl_changes_unflip(struct search *search, uint64_t offset, uint64_t bit);

#endif
