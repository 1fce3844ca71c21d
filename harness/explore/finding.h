/*
 * What an exploration found, ready to be reported: no machine is needed to print
 * it.  All strings are the finding's own or static.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_FINDING_H
#define TOPAZ_HARNESS_EXPLORE_FINDING_H

#include "emu/event.h"
#include "emu/profile/mix.h"
#include "harness/check/check.h"

#define FINDING_TOKEN_BYTES   1024
#define FINDING_TEXT_BYTES    256
#define FINDING_NAME_BYTES    96
#define FINDING_COMMAND_BYTES 8192

enum finding_class {
	FINDING_BASE,     /* the base order is enough: no deviation */
	FINDING_SCHEDULE, /* needs a schedule that hardware may take */
	FINDING_FAULT,    /* needs a fault */
};

/* A place in the driver's sources. */
struct finding_place {
	char function[FINDING_NAME_BYTES]; /* "pt_topa_intr"; "" unknown */
	uint32_t offset_bytes;             /* in the function */
	char file[FINDING_NAME_BYTES * 2]; /* as compiled; "" unknown */
	int line;
};

struct finding {
	enum check_id check;
	uint64_t cause;   /* a hash of check, function and kind of message */
	uint64_t rank[3]; /* of its schedule among all: the least is shown */
	enum finding_class class;
	char driver[FINDING_NAME_BYTES], scenario[FINDING_NAME_BYTES];
	char profile[PROFILE_MIX_TEXT_BYTES];
	char sha256[65];                   /* of the driver's source */
	char token[FINDING_TOKEN_BYTES];   /* replays it; minimised */
	char passing[FINDING_TOKEN_BYTES]; /* nearest schedule that passes; "" */
	char message[FINDING_TEXT_BYTES];
	char kinds[FINDING_NAME_BYTES];  /* "pmi+cpu"; "" */
	char steps[FINDING_TOKEN_BYTES]; /* the sequence of operations */
	unsigned cpu;
	uint64_t insns;      /* of the violation, since the run's begin */
	uint64_t event;      /* number of the event that violated */
	uint64_t state_hash; /* of the machine at its end */
	struct finding_place place;
	/* Boundaries at which the last deviation makes it fail. */
	uint32_t window_failing, window_count;
	struct finding_place window_first, window_last;
};

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
struct finding_story {
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

void finding_story_free(struct finding_story *story);

/* How a whole exploration went, for the last lines and the index page. */
struct finding_summary {
	char driver[FINDING_NAME_BYTES], profile[PROFILE_MIX_TEXT_BYTES];
	char sha256[65];
	char command[FINDING_COMMAND_BYTES]; /* that repeats it */
	/* Of the driver's sources, below the folder it was explored in; "". */
	char folder[FINDING_TEXT_BYTES];
	struct finding_coverage {
		char what[FINDING_NAME_BYTES]; /* "depth 1, stop-vs-pmi" */
		uint64_t done, total, merged, failing;
		char how[FINDING_NAME_BYTES]; /* "exhaustive", "sampled ..." */
		bool cut; /* not done to its end, or not begun */
	} coverage[64];
	size_t coverage_count;
	uint64_t schedules;
	uint64_t decoded; /* of them, and compared with what was executed */
	struct finding *finding;
	size_t finding_count;
};

#endif
