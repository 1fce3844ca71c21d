/*
 * A booted kernel at the place where the driver of Intel PT first begins to fill
 * an AUX buffer (perf_aux_output_begin()): run from there under any schedule,
 * saved, restored and judged.  The counterpart of ../runner/runner.h for a guest
 * that is not topaz's own kernel.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_RUN_H
#define TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_RUN_H

#include "harness/boot/linux_guest.h"
#include "harness/explore/linux/linux_code.h"
#include "harness/explore/runner/outcome.h"
#include "harness/explore/runner/schedule.h"

struct linux_run;

/*
 * A change of the kernel's code, to see whether a mistake is found: the bytes OLD, which
 * must be at one place in the function, become WITH.  A byte whose bit in .any is set may
 * be any one, and stays.
 */
#define LINUX_PATCH_BYTES 24
struct linux_patch {
	char function[64];
	uint32_t count; /* bytes */
	uint32_t any;   /* one bit for each byte */
	uint8_t old[LINUX_PATCH_BYTES], with[LINUX_PATCH_BYTES];
};

struct linux_run_options {
	/* .script is not set by the caller */
	struct linux_guest_options guest;
	const char *scenario; /* a script of the host; NULL: the default one */
	uint64_t
	    insns_max; /* of a run, on all CPUs; 0: three times the default's */
};

/*
 * Boots, runs the script to its mark and takes the state there, then runs the default
 * schedule.  -TZ_EUSAGE, -TZ_ENOENT, -TZ_EFORMAT: bad input; the script begins no
 * trace or does not end; -TZ_EIO; -TZ_ESTOP: an end was requested.
 */
int linux_run_open(const struct linux_run_options *options,
    struct linux_run **run, struct tz_error *err);
void linux_run_close(struct linux_run *run);

/*
 * Goes back to the unchanged kernel at its mark, makes the COUNT changes of PATCH there,
 * and runs the default schedule.  -TZ_EUSAGE: the kernel has no such code, or more than
 * one; else as of linux_run_open().
 */
int linux_run_patch(struct linux_run *run, const struct linux_patch *patch,
    unsigned count, struct tz_error *err);

/* The default schedule: its outcome, and its instructions on all CPUs. */
const struct outcome *linux_run_base(const struct linux_run *run);
uint64_t linux_run_insns(const struct linux_run *run);

/* The checksum of a token: of the machine's state at the mark. */
uint16_t linux_run_check(const struct linux_run *run);

const struct linux_code *linux_run_code(const struct linux_run *run);
struct machine *linux_run_machine(struct linux_run *run);
unsigned linux_run_cpus(const struct linux_run *run);

/* Restores the state at the mark. */
void linux_run_begin(struct linux_run *run);

/* Why linux_run_go() returned. */
enum linux_run_end {
	LINUX_RUN_STOP, /* at INSNS */
	LINUX_RUN_OVER, /* the run ended */
	LINUX_RUN_CUT,  /* an end was requested; nothing is judged */
};

/*
 * Runs until CPU has retired INSNS instructions since the mark (UINT64_MAX: to the end);
 * at once if it has.
 */
enum linux_run_end linux_run_go(
    struct linux_run *run, unsigned cpu, uint64_t insns);

/* False: not possible here. */
bool linux_run_inject(struct linux_run *run, const struct deviation *deviation);

/*
 * Runs SCHEDULE from the present state, which is before its first deviation, to the end,
 * and judges it.  False: an end was requested.
 */
bool linux_run_judge(struct linux_run *run, const struct schedule *schedule,
    struct outcome *outcome);

struct linux_run_mark;
/* NULL: no memory. */
struct linux_run_mark *linux_run_save(struct linux_run *run);
void linux_run_restore(
    struct linux_run *run, const struct linux_run_mark *mark);
void linux_run_mark_free(struct linux_run *run, struct linux_run_mark *mark);

/* Observes the instructions of PART and of all handlers; STEP NULL: none. */
typedef void (*linux_run_step)(void *arg, const struct machine_step *step);
void linux_run_observe(struct linux_run *run, enum linux_part part,
    linux_run_step step, void *arg);

/* The console since the mark. */
const char *linux_run_console(const struct linux_run *run, size_t *count);

/* A hash of the machine's state. */
uint64_t linux_run_hash(struct linux_run *run);

#endif
