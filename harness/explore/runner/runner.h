/*
 * A driver that is built, loaded and booted up to the point where its actor program
 * waits for a script.  From there any script can be run repeatedly under any schedule;
 * the invariants judge each run.  One runner is one machine of one layout.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_RUNNER_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_RUNNER_H

#include "harness/check/check.h"
#include "harness/explore/build/build_cache.h"
#include "harness/explore/runner/schedule.h"
#include "harness/load/elf/symbols.h"
#include "harness/manifest/manifest.h"

struct boot;
struct runner;

#define RUNNER_RAM_BYTES (UINT64_C(64) << 20) /* of the guest */

/*
 * CPUS 1..8; LAYOUT as in layout.h; SETTINGS are further guest boot parameters.
 * -TZ_EFORMAT also if the guest does not reach the script; -TZ_EMODEL: the guest used
 * something that is not modelled; -TZ_ESTOP: an end was requested.
 */
int runner_open(struct build_cache *build_cache, unsigned cpus,
    const char *layout, const char *settings, struct runner **runner,
    struct tz_error *err);
void runner_close(struct runner *runner);

/* Why runner_go() returned. */
enum runner_end {
	RUNNER_STOP,  /* at INSNS */
	RUNNER_POINT, /* at a merge point; see runner_points() */
	RUNNER_OVER,  /* the run ended: check_end() has been called */
};

/*
 * Restores the state in which the actor program waits, and gives it SEQUENCE's script.
 * -TZ_EUSAGE: too long for a script.
 */
int runner_begin(struct runner *runner, const struct sequence *sequence,
    struct tz_error *err);

/*
 * Runs until CPU has retired INSNS instructions since the run's start (UINT64_MAX: to
 * the end).
 */
enum runner_end runner_go(struct runner *runner, unsigned cpu, uint64_t insns);

/*
 * Runs until CPU has retired INSNS instructions, if it has not yet.  False: CPU has
 * retired more, or the run ends before.
 */
bool runner_reach(struct runner *runner, unsigned cpu, uint64_t insns);

/* False: not possible at this boundary. */
bool runner_inject(struct runner *runner, const struct deviation *deviation);

/*
 * Limits a run to INSNS instructions, all CPUs together.  A run that reaches the limit
 * is not judged, unless its state recurs (harness/progress.h).
 */
#define RUNNER_INSNS_MAX UINT64_C(10000000) /* the default */
void runner_limit(struct runner *runner, uint64_t insns);
/* From the next run on, violations have a .blame: check_explain(). */
void runner_explain(struct runner *runner, bool on);

/* If ON, runner_go() also returns at merge points (IRET, end of an operation). */
void runner_points(struct runner *runner, bool on);

/* A hash of all state that determines the rest of the run: machine and monitors. */
uint64_t runner_hash(struct runner *runner);

/* True if machine_is_timed() was true at any runner_hash() since the last call. */
bool runner_take_timed(struct runner *runner);

/* A saved state of a run, taken between two calls of runner_go(); NULL: no memory. */
struct runner_mark;
struct runner_mark *runner_save(struct runner *runner);
void runner_restore(struct runner *runner, const struct runner_mark *mark);
void runner_mark_free(struct runner *runner, struct runner_mark *mark);

/* True if the run has executed an instruction of the driver.  Valid only if stepped. */
bool runner_ran_driver(const struct runner *runner);

/* Callbacks of an observer of a run; members may be NULL. */
struct runner_observer {
	void *arg;
	/* counts relative to the run's start */
	void (*event)(void *arg, const struct event *event);
	/* counts relative to the run's start */
	void (*step)(void *arg, const struct machine_step *step);
};
/* STEPPING as in machine_set_stepping().  NULL: removes the observer. */
void runner_observe(struct runner *runner,
    const struct runner_observer *observer, enum machine_stepping stepping);
/*
 * Selects what STEPPING_WATCHED steps: the code of all modules, or, the default,
 * only the driver's.
 */
void runner_watch_modules(struct runner *runner, bool all);
/* True if VA is in the code of a module. */
bool runner_in_module(const struct runner *runner, uint64_t va);
/*
 * After RUNNER_OVER: true if the run was interrupted.  Its outcome is then
 * meaningless.
 */
bool runner_is_cut(const struct runner *runner);

/* After RUNNER_OVER. */
const struct machine_result *runner_result(const struct runner *runner);
const struct check *runner_check(const struct runner *runner);
struct runner_counts {
	uint64_t insns[MACHINE_CPUS_MAX], insns_all;
	uint64_t events, points;
};
void runner_counts(const struct runner *runner, struct runner_counts *counts);

/* What the operations of the run have returned. */
struct runner_report {
	uint64_t results; /* hash of what they returned */
	/* how often the driver reported a loss or an error: LOST, or an operation
	 * that failed */
	unsigned reports;
	uint64_t failed; /* operations that failed, one bit each */
	/* Kernel functions that were made to fail. */
	struct {
		unsigned step;          /* operation of the first one, plus 1 */
		bool driver, framework; /* which module had called one */
		struct check_site site; /* the driver's first call; 0: none */
	} fault;
};
const struct runner_report *runner_report(const struct runner *runner);

/* The name of operation STEP of the sequence; "": no such step. */
const char *runner_step_name(const struct runner *runner, unsigned step);

/* Converts an absolute count of CPU's instructions to one since the run's start. */
uint64_t runner_relative(
    const struct runner *runner, unsigned cpu, uint64_t insns);
/* The same for virtual time; 0: before the run's start. */
uint64_t runner_relative_cycles(const struct runner *runner, uint64_t cycles);

/* What was loaded at boot. */
const struct boot *runner_boot(const struct runner *runner);
struct machine *runner_machine(struct runner *runner);
unsigned runner_cpus(const struct runner *runner);
const struct cpu_set *runner_cpu_set(const struct runner *runner);
struct symbols *runner_symbols(struct runner *runner);
/*
 * The source line in the driver of RIP or, if a header's function was inlined there, of
 * its call.  .name is the function without compiler suffixes (".part.0"), .offset_bytes
 * is 0.  False: RIP is not in the driver, or has no line; *place is then the result of
 * symbols_find().
 */
bool runner_place(
    struct runner *runner, uint64_t rip, struct symbol_place *place);
/*
 * A number that identifies the line at VA, or the variable that contains VA, in any
 * build of the same source; 0 for 0.
 */
uint64_t runner_place_key(struct runner *runner, uint64_t va);
/* A number that identifies the function that contains RIP; 0 for 0. */
uint64_t runner_function_key(struct runner *runner, uint64_t rip);

/* True if VA is in the driver's code. */
bool runner_in_driver(const struct runner *runner, uint64_t va);
/* True if VA is in the driver's variables. */
bool runner_is_driver_data(const struct runner *runner, uint64_t va);
uint64_t runner_driver_base(const struct runner *runner);
const char *runner_console(const struct runner *runner);

#endif
