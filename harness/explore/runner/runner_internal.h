/*
 * Internals of a runner, for the files runner*.c only.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_RUNNER_INTERNAL_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_RUNNER_INTERNAL_H

#include "harness/explore/runner/build_cache.h"
#include "harness/explore/runner/layout.h"

#define CONSOLE_BYTES         8192
#define RUNNER_RAM_BYTES      (UINT64_C(64) << 20)
#define RUNNER_SETTINGS_BYTES 128

/* The state that a mark saves in addition to the machine and the monitors. */
struct progress {
	uint64_t events, points;
	uint64_t calls;   /* operations that began or ended */
	uint64_t results; /* hash of what the operations returned */
	bool over;
	unsigned reports;
	uint64_t failed; /* operations that returned an error, one bit each */
	/* operation that runs on the CPU, plus 1 */
	uint8_t step[MACHINE_CPUS_MAX];
	/* operation in which a kernel function failed, plus 1 */
	uint8_t faulty;
	/* a kernel function that the driver called was made to fail */
	bool failed_driver;
	/* one that another module called was made to fail */
	bool failed_framework;
	bool deviated;        /* the run differs from the default schedule */
	bool faulty_hardware; /* a deviation of class FAULT occurred */
	bool ran_driver;      /* driver code was executed */
	/* the first call that was made to fail */
	struct check_site failed_site;
	uint8_t configuring; /* operations in progress that may configure */
	/* operation that configured, plus 1; 0: unknown */
	uint8_t configured;
	bool mixed;            /* another operation ran at the same time */
	unsigned started_cpus; /* CPUs whose buffers are mapped, one bit each */
	unsigned console_bytes;
	/* For the values that operations fill in: of each CPU, since the start.  Not
	 * part of runner_hash(): a run with another trace has other registers. */
	enum { SESSION_UNKNOWN, SESSION_STARTED, SESSION_STOPPED } session;
	struct {
		uint64_t written; /* bytes */
		/* IA32_RTIT_STATUS when TraceEn was cleared */
		uint64_t status;
	} traced[MACHINE_CPUS_MAX];
};

/* Cached keys of places; a direct-mapped cache, by address. */
#define PLACE_CACHE 1024
struct place_keys {
	uint64_t va, key;
};

struct runner {
	struct build_cache *build_cache;
	const struct build_set *set;
	struct layout layout;
	struct cpu_set cpu_set;
	char layout_text[TOKEN_WORDS_BYTES];
	/* the manifest's guest boot parameters */
	char settings[RUNNER_SETTINGS_BYTES];
	unsigned cpus;
	struct machine *machine;
	struct boot boot;
	struct symbols *symbols;
	struct check *check;
	struct runner_mark *ready;                /* where the script begins */
	uint64_t insns[MACHINE_CPUS_MAX], cycles; /* where the script begins */
	uint64_t script_pa, script_bytes;         /* 0: not known yet */
	uint64_t driver_begin, driver_end;
	struct check_range driver_data[4];
	uint64_t modules_begin, modules_end; /* code of all modules */
	uint64_t callee[CHECK_CALLEES_MAX];  /* see machine_set_audit() */
	size_t callee_count;
	struct sequence sequence;
	struct progress now;
	bool running; /* the script has begun */
	bool points;
	bool ending; /* .result says where the run ended */
	bool turns;  /* stop where a CPU's turn begins; nothing is judged */
	bool timed;  /* runner_take_timed() */
	bool at_point;
	bool cut; /* runner_is_cut() */
	uint64_t fail_index;
	uint64_t limit;
	struct runner_observer observer;
	struct place_keys place[PLACE_CACHE];
	struct machine_result result;
	char console[CONSOLE_BYTES];
};

struct runner_mark {
	struct machine_snapshot *machine;
	struct progress now;
	char check[]; /* check_size() bytes */
};

/*
 * runner_audit.c: makes the machine report the loads, stores and calls of the driver,
 * whose address ranges are known; fills in CONFIG for the monitors.
 */
void runner_audit(struct runner *runner, struct check_config *config);
/* runner_site.c: the driver's functions on CPU's stack, for check_config. */
struct check_site runner_site(void *arg, unsigned cpu);
struct check_site runner_access_site(void *arg, unsigned cpu, uint64_t rip);

/* runner.c: the callbacks for the machine's events. */
struct machine_observer runner_observer(struct runner *runner);

/*
 * runner_events.c: record EVENT of a running script in RUNNER->now and pass it to the
 * monitors: an operation began or returned, a buffer was mapped, a kernel function was
 * made to fail.
 */
void runner_note_call_begin(struct runner *runner, const struct event *event);
void runner_note_call_end(struct runner *runner, const struct event *event);
void runner_note_buffer(struct runner *runner, const struct event *event);
void runner_note_failure(struct runner *runner, const struct event *event);
/* Records trace output and TraceEn changing from 1 to 0. */
void runner_note_trace(struct runner *runner, const struct event *event);

#endif
