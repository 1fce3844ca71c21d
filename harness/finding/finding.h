/*
 * What an exploration found, ready to be reported: no machine is needed to print
 * it.  All strings are the finding's own or static.
 *
 * A finding is one mistake of the driver: a place, and what shows it.  Runs that could
 * not be judged are kept as findings, too, one for each reason and place; .judged
 * tells them apart, and every report does.
 */
#ifndef TOPAZ_HARNESS_FINDING_FINDING_H
#define TOPAZ_HARNESS_FINDING_FINDING_H

#include "emu/base/event.h"
#include "emu/profile/cpu_set.h"
#include "harness/check/check.h"

#define FINDING_TOKEN_BYTES   1024
#define FINDING_TEXT_BYTES    256
#define FINDING_NAME_BYTES    96
#define FINDING_COMMAND_BYTES 8192
#define FINDING_PATH_BYTES    4096

#define FINDING_PRINT_BYTES   17
#define FINDING_SYMPTOMS_MAX  16

enum finding_class {
	FINDING_BASE,     /* the default schedule is enough: no deviation */
	FINDING_SCHEDULE, /* needs a schedule that real hardware permits */
	FINDING_FAULT,    /* needs a fault */
};

/* A place in the driver's sources. */
struct finding_place {
	char function[FINDING_NAME_BYTES]; /* "pt_topa_intr"; "" unknown */
	uint32_t offset_bytes;             /* in the function */
	char file[FINDING_NAME_BYTES * 2]; /* as compiled; "" unknown */
	int line;
};

/* Something else that the same mistake causes, and how to see it. */
struct finding_symptom {
	enum check_id check;
	char kinds[FINDING_NAME_BYTES]; /* of deviations; "" */
	char where[FINDING_NAME_BYTES]; /* "pt_init_ctx pt.c:390"; "" */
	char message[FINDING_TEXT_BYTES];
	char token[FINDING_TOKEN_BYTES];
	uint64_t rank[3]; /* as of a finding */
};

/*
 * Violations that are taken for the same while exploring (../explore/search/stats.h), and what the run
 * of least rank shows of them.
 */
struct finding_group {
	uint64_t cause, own; /* as in struct stats_group, with the next two */
	uint32_t kinds;
	enum check_id check;
	bool fault;       /* its run has a fault */
	uint64_t event;   /* number of the event that violated */
	uint64_t mistake; /* as a finding's .cause */
	bool apart;       /* with and without deviations: two mistakes */
	struct finding_symptom symptom;
	int made; /* index of the finding that was made of it, or -1 */
};

struct finding {
	enum check_id check;
	bool judged;    /* false: the run could not be judged */
	uint64_t cause; /* ../explore/describe/identity.h */
	uint64_t own;   /* as in struct outcome_violation: for its window */
	/* The same for the same mistake in later versions of the driver: 16
	 * hexadecimal digits; of two findings never the same. */
	char fingerprint[FINDING_PRINT_BYTES];
	uint64_t rank[3]; /* of its schedule among all: the least is shown */
	enum finding_class class;
	char driver[FINDING_NAME_BYTES], scenario[FINDING_NAME_BYTES];
	char profile[CPU_SET_TEXT_BYTES];
	char sha256[65];                   /* of the driver's source */
	char token[FINDING_TOKEN_BYTES];   /* replays it; minimised */
	char passing[FINDING_TOKEN_BYTES]; /* nearest schedule that passes; "" */
	char message[FINDING_TEXT_BYTES];
	char kinds[FINDING_NAME_BYTES];  /* "pmi+cpu"; "" */
	char steps[FINDING_TOKEN_BYTES]; /* the sequence of operations */
	unsigned cpu;
	uint64_t insns;      /* of the violation, since the run's begin */
	uint64_t cycles;     /* the same as virtual time: ticks of the TSC */
	uint64_t event;      /* number of the event that violated */
	uint64_t state_hash; /* of the machine at its end */
	struct finding_place place;          /* where the driver goes wrong */
	char entry[FINDING_NAME_BYTES];      /* its function that was called */
	char through[FINDING_NAME_BYTES];    /* the line of .entry; "" */
	char object[FINDING_NAME_BYTES * 2]; /* "made in pt_init pt.c:390"; "" */
	struct finding_symptom symptom[FINDING_SYMPTOMS_MAX];
	unsigned symptom_count; /* in order of rank */
	bool symptom_more;      /* there are others, of higher rank */
	int made;               /* index of what it was made from */
	/* Boundaries at which the last deviation makes it fail. */
	uint32_t window_failing, window_count;
	struct finding_place window_first, window_last;
};

/* Lower is simpler: -1, 0, 1. */
int finding_rank_compare(const uint64_t a[3], const uint64_t b[3]);

/* The order of a summary: those that were judged first, then by rank. */
int finding_compare(const struct finding *a, const struct finding *b);

