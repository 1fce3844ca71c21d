/*
 * A driver built, loaded and booted up to where its actor program waits for a
 * script; from there any script is run under any schedule, again and again, each
 * time judged by the invariants.  One runner is one machine of one layout.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_RUNNER_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_RUNNER_H

#include "harness/check/check.h"
#include "harness/explore/runner/schedule.h"
#include "harness/load/elf/symbols.h"
#include "harness/manifest/manifest.h"

struct boot;
struct build_cache;

/* What stays the same for all runners of a driver. */
struct build_cache_config {
	const char *driver;
	const char *source, *tree, *cc; /* NULL: the driver's own, none, gcc */
	unsigned cc_seconds; /* that gcc may use; 0: as build.h has it */
	const char *drivers; /* folder with DRIVER/driver.yaml; NULL: topaz's */
	const char *profile; /* of emu/profile/cpu_set.h */
	const char *errata;  /* further keys by comma that show, or NULL */
	const char
	    *objects; /* a folder that build_cache_keep() has filled: nothing
				is compiled; or NULL */
	bool verbose; /* the guest's console to standard error */
};

/* Compiles nothing yet.  Errors as of run_driver (harness/run.h). */
int build_cache_open(const struct build_cache_config *config,
    struct build_cache **build_cache, struct tz_error *err);
void build_cache_close(struct build_cache *build_cache);
const struct manifest *build_cache_manifest(
    const struct build_cache *build_cache);
const struct build_cache_config *build_cache_config(
    const struct build_cache *build_cache);
/* The models of the CPUs and their errata, as tokens and reports have them. */
const char *build_cache_models(const struct build_cache *build_cache);
const char *build_cache_sha256(const struct build_cache *build_cache);
/* What the TSC of its machine counts in a second. */
uint64_t build_cache_tsc_hz(const struct build_cache *build_cache);
/* The path of the driver's first source; NULL: it has none, compiled before. */
const char *build_cache_source(const struct build_cache *build_cache);
/* The path of the driver's file that was compiled as NAME ("./grab.c"), to be freed;
 * NULL: there is none. */
char *build_cache_find_source(
    const struct build_cache *build_cache, const char *name);
/* The check of tokens: over objects, manifest and events.  Compiles. */
int build_cache_check(
    struct build_cache *build_cache, uint16_t *check, struct tz_error *err);

/*
 * Keeps the compiled objects in DIRECTORY/objects, so that what was found there
 * can be replayed where the compiler is another one.  -TZ_EIO.
 */
int build_cache_keep(const struct build_cache *build_cache,
    const char *directory, struct tz_error *err);

/*
 * From now on, or no longer, a request for an end (harness/host/stop.h) cuts a run that
 * is under way.  A process that was forked ends there: what it has found is in memory
 * that it shares.  Of the others runner_is_cut() says so.
 */
void build_cache_cut(struct build_cache *build_cache, bool on);

struct runner;

/*
 * CPUS 1..8; LAYOUT as layout.h says; SETTINGS further words for the guest.
 * -TZ_EFORMAT also where the guest does not get as far as the script; -TZ_EMODEL: as it
 * does something that the model lacks; -TZ_ESTOP: an end was requested.
 */
int runner_open(struct build_cache *build_cache, unsigned cpus,
    const char *layout, const char *settings, struct runner **runner,
    struct tz_error *err);
void runner_close(struct runner *runner);

/* Why runner_go() came back. */
enum runner_end {
	RUNNER_STOP,  /* at the stop */
	RUNNER_POINT, /* at a merge point, if asked for */
	RUNNER_OVER,  /* the run is over: check_end() has been called */
};

/*
 * Goes back to the waiting program and gives it SEQUENCE's script.
 * -TZ_EUSAGE: too much for a script.
 */
int runner_begin(struct runner *runner, const struct sequence *sequence,
    struct tz_error *err);

/*
 * Goes on until CPU has retired INSNS instructions since the run's begin
 * (UINT64_MAX: to the end).
 */
enum runner_end runner_go(struct runner *runner, unsigned cpu, uint64_t insns);

/*
 * Goes on, if it is not there, until CPU has retired INSNS instructions.  False: it
 * is past them, or the run ends before.
 */
bool runner_reach(struct runner *runner, unsigned cpu, uint64_t insns);

/* False: not possible here. */
bool runner_inject(struct runner *runner, const struct deviation *deviation);

/*
 * At most so many instructions of all CPUs in a run.  A run that reaches them, and
 * whose state does not recur (harness/progress.h), is not judged.
 */
#define RUNNER_INSNS_MAX UINT64_C(10000000) /* the default */
void runner_limit(struct runner *runner, uint64_t insns);
/* From the next run on violations name what they come from: check_explain(). */
void runner_explain(struct runner *runner, bool on);

