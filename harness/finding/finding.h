/*
 * The results of an exploration, ready to be reported: no machine is needed to print
 * them.  All strings are the finding's own or static.
 *
 * A finding is one mistake of the driver: a place and its symptoms.  Runs that could
 * not be judged are kept as findings, too, one for each reason and place, with .judged
 * false; every report distinguishes them.
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
	/* fails in the default schedule, without deviations */
	FINDING_BASE,
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

/* Another violation that the same mistake causes, and a token that shows it. */
struct finding_symptom {
	enum check_id check;
	char kinds[FINDING_NAME_BYTES]; /* of deviations; "" for none */
	char where[FINDING_NAME_BYTES]; /* "pt_init_ctx pt.c:390"; "" */
	char message[FINDING_TEXT_BYTES];
	char token[FINDING_TOKEN_BYTES];
	uint64_t rank[3]; /* as of a finding */
};

/*
 * Violations that are treated as one while exploring (../explore/trial/stats.h), with
 * details of the lowest-ranked run.
 */
struct finding_group {
	uint64_t cause, own; /* as in struct stats_group, also the next two */
	uint32_t kinds;
	enum check_id check;
	bool fault;       /* its run has a fault */
	uint64_t event;   /* number of the violating event */
	uint64_t mistake; /* same as a finding's .cause */
	bool apart;       /* fails with and without deviations: two mistakes */
	struct finding_symptom symptom;
	int made; /* index of the finding that was made from it, or -1 */
};

struct finding {
	enum check_id check;
	bool judged;    /* false: the run could not be judged */
	uint64_t cause; /* ../explore/describe/identity.h */
	/* as in struct outcome_violation; used for its window */
	uint64_t own;
	/* Identifies the same mistake in later versions of the driver: 16
	 * hexadecimal digits, unique among the findings. */
	char fingerprint[FINDING_PRINT_BYTES];
	/* of its schedule among all; the lowest one is shown */
	uint64_t rank[3];
	enum finding_class class;
	char driver[FINDING_NAME_BYTES], scenario[FINDING_NAME_BYTES];
	char profile[CPU_SET_TEXT_BYTES];
	char sha256[65];                 /* of the driver's source */
	char token[FINDING_TOKEN_BYTES]; /* replays the run; minimised */
	/* nearest schedule that passes; "" if unknown */
	char passing[FINDING_TOKEN_BYTES];
	char message[FINDING_TEXT_BYTES];
	char kinds[FINDING_NAME_BYTES];  /* "pmi+cpu"; "" for none */
	char steps[FINDING_TOKEN_BYTES]; /* the sequence of operations */
	unsigned cpu;
	/* instruction count of the violation, from the run's start */
	uint64_t insns;
	uint64_t cycles;            /* the same in virtual time: TSC ticks */
	uint64_t event;             /* number of the violating event */
	uint64_t state_hash;        /* of the machine at the run's end */
	struct finding_place place; /* where the driver goes wrong */
	/* the driver function that the kernel called */
	char entry[FINDING_NAME_BYTES];
	/* the line in .entry; "" if unknown */
	char through[FINDING_NAME_BYTES];
	/* "made in pt_init pt.c:390"; "" if none */
	char object[FINDING_NAME_BYTES * 2];
	struct finding_symptom symptom[FINDING_SYMPTOMS_MAX];
	unsigned symptom_count; /* in order of rank */
	bool symptom_more;      /* more symptoms exist, of higher rank */
	int made;               /* index of the group that it was made from */
	/* Number of boundaries in the window, and of those at which the last
	 * deviation fails. */
	uint32_t window_failing, window_count;
	struct finding_place window_first, window_last;
};

/* -1, 0 or 1; a lower rank is simpler. */
int finding_rank_compare(const uint64_t a[3], const uint64_t b[3]);

/* The order of a summary: judged findings first, then by rank. */
int finding_compare(const struct finding *a, const struct finding *b);

/* Formats PLACE as "pt_init_ctx pt.c:390", without the parts that are unknown. */
void finding_format_place(
    const struct finding_place *place, char text[FINDING_NAME_BYTES]);

/*
 * Adds SYMPTOM to the list.  Of two entries with the same row and place, where the
 * deviation kinds of one include those of the other, only the one with fewer kinds is
 * kept; if the kinds are equal, the one of lower rank.
 */
void finding_add_symptom(
    struct finding *finding, const struct finding_symptom *symptom);