/* "pt_init_ctx pt.c:390", as much of it as is known. */
void finding_format_place(
    const struct finding_place *place, char text[FINDING_NAME_BYTES]);

/*
 * Lists SYMPTOM, unless its row is listed at that place with some of its kinds of
 * deviations, or as many: then the one of lower rank stays.
 */
void finding_add_symptom(
    struct finding *finding, const struct finding_symptom *symptom);
/* The same for all that OTHER shows, which is the same mistake and of higher rank. */
void finding_absorb(struct finding *finding, const struct finding *other);

/*
 * Are they one mistake?  Those of one cause; but where the kernel ends, a place that
 * breaks without a deviation and one that needs them are two mistakes, an order of
 * operations that the driver does not expect and a race, unless the race does all the
 * operations of the other, too.  Further, what the same operations show with the same
 * kinds of deviations: two ends of the kernel, of two set-ups; the same row twice; two
 * rows of which one is a symptom of the other.  And an assertion with what its
 * function does without it.
 */
bool finding_is_same(const struct finding *one, const struct finding *other);

/* One instruction boundary of the run, for the window strip. */
enum tick_outcome { TICK_PASS, TICK_FAIL, TICK_MERGED, TICK_NONE };
struct finding_tick {
	uint16_t cpu;
	uint8_t outcome;
	uint64_t insns, rip;
	char token[FINDING_TOKEN_BYTES / 4];
};

/* A stretch in which CPU was in one function. */
struct finding_span {
	uint16_t cpu;
	uint8_t depth; /* of calls, 0 outermost */
	bool in_nmi, in_interrupt, driver;
	uint64_t begin_cycles, end_cycles;
	struct finding_place place;
};

/* The whole run of a finding, for the page. */
struct finding_timeline {
	unsigned cpu_count;
	struct event *event; /* all, from the run's begin; .insns and .cycles
				relative to it */
	size_t event_count;
	struct finding_place *event_place; /* of each, or NULL */
	struct finding_span *span;
	size_t span_count;
	struct finding_tick *tick; /* in order of time */
	size_t tick_count;
	struct event *passing_event; /* of the nearest passing schedule */
	size_t passing_event_count;
	char *console;         /* or NULL */
	uint64_t buffer_bytes; /* of one trace buffer */
};

void finding_timeline_free(struct finding_timeline *timeline);

#define FINDING_SHARDS_MAX   4096
#define FINDING_EXIT_UNKNOWN (-1)
#define FINDING_UNJUDGED_MAX (REASON_COUNT * CHECK_COUNT)

/* How a whole exploration went, for the last lines and the index page. */
struct finding_summary {
	char driver[FINDING_NAME_BYTES], profile[CPU_SET_TEXT_BYTES];
	char sha256[65];
	char command[FINDING_COMMAND_BYTES]; /* that repeats it */
	/*
	 * What a replay needs beside the token, as the user named it: the folder
	 * that has the driver's, and the folder of findings whose objects it takes,
	 * as the sources or the compiler are not the driver's own.  "": none.
	 */
	char drivers[FINDING_PATH_BYTES], from[FINDING_PATH_BYTES];
	/* Of the driver's sources, below the folder it was explored in; "". */
	char folder[FINDING_TEXT_BYTES];
	struct finding_coverage {
		char what[FINDING_NAME_BYTES]; /* "depth 1, stop-vs-pmi" */
		uint64_t done, total, merged, failing, unjudged;
		char how[FINDING_NAME_BYTES]; /* "exhaustive", "sampled ..." */
		bool cut; /* not done to its end, or not begun */
		/* The default schedule, which the numbers leave out. */
		bool base_fails, base_unjudged;
	} coverage[64];
	size_t coverage_count;
	/* Schedules in which a row was not judged, by reason. */
	struct finding_unjudged {
		enum check_id check;
		enum check_reason reason;
		uint64_t schedules;
	} unjudged[FINDING_UNJUDGED_MAX];
	size_t unjudged_count;
	uint64_t tsc_hz;     /* of finding.cycles; 0: not known */
	int exit_code;       /* of the exploration, or the next one */
	double host_seconds; /* that it took, and is in no JSON; 0: not known */
	uint64_t schedules;
	uint64_t decoded; /* of them, and compared with what was executed */
	struct finding *finding; /* first those that were judged */
	size_t finding_count;
	size_t judged_count; /* of them */
	/* What they are made from: mistakes.h.  None if it was read and is whole. */
	struct finding_group *group;
	size_t group_count;
	struct finding
	    *made; /* of groups: no symptoms, no finding put to another */
	size_t made_count;
	/* Which shards of how many are in it; of 1: it is whole. */
	unsigned shards;
	uint8_t shard[FINDING_SHARDS_MAX / 8];     /* one bit each, from 0 */
	uint8_t shard_cut[FINDING_SHARDS_MAX / 8]; /* not run to the end */
	bool joined; /* by topaz merge: a shard that is not in it is missing */
};

#endif
