/*
 * The state of a runner, for the files runner*.c only.  README.md has a table: which
 * file changes which group of members.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_RUNNER_INTERNAL_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_RUNNER_INTERNAL_H

#include "harness/explore/build/build_cache_state.h"
#include "harness/explore/runner/layout.h"
#include "harness/explore/runner/runner.h"

#define CONSOLE_BYTES         8192
#define RUNNER_SETTINGS_BYTES 128

/* Cached keys of places; a direct-mapped cache, by address. */
#define PLACE_CACHE 1024
struct place_key {
	uint64_t va, key;
};

/* runner_code.c: where code and data are in the guest.  Constant after runner_open(). */
struct runner_code {
	struct symbols *symbols;
	struct check_range driver;
	struct check_range driver_data[4];
	struct check_range modules; /* code of all modules */
	struct place_key key[PLACE_CACHE];
};

/* runner_open.c: the state in which each run begins.  Constant after runner_open(). */
struct runner_start {
	struct runner_mark *mark;
	uint64_t insns[MACHINE_CPUS_MAX], cycles;
};

/* runner_operations.c: the operations of a run, as far as they began or ended. */
struct runner_operations {
	struct runner_report report;
	uint64_t calls; /* operations that began or ended */
	/* operation that runs on the CPU, plus 1 */
	uint8_t step[MACHINE_CPUS_MAX];
	uint8_t configuring; /* operations in progress that may configure */
	/* operation that configured, plus 1; 0: unknown */
	uint8_t configured;
	bool mixed;            /* another operation ran at the same time */
	bool late;             /* a start was in progress at the same time */
	uint8_t starting;      /* operations in progress that start a session */
	uint8_t stopping;      /* ... and that stop one */
	bool contested;        /* a stop ran at the same time as a start */
	unsigned started_cpus; /* CPUs whose buffers are mapped, one bit each */
	/* The context that each of them belongs to; 0: unknown. */
	unsigned buffer_context[MACHINE_CPUS_MAX];
	/* For the values that operations fill in: of each CPU, since the start.  Not
	 * part of runner_hash(): a run with another trace has other registers. */
	enum { SESSION_UNKNOWN, SESSION_STARTED, SESSION_STOPPED } session;
	struct {
		uint64_t written; /* bytes */
		/* IA32_RTIT_STATUS when TraceEn was cleared */
		uint64_t status;
	} traced[MACHINE_CPUS_MAX];
};

/* runner.c: how far a run is, and how. */
struct runner_progress {
	uint64_t events, points;
	enum {
		DEVIATED_NOT, /* the default schedule */
		DEVIATED_SCHEDULE,
		DEVIATED_FAULT, /* a deviation of class FAULT occurred */
	} deviated;
	bool over;
	bool ran_driver; /* driver code was executed */
	unsigned console_bytes;
};

/* runner.c: what the machine is run for, and why it stopped. */
struct runner_control {
	enum runner_phase {
		RUNNER_BOOTS, /* up to the script */
		RUNNER_RUNS,
		RUNNER_PROBES, /* stops at each turn of a CPU; nothing is judged */
		RUNNER_ENDS, /* .result says where the run ended */
	} phase;
	enum runner_pause {
		RUNNER_NOT_PAUSED,
		RUNNER_AT_POINT, /* a merge point */
		RUNNER_CUT,      /* runner_is_cut() */
	} pause;
	struct machine_result result;
	/* where the guest reads its script; 0: not known yet */
	uint64_t script_pa, script_bytes;
};

/* What the callers of a runner have set; kept from run to run. */
struct runner_settings {
	uint64_t insns_max; /* runner_limit() */
	bool points;        /* runner_points() */
	struct runner_observer observer;
};

struct runner {
	struct build_cache *build_cache;
	unsigned cpus;
	struct cpu_set cpu_set;
	/* the manifest's guest boot parameters */
	char boot_settings[RUNNER_SETTINGS_BYTES];
	struct machine *machine;
	struct boot boot;
	struct check *check;
	uint64_t callee[CHECK_CALLEES_MAX]; /* see machine_set_audit() */
	struct runner_code code;
	struct runner_start start;
	struct runner_settings settings;
	struct sequence sequence;
	struct runner_progress now;
	struct runner_operations operations;
	struct runner_control control;
	bool timed; /* runner_take_timed() */
	char console[CONSOLE_BYTES];
};

/*
 * runner_code.c: finds symbols, code and data of what was loaded; fills in the ranges of
 * CONFIG.  False: no memory.
 */
bool runner_code_find(struct runner *runner, struct check_config *config);
/* The driver's functions on CPU's stack, for check_config. */
struct check_site runner_code_site(void *arg, unsigned cpu);
struct check_site runner_code_access_site(
    void *arg, unsigned cpu, uint64_t rip);

/* runner_operations.c: records EVENT of a run, and passes it to the monitors. */
void runner_operations_note(struct runner *runner, const struct event *event);

/* runner.c: the callbacks for the machine's events. */
struct machine_observer runner_observer(struct runner *runner);

#endif