/* Adds all symptoms of OTHER, which is the same mistake and of higher rank. */
void finding_absorb(struct finding *finding, const struct finding *other);

/*
 * True if ONE and OTHER are the same mistake: they have the same cause.  Exception:
 * where the kernel crashes, a failure without deviations (an order of operations that
 * the driver does not expect) and one that needs deviations (a race) are two mistakes,
 * unless the race runs all operations of the other, too.
 *
 * Also the same: violations by the same operations with the same kinds of deviations
 * that are two crashes in two set-ups, the same row twice, or two rows of which one is
 * a symptom of the other; and an assertion and the failure of its function when the
 * assertion is compiled out.
 */
bool finding_is_same(const struct finding *one, const struct finding *other);

/* One instruction boundary of the run, for the drawing of the window. */
enum tick_outcome { TICK_PASS, TICK_FAIL, TICK_MERGED, TICK_NONE };
struct finding_tick {
	uint16_t cpu;
	uint8_t outcome;
	uint64_t insns, rip;
	char token[FINDING_TOKEN_BYTES / 4];
};

/* A period in which CPU was in one function. */
struct finding_span {
	uint16_t cpu;
	uint8_t depth; /* call depth; 0 is the outermost function */
	bool in_nmi, in_interrupt, driver;
	uint64_t begin_cycles, end_cycles;
	struct finding_place place;
};

/* The complete run of a finding, for its page. */
struct finding_timeline {
	unsigned cpu_count;
	/* all events since the run's start; .insns and .cycles relative to it */
	struct event *event;
	size_t event_count;
	struct finding_place *event_place; /* place of each event, or NULL */
	struct finding_span *span;
	size_t span_count;
	struct finding_tick *tick; /* ordered by time */
	size_t tick_count;
	/* events of the nearest passing schedule */
	struct event *passing_event;
	size_t passing_event_count;
	char *console;         /* or NULL */
	uint64_t buffer_bytes; /* size of one trace buffer */
};

void finding_timeline_free(struct finding_timeline *timeline);

#define FINDING_SHARDS_MAX   4096
#define FINDING_EXIT_UNKNOWN (-1)
#define FINDING_UNJUDGED_MAX (REASON_COUNT * CHECK_COUNT)

/*
 * The results and statistics of a whole exploration, for the last lines of output
 * and the index page.
 */
struct finding_summary {
	char driver[FINDING_NAME_BYTES], profile[CPU_SET_TEXT_BYTES];
	char sha256[65];
	char command[FINDING_COMMAND_BYTES]; /* the command that repeats it */
	/*
	 * Options that a replay needs in addition to the token, as the user gave them:
	 * the folder of the driver's manifest, and the folder of findings from which
	 * objects are loaded if the sources or the compiler are not the driver's own.
	 * "": not given.
	 */
	char drivers[FINDING_PATH_BYTES], from[FINDING_PATH_BYTES];
	/* Folder of the driver's sources, relative to where topaz was started; "". */
	char folder[FINDING_TEXT_BYTES];
	struct finding_coverage {
		char what[FINDING_NAME_BYTES]; /* "depth 1, stop-vs-pmi" */
		uint64_t done, total, merged, failing, unjudged;
		char how[FINDING_NAME_BYTES]; /* "exhaustive", "sampled ..." */
		bool cut;                     /* not completed, or not begun */
		/* The default schedule, which the counts exclude. */
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
	int exit_code;       /* exit code of the exploration, or of the merge */
	double host_seconds; /* wall time; in no JSON; 0: not known */
	uint64_t schedules;
	/* schedules whose trace was decoded and compared with the execution log */
	uint64_t decoded;
	struct finding *finding; /* judged findings first */
	size_t finding_count;
	size_t judged_count; /* number of them that were judged */
	/* The groups that findings are made from: mistakes.h.  NULL if the summary
	 * was read from a file and is complete. */
	struct finding_group *group;
	size_t group_count;
	/* One finding for each group, before groups of one mistake are joined;
	 * without symptoms. */
	struct finding *made;
	size_t made_count;
	/* The number of shards of the exploration, and which of them the summary
	 * includes; 1: complete. */
	unsigned shards;
	/* one bit for each shard, from 0 */
	uint8_t shard[FINDING_SHARDS_MAX / 8];
	/* shards not run to the end */
	uint8_t shard_cut[FINDING_SHARDS_MAX / 8];
	/* by topaz merge: shards that are not included are missing */
	bool joined;
};

#endif
