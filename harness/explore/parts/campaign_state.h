/*
 * The data of a campaign, which is an exploration of one driver.  README.md has a table:
 * which file changes which group of members.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_PARTS_CAMPAIGN_STATE_H
#define TOPAZ_HARNESS_EXPLORE_PARTS_CAMPAIGN_STATE_H

#include "harness/explore/parts/checkpoint.h"
#include "harness/explore/parts/effort.h"
#include "harness/explore/runner/reach.h"
#include "harness/explore/trial/trial.h"

struct campaign;
struct campaign_entry;
struct corpus;
struct runner_pool;

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
	 * Reports progress in schedules of all parts (campaign_part.h), and then of
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

/* A growing list. */
struct campaign_entries {
	struct campaign_entry *at;
	size_t count, room;
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
	/* fraction selected, of TRIAL_KEEP_ALL; AREA_TWO: of the first deviations */
	uint64_t keep;
	bool each_call;    /* and each call of the kernel that can fail */
	uint64_t each_max; /* AREA_TWO: after each of them; 0: all */
	/* for progress; 0: the selected part of .total */
	uint64_t expected;
	uint32_t kinds;   /* of the first deviation */
	unsigned changes; /* AREA_RANDOM */
	unsigned first;   /* AREA_CALLS: the step that is not waited for */
	uint64_t boundaries;
	bool decodes; /* the trace of the default schedule decodes correctly */
	bool endless; /* the default schedule did not end: no other is run */
};

/* The parts that were run, in order: calls of campaign_part_run(). */
struct campaign_parts {
	uint64_t count;
	unsigned workers;              /* of the part that is running */
	struct checkpoint *checkpoint; /* state after the last complete part */
	uint32_t asked;                /* groups that .ends_at was called for */
	bool ended_early;              /* .ends_at returned true */
	bool interrupted;
};

struct campaign {
	struct build_cache *build_cache;
	struct campaign_options options;
	struct runner_pool *runner_pool; /* runners, by set-up */
	struct campaign_entries entries; /* .entry of an area is an index */
	/* The runs of generated sequences; the rank of a group is an index. */
	struct campaign_entries generated;
	struct campaign_area *area;
	size_t area_count;
	struct stats *stats;
	struct campaign_parts parts;
	struct corpus *corpus;
	uint32_t surveyed; /* areas of the user's own entries */
	uint64_t ahead;    /* schedules of parts that have no areas yet */
	/* For ../describe/: true: describe findings at once; or NULL. */
	const volatile bool *hurry;
};

#endif
