/*
 * The inside of a runner, shared by the files runner*.c and by nobody else.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_RUNNER_INTERNAL_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_RUNNER_INTERNAL_H

#include "harness/explore/runner/build_cache.h"
#include "harness/explore/runner/layout.h"

#define CONSOLE_BYTES         8192
#define RUNNER_RAM_BYTES      (UINT64_C(64) << 20)
#define RUNNER_SETTINGS_BYTES 128

/* What a mark keeps beside the machine and the monitors. */
struct progress {
	uint64_t events, points;
	uint64_t calls;   /* operations that began or ended */
	uint64_t results; /* hash of what the operations returned */
	bool over;
	unsigned reports;
	uint64_t failed; /* operations that returned an error, one bit each */
	uint8_t step[MACHINE_CPUS_MAX]; /* the CPU is in, plus 1 */
	uint8_t faulty;        /* in which a kernel function failed, plus 1 */
	bool failed_driver;    /* a call of the driver's was made to fail */
	bool failed_framework; /* one of somebody else's was */
	bool deviated;         /* from the default schedule */
	bool faulty_hardware;  /* by a deviation of class FAULT */
	bool ran_driver;       /* a step was in the driver's code */
	struct check_site failed_site; /* the call that was made to fail first */
	uint8_t configuring;   /* operations that run and may configure */
	uint8_t configured;    /* by which step, plus 1; 0: not known */
	bool mixed;            /* another one ran at the same time */
	unsigned started_cpus; /* whose buffers are mapped, one bit each */
	unsigned console_bytes;
	/* For what operations fill in: of each CPU, from the start on.  No part of
	 * runner_hash(): a run that has traced otherwise has other registers. */
	enum { SESSION_UNKNOWN, SESSION_STARTED, SESSION_STOPPED } session;
	struct {
		uint64_t written; /* bytes */
		uint64_t status;  /* IA32_RTIT_STATUS when TraceEn fell */
	} traced[MACHINE_CPUS_MAX];
};

/* Keys of places that have been asked for; a direct-mapped cache by address. */
#define PLACE_CACHE 1024
struct place_keys {
	uint64_t va, key;
};

struct runner {
	struct build_cache *build_cache;
	const struct build_set *set;
	struct layout layout;
	struct cpu_set cpu_set; /* the CPUs */
	char layout_text[TOKEN_WORDS_BYTES];
	char settings[RUNNER_SETTINGS_BYTES]; /* words of the manifest */
	unsigned cpus;
	struct machine *machine;
	struct boot boot;
	struct symbols *symbols;
	struct check *check;
	struct runner_mark *ready;                /* at the script */
	uint64_t insns[MACHINE_CPUS_MAX], cycles; /* at the script */
	uint64_t script_pa, script_bytes;         /* 0: not there yet */
	uint64_t driver_begin, driver_end;
	struct check_range driver_data[4];
	uint64_t modules_begin, modules_end; /* nothing else runs in there */
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
 * runner_audit.c: makes the machine report what the driver, whose ranges are known,
 * loads, stores and calls; fills in what the monitors need for it.
 */
void runner_audit(struct runner *runner, struct check_config *config);
/* runner_site.c: the driver's functions on CPU's stack, for check_config. */
struct check_site runner_site(void *arg, unsigned cpu);
struct check_site runner_access_site(void *arg, unsigned cpu, uint64_t rip);

/* runner.c: what the machine tells. */
struct machine_observer runner_observer(struct runner *runner);

/*
 * runner_events.c: keeps in NOW, and tells the monitors, what EVENT of a running script
 * says: an operation begins or has returned, a buffer is mapped, a function that can
 * fail was made to.
 */
void runner_note_call_begin(struct runner *runner, const struct event *event);
void runner_note_call_end(struct runner *runner, const struct event *event);
void runner_note_buffer(struct runner *runner, const struct event *event);
void runner_note_failure(struct runner *runner, const struct event *event);
/* The same of trace output and of TraceEn 1 to 0. */
void runner_note_trace(struct runner *runner, const struct event *event);

#endif
