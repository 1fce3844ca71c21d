/*
 * An exploration of one driver: its scenarios with every placement of one
 * deviation, generated sequences, placements in those that reach new code, pairs,
 * and random schedules beyond; all within a budget that counts schedules.  What it
 * finds depends on driver, options and seed alone, not on jobs and shards.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_CAMPAIGN_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_CAMPAIGN_H

#include "harness/explore/runner/reach.h"
#include "harness/explore/search/checkpoint.h"
#include "harness/explore/search/effort.h"
#include "harness/explore/search/trial.h"
#include "harness/explore/search/workers.h"

struct campaign;
struct campaign_entry;

struct campaign_options {
	const char *subject; /* scenario or DRIVER[@..]=STEPS; NULL: everything */
	uint32_t kinds;      /* one bit a deviation_kind */
	unsigned depth;      /* 1 or 2 */
	unsigned jobs;       /* 1.. */
	unsigned shard, shards; /* 1 of 1: all */
	enum effort effort;
	uint64_t budget; /* schedules, instead of the effort; 0: by the effort */
	uint64_t seed;
	uint64_t insns_max; /* of a run; 0: derived from the default schedule */
	bool merge, reduce;
	bool sequences; /* generated ones too; not with .subject */
	bool kinds_named; /* the user chose .kinds: pairs and faults are of them */
	bool faults;      /* faults.h: one area a fault and entry */
	bool each_point; /* of .faults, whatever the budget */
	/*
	 * Tells how far it is, in schedules of all parts (campaign_progress.h), and afterwards
	 * how far the description of findings is; NULL: nobody asks.
	 */
	void (*progress)(void *arg, const char *what, uint64_t done,
	    uint64_t total, uint64_t findings);
	void *progress_arg;
	/*
	 * Asked after each part of the exploration that has shown groups of the statistics, from
	 * number FROM on, that no part before had: true ends it.  Parts do not depend on
	 * jobs.  NULL: it goes to its end.
	 */
	bool (*ends_at)(void *arg, struct campaign *campaign, uint32_t from);
	void *ends_arg;
	/* Hears what scenarios and sequences reach in the default schedule; or NULL. */
	void (*reached)(void *arg, struct runner *runner,
	    const struct campaign_entry *entry, const struct reach *reach);
	void *reached_arg;
	/* Of an exploration that is to go on; NULL: none.  The caller's. */
	const struct checkpoint *resume;
};

/* One sequence on one set-up of the guest. */
struct campaign_entry {
	char name[64]; /* scenario, or "" */
	unsigned cpus;
	char layout[TOKEN_WORDS_BYTES];
	const char *settings; /* words for the guest */
	struct sequence sequence;
};

enum area_kind {
	AREA_ONE,       /* one deviation */
	AREA_TWO,       /* two */
	AREA_RANDOM,    /* trial_random() */
	AREA_SEQUENCES, /* generated sequences, default schedule */
	AREA_CALLS, /* concurrent.h: one, where calls to the kernel return */
	AREA_FAULT, /* faults.h: default schedule; .entry is the fault's row */
};

struct campaign_area {
	enum area_kind kind;
	uint32_t entry;    /* or UINT32_MAX: sequences */
	uint64_t total;    /* schedules; 0: not known before */
	uint64_t keep;     /* of 2^32; AREA_TWO: of the first deviations */
	uint64_t each_max; /* AREA_TWO: after each of them; 0: all */
	uint64_t
	    expected;   /* for campaign_progress.h; 0: what is kept of .total */
	uint32_t kinds; /* of the first deviation */
	unsigned changes; /* AREA_RANDOM */
	unsigned first;   /* AREA_CALLS: step, the one that is not waited for */
	uint64_t boundaries;
	bool decodes; /* the default schedule does, as it should */
	bool endless; /* the default schedule did not end: no others are run */
};

