/*
 * An exploration of one driver: its scenarios with every placement of one deviation,
 * generated sequences, placements in those that reach new code, pairs, and finally
 * random schedules; all within a budget that counts schedules.  The results depend only
 * on driver, options and seed, not on jobs and shards.
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
	uint32_t kinds;      /* one bit for each deviation_kind */
	unsigned depth;      /* 1 or 2 */
	unsigned jobs;       /* 1.. */
	unsigned shard, shards; /* 1 of 1: all */
	enum effort effort;
	uint64_t budget; /* schedules; 0: by .effort */
	uint64_t seed;
	/* limit of a run; 0: derived from the default schedule */
	uint64_t insns_max;
	bool merge, reduce;
	bool sequences; /* also run generated sequences; not with .subject */
	/* the user chose .kinds: pairs and faults use only these */
	bool kinds_named;
	bool faults; /* faults.h: one area for each fault and entry */
	/* with .faults: each point, regardless of the budget */
	bool each_point;
	/*
	 * Reports progress in schedules of all parts (campaign_progress.h), and then of
	 * the description of findings; NULL: no reports.
	 */
	void (*progress)(void *arg, const char *what, uint64_t done,
	    uint64_t total, uint64_t findings);
	void *progress_arg;
	/*
	 * Called after each part of the exploration that added groups to the
	 * statistics; the new ones are those from number FROM on.  True ends the
	 * exploration.  Parts do not depend on jobs.  NULL: it runs to its end.
	 */
	bool (*ends_at)(void *arg, struct campaign *campaign, uint32_t from);
	void *ends_arg;
	/* Called with the code that scenarios and sequences reach in the default
	 * schedule; or NULL. */
	void (*reached)(void *arg, struct runner *runner,
	    const struct campaign_entry *entry, const struct reach *reach);
	void *reached_arg;
	/* Of an exploration to resume; NULL: none.  Owned by the caller. */
	const struct checkpoint *resume;
};

/* One sequence on one set-up of the guest. */
struct campaign_entry {
	char name[64]; /* scenario, or "" */
	unsigned cpus;
	char layout[TOKEN_WORDS_BYTES];
	const char *settings; /* guest boot parameters */
	struct sequence sequence;
};

enum area_kind {
	AREA_ONE,       /* one deviation */
	AREA_TWO,       /* two */
	AREA_RANDOM,    /* trial_random() */
	AREA_SEQUENCES, /* generated sequences, default schedule */
	AREA_CALLS, /* concurrent.h: one deviation, where kernel calls return */
	AREA_FAULT, /* faults.h: default schedule; .entry is the fault's row */
};

struct campaign_area {
	enum area_kind kind;
	uint32_t entry; /* index, or UINT32_MAX: sequences */
	uint64_t total; /* schedules; 0: not known in advance */
	/* fraction selected, of 2^32; AREA_TWO: of the first deviations */
	uint64_t keep;
	uint64_t each_max; /* AREA_TWO: after each of them; 0: all */
	uint64_t
	    /* for campaign_progress.h; 0: the selected part of .total */
	    expected;
	uint32_t kinds;   /* of the first deviation */
	unsigned changes; /* AREA_RANDOM */
	unsigned first;   /* AREA_CALLS: the step that is not waited for */
	uint64_t boundaries;
	bool decodes; /* the trace of the default schedule decodes correctly */
	bool endless; /* the default schedule did not end: no other is run */
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
	uint64_t parts; /* calls of campaign_pool() so far */
	/* For campaign_progress.h: areas of the user's own entries that are
	 * surveyed; schedules of parts that have no areas yet. */
	uint32_t entry_surveyed;
	uint64_t ahead;
	struct checkpoint *checkpoint; /* state after the last complete part */
	uint32_t asked;                /* groups that .ends_at was called for */
	bool ended_early;              /* .ends_at returned true */
	bool gave_up; /* sequences: too many reached their limit */
	/* True: describe findings at once, without further runs; or NULL. */
	const volatile bool *hurry;
};

/* The default options of `topaz explore`. */
struct campaign_options campaign_defaults(void);

/*
 * Errors as of runner_open() and sequence_parse(); -TZ_ENOENT: no such scenario.
 * CAMPAIGN must be closed also after an error.
 */
int campaign_run(struct campaign *campaign, struct build_cache *build_cache,
    const struct campaign_options *options, struct tz_error *err);
void campaign_close(struct campaign *campaign);

/* True if the exploration was interrupted or .ends_at ended it: no new part begins. */
bool campaign_is_over(struct campaign *campaign);

/* True if AREA finished; false if it was interrupted. */
bool campaign_ended(const struct campaign *campaign, size_t area);

/* The entry that a group of the statistics belongs to. */
const struct campaign_entry *campaign_entry_of(
    const struct campaign *campaign, const struct stats_group *group);

/* True if run number INDEX, of those that are not placements, belongs to this shard. */
bool campaign_is_own(const struct campaign *campaign, uint64_t index);

/* A runner for ENTRY; it stays open for later calls. */
int campaign_runner(struct campaign *campaign,
    const struct campaign_entry *entry, struct runner **runner,
    struct tz_error *err);

/*
 * Fills ENTRY from a token's subject.  -TZ_ENOENT: no such scenario; -TZ_EUSAGE:
 * invalid steps.  ENTRY refers to MANIFEST.
 */
int campaign_entry_read(const struct manifest *manifest,
    const struct token *token, struct campaign_entry *entry,
    struct tz_error *err);

/*
 * The reverse: fills in the subject, the profile and the check of TOKEN, which is
 * empty.
 */
void campaign_entry_write(struct build_cache *build_cache,
    const struct campaign_entry *entry, struct token *token);

/*
 * The next part of the exploration: runs WORK in all jobs, as workers_run() does,
 * unless it was completed before the exploration was interrupted.
 */
int campaign_pool(struct campaign *campaign, workers_work work,
    workers_progress progress, void *arg, struct tz_error *err);

/*
 * True if the next part, or the one that was last requested, was completed before
 * the interruption.
 */
bool campaign_is_resuming(const struct campaign *campaign);

/* A hash of everything that determines the results of CAMPAIGN's options. */
uint64_t campaign_key(struct build_cache *build_cache,
    const struct campaign_options *options, uint16_t check);

/* Runs areas [BEGIN, END) in all jobs.  Errors as of workers_run(). */
int campaign_run_areas(struct campaign *campaign, uint32_t begin, uint32_t end,
    struct tz_error *err);

/* Adds an area; NULL: too many. */
struct campaign_area *campaign_add_area(
    struct campaign *campaign, enum area_kind kind, uint32_t entry);

/* Runs the default schedule of the area's entry and fills in its counts. */
int campaign_survey(
    struct campaign *campaign, uint32_t area, struct tz_error *err);

/*
 * Guest boot parameters for SEQUENCE: the manifest's if the sequence loads the driver
 * itself; if not, none: the driver is loaded at boot.
 */
const char *campaign_settings(
    const struct manifest *manifest, const struct sequence *sequence);

/*
 * Adds the subject that the user named, or all scenarios.  -TZ_ENOENT: no such
 * scenario; -TZ_EUSAGE: invalid steps; -TZ_EIO: no memory.
 */
int campaign_make_entries(struct campaign *campaign, struct tz_error *err);
/* Adds a copy and returns its index, or SIZE_MAX: no memory. */
size_t campaign_add_entry(
    struct campaign *campaign, const struct campaign_entry *entry);

#endif
