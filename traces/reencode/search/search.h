/*
 * What re-encoding is asked for, and the ways to do it: a trace is made again in each
 * that its packets leave open, up to the best.
 */
#ifndef TOPAZ_TRACES_REENCODE_SEARCH_SEARCH_H
#define TOPAZ_TRACES_REENCODE_SEARCH_SEARCH_H

#include "traces/reencode/search/result.h"

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

/* A list of settings, by rising offset. */
struct setting_list {
	struct setting *setting;
	size_t count;
};

/* One way. */
struct search_way {
	uint64_t ctl;
	struct profile_uarch uarch;
	/* The first with .ctl and the result's filter, further ones as given. */
	struct setting_list settings;
	bool roomless;  /* PSBs wait for room in the internal buffer */
	uint32_t phase; /* output offset minus trace offset; 64: to be found */
};

/* So often another setting may begin; lists with that of the options and the packets. */
#define SEARCH_FLIPS 8
#define SEARCH_LISTS (2 + SEARCH_FLIPS)

struct search {
	const struct reencode_options *options;
	struct reencode_result *result;
	struct tz_error *err;
	int error;                   /* nothing is driven any more */
	struct profile profile;      /* with the way's .uarch */
	struct replay_config replay; /* all but what the way says */
	struct search_way way;
	uint64_t widen_left; /* bytes that may still be driven to widen choices */
	struct replay_choice choices[REPLAY_CHOICES];
	struct setting *lists[SEARCH_LISTS]; /* to be freed */
	unsigned list_count;
};

/*
 * Makes the trace again in each way that may be, up to the best; .error.  Where one CTL
 * for all of it does not do, there may be several.
 */
void search_run(struct search *search);
void search_free(struct search *search);

/* CTL and ranges: given, or out of the packets; .error. */
void setup_run(struct search *search);

/* The list is the way's from now on.  False: out of memory; .error. */
bool setup_take(struct search *search, struct setting_list list);

/* The bits of IA32_RTIT_CTL without which there are no packets of KINDS, a set. */
uint64_t setup_ctl_of(uint64_t kinds);

/*
 * Ranges that hold every traced IP and no target of a TIP.PGD, as wide as can be: the
 * result's filter.  -TZ_EFORMAT: four are not enough; -TZ_EIO: out of memory.
 */
int ranges_infer(struct search *search);

/* Looks for enables after which CTL is another.  One setting: there are none. */
struct setting_list ctl_changes_find(const struct search *search);

/* A copy of LIST, in which from OFFSET on BIT is another. */
struct setting_list ctl_changes_flip(
    const struct setting_list *list, uint64_t offset, uint64_t bit);

#endif
