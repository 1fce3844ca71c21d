/*
 * The options of a re-encoding, and the search: what neither the options nor the packets
 * say is chosen so that as much of the trace as possible is equal.
 */
#ifndef TOPAZ_TRACES_REENCODE_SEARCH_SEARCH_H
#define TOPAZ_TRACES_REENCODE_SEARCH_SEARCH_H

#include "traces/reencode/search/result.h"

struct reencode_options {
	const struct profile *profile;
	uint32_t signature; /* CPUID.1:EAX, 0: unknown */
	uint32_t errata;    /* errata that show, bits by profile_erratum */
	bool errata_given; /* .errata is complete; else errata of overflows may show, too */
	enum compare_form form;
	bool ctl_given, filter_given;
	uint64_t ctl; /* IA32_RTIT_CTL */
	struct decode_filter filter;
	/*
	 * Where .ctl and .filter change within the trace: their values, by rising
	 * offset, the first of which are .ctl and .filter.  0: they do not change.
	 */
	const struct setting *settings;
	size_t setting_count;
	bool long_excerpt; /* for a page */
	/* As of struct replay_config.  After less than before, it is the next try. */
	void (*progress)(void *arg, uint64_t done, uint64_t count);
	void *progress_arg;
};

/* Settings by rising offset, one at least. */
struct setting_list {
	struct setting *setting;
	size_t count;
};

/* One choice of all that is open. */
struct search_way {
	uint64_t ctl;
	struct profile_uarch uarch;
	/* Inferred ones get .ctl and the result's filter before each try. */
	struct setting_list settings;
	bool roomless; /* PSBs wait for room in the internal buffer */
	/* Output offset minus trace offset, modulo 64; 64: not known. */
	uint32_t phase;
};

/* Changes of DisRETC that are tried; lists: these, that of the options, of the packets. */
#define SEARCH_FLIPS 8
#define SEARCH_LISTS (2 + SEARCH_FLIPS)

struct search {
	const struct reencode_options *options;
	struct reencode_result *result;
	struct tz_error *err;
	int error;                   /* not 0: nothing is tried any more */
	struct profile profile;      /* with the way's .uarch */
	struct replay_config replay; /* all but what the way says */
	struct search_way way;
	/* Bytes of trace that search_widen() may still replay. */
	uint64_t widen_left;
	struct replay_choice choices[REPLAY_CHOICES];
	struct setting *lists[SEARCH_LISTS]; /* to be freed */
	unsigned list_count;
};

/*
 * Replays the trace with one choice after another and leaves the best one's result.  Sets
 * .error.
 */
void search_run(struct search *search);
void search_free(struct search *search);

/* Takes IA32_RTIT_CTL and ranges from the options, or infers them.  Sets .error. */
void setup_run(struct search *search);

/*
 * Makes LIST, which SEARCH then owns, the way's.  False: it is
 * empty: no memory; sets .error.
 */
bool setup_take(struct search *search, struct setting_list list);

/* The bits of IA32_RTIT_CTL that enable the packets of KINDS, a set. */
uint64_t setup_ctl_of(uint64_t kinds);

/*
 * Sets the result's filter to the widest ranges that contain every traced IP and no target
 * of a TIP.PGD.  -TZ_EFORMAT: more than four are needed; -TZ_EIO: out of memory.
 */
int ranges_infer(struct search *search);

/* The enables at which the packets show another CTL; one setting: there are none. */
struct setting_list ctl_changes_find(const struct search *search);

/* A copy of LIST in which BIT of CTL is inverted from OFFSET on. */
struct setting_list ctl_changes_flip(
    const struct setting_list *list, uint64_t offset, uint64_t bit);

#endif