/* Stop at merge points (IRET, end of an operation) from now on. */
void runner_points(struct runner *runner, bool on);

/* A hash of all that decides what comes: machine and monitors. */
uint64_t runner_hash(struct runner *runner);

/* machine_is_timed() at some runner_hash() since this was asked last? */
bool runner_take_timed(struct runner *runner);

/* The state between two calls of runner_go(); NULL: no memory. */
struct runner_mark;
struct runner_mark *runner_save(struct runner *runner);
void runner_restore(struct runner *runner, const struct runner_mark *mark);
void runner_mark_free(struct runner *runner, struct runner_mark *mark);

/* Has the run executed an instruction of the driver?  Known where it is stepped. */
bool runner_ran_driver(const struct runner *runner);

/* What observers of a run hear; members may be NULL. */
struct runner_observer {
	void *arg;
	void (*event)(void *arg, const struct event *event);      /* relative */
	void (*step)(void *arg, const struct machine_step *step); /* relative */
};
/* STEPPING as machine_set_stepping().  NULL: nobody listens. */
void runner_observe(struct runner *runner,
    const struct runner_observer *observer, enum machine_stepping stepping);
/* STEPPING_WATCHED means the code of all modules, or the driver's alone (at first). */
void runner_watch_modules(struct runner *runner, bool all);
/* Is VA in a module's own code? */
bool runner_in_module(const struct runner *runner, uint64_t va);
/* Kernel functions that can fail are counted; the one numbered INDEX (from 0,
 * since the run's begin) fails.  UINT64_MAX: none. */
void runner_fail_point(struct runner *runner, uint64_t index);

/* After RUNNER_OVER: was it cut?  Then it shows nothing. */
bool runner_is_cut(const struct runner *runner);

/* After RUNNER_OVER. */
const struct machine_result *runner_result(const struct runner *runner);
const struct check *runner_check(const struct runner *runner);
struct runner_counts {
	uint64_t insns[MACHINE_CPUS_MAX], insns_all;
	uint64_t events, points;
};
void runner_counts(const struct runner *runner, struct runner_counts *counts);

/* A hash of what the operations returned; how often the driver told of a loss or an
 * error: LOST, or an operation that failed; which ones failed, one bit each; and in
 * which a kernel function was made to fail, plus 1. */
void runner_report(const struct runner *runner, uint64_t *results,
    unsigned *reports, uint64_t *failed, unsigned *faulty);

/* Was a call made to fail? */
bool runner_function_failed(const struct runner *runner);
/* And only such as another module than the driver does? */
bool runner_framework_failed(const struct runner *runner);
/* The driver's call that was made to fail first; 0: none was. */
struct check_site runner_failed_site(const struct runner *runner);
/* The name of the sequence's operation STEP; "": there is none. */
const char *runner_step_name(const struct runner *runner, unsigned step);

/* An absolute count of CPU's instructions, since the run's begin. */
uint64_t runner_relative(
    const struct runner *runner, unsigned cpu, uint64_t insns);
/* The same of virtual time; 0: before it. */
uint64_t runner_relative_cycles(const struct runner *runner, uint64_t cycles);

/* What was loaded at boot. */
const struct boot *runner_boot(const struct runner *runner);
struct machine *runner_machine(struct runner *runner);
unsigned runner_cpus(const struct runner *runner);
const struct cpu_set *runner_cpu_set(const struct runner *runner);
struct symbols *runner_symbols(struct runner *runner);
const struct build_cache *runner_workshop(const struct runner *runner);
const char *runner_layout(const struct runner *runner);
/*
 * A line of the driver's sources: that of RIP, or, where a header's function was
 * inlined there, of its call.  .name is the function without the compiler's suffixes
 * (".part.0"), in .offset_bytes nothing.  False: RIP is not in the driver, or has no
 * line; *place is then what symbols_find() gives.
 */
bool runner_place(
    struct runner *runner, uint64_t rip, struct symbol_place *place);
/*
 * A number for the line that VA is of, in any build of the same source, or for the
 * variable that VA is in; 0 for 0.
 */
uint64_t runner_place_key(struct runner *runner, uint64_t va);
/* A number for the function that RIP is in; 0 for 0. */
uint64_t runner_function_key(struct runner *runner, uint64_t rip);

/* Is VA in the driver's own code? */
bool runner_in_driver(const struct runner *runner, uint64_t va);
/* Is VA in the driver's variables? */
bool runner_is_driver_data(const struct runner *runner, uint64_t va);
uint64_t runner_driver_base(const struct runner *runner);
const char *runner_console(const struct runner *runner);

#endif