struct campaign {
	struct build_cache *build_cache;
	struct campaign_options options;
	struct campaign_entry *entry;
	size_t entry_count, entry_room;
	struct campaign_area *area;
	size_t area_count;
	struct runner_pool *runner_pool; /* runners, by set-up */
	struct corpus *corpus;
	struct stats *stats;
	bool interrupted;
	uint64_t parts; /* that have begun: calls of campaign_pool() */
	/* For campaign_progress.h: areas of the user's own entries; schedules of parts
	 * that have no areas yet. */
	uint32_t entry_surveyed;
	uint64_t ahead;
	struct checkpoint *checkpoint; /* as of the last one that was done */
	uint32_t asked;   /* groups of the statistics, by .ends_at */
	bool ended_early; /* it was true of one */
	bool gave_up;     /* sequences: many of them reach their limit */
	/* True: findings are wanted at once, with what is known; or NULL. */
	const volatile bool *hurry;
};

/* The options of `topaz explore` without any. */
struct campaign_options campaign_defaults(void);

/*
 * Errors as of runner_open() and sequence_parse(); -TZ_ENOENT: no such scenario.
 * CAMPAIGN is to be closed also after an error.
 */
int campaign_run(struct campaign *campaign, struct build_cache *build_cache,
    const struct campaign_options *options, struct tz_error *err);
void campaign_close(struct campaign *campaign);

/* Interrupted, or at a group that ends it: nothing more is begun. */
bool campaign_is_over(struct campaign *campaign);

/* Has all of AREA been done that was to be done?  Else the end came before. */
bool campaign_ended(const struct campaign *campaign, size_t area);

/* The entry that a group of the statistics belongs to. */
const struct campaign_entry *campaign_entry_of(
    const struct campaign *campaign, const struct stats_group *group);

/* Does run number INDEX, of those that are not placements, belong to this shard? */
bool campaign_is_own(const struct campaign *campaign, uint64_t index);

/* A runner for ENTRY, kept for later. */
int campaign_runner(struct campaign *campaign,
    const struct campaign_entry *entry, struct runner **runner,
    struct tz_error *err);

/*
 * What a token's subject names.  -TZ_ENOENT: no such scenario; -TZ_EUSAGE: its
 * steps are none.  ENTRY refers to MANIFEST.
 */
int campaign_entry_read(const struct manifest *manifest,
    const struct token *token, struct campaign_entry *entry,
    struct tz_error *err);

/*
 * The next part of the exploration: runs WORK in all jobs, as workers_run(), unless it was
 * done before the exploration was interrupted.
 */
int campaign_pool(struct campaign *campaign, workers_work work,
    workers_progress progress, void *arg, struct tz_error *err);

/* Is the part that comes next, or that was asked for last, one that was done before? */
bool campaign_is_resuming(const struct campaign *campaign);

/* A number that stands for all that decides what CAMPAIGN's options find. */
uint64_t campaign_key(struct build_cache *build_cache,
    const struct campaign_options *options, uint16_t check);

/* Runs areas [BEGIN, END) in all jobs.  Errors as of workers_run(). */
int campaign_run_areas(struct campaign *campaign, uint32_t begin, uint32_t end,
    struct tz_error *err);

/* One more area; NULL: there is no room. */
struct campaign_area *campaign_add_area(
    struct campaign *campaign, enum area_kind kind, uint32_t entry);

/* What the default schedule of the area's entry alone shows; fills in its counts. */
int campaign_survey(
    struct campaign *campaign, uint32_t area, struct tz_error *err);

/*
 * Words for the guest under which SEQUENCE runs: the manifest's where it loads the
 * driver by itself, else none: the driver is loaded at boot.
 */
const char *campaign_settings(
    const struct manifest *manifest, const struct sequence *sequence);

/*
 * Adds the one that the user named, or all scenarios.  -TZ_ENOENT: there is none;
 * -TZ_EUSAGE: its steps are none; -TZ_EIO: no memory.
 */
int campaign_make_entries(struct campaign *campaign, struct tz_error *err);
/* Adds a copy; its index, or SIZE_MAX: no memory. */
size_t campaign_add_entry(
    struct campaign *campaign, const struct campaign_entry *entry);

#endif
