/*
 * The guest kernel with the probe driver and the probe program: one run, and what it
 * said on the way.
 */
#ifndef TOPAZ_TESTS_UNIT_GUEST_FIXTURE_H
#define TOPAZ_TESTS_UNIT_GUEST_FIXTURE_H

#include "emu/machine.h"

#define GUEST_EVENTS_MAX 4096
#define GUEST_NOTES_MAX  16
#define GUEST_RAM_BYTES  (UINT64_C(64) << 20)

struct guest_run {
	struct machine_result result;
	/* Of ABI_POINT .. ABI_STACK, interrupts, and allocations of more than a
	 * page. */
	struct event events[GUEST_EVENTS_MAX];
	size_t event_count;
	int64_t notes[GUEST_NOTES_MAX]; /* by their place; else GUEST_NO_NOTE */
	uint8_t *ram; /* as it is at the end; until the next run */
	size_t page_allocs, page_frees; /* of a page in the direct map */
	uint64_t insns[2]; /* retired by CPU 0: at SYS_SCRIPT, at the end */
	bool script_was_zero;
	const char *failing; /* the function whose points fail, or NULL */
	uint64_t order;      /* becomes the script's first two 8 bytes */
};
#define GUEST_NO_NOTE INT64_MIN

/* argv: kernel, module, program. */
void guest_init(char **argv);

/* Runs with the words of CMDLINE; fails the test where it cannot be made. */
void guest_run(struct guest_run *run, unsigned cpus, const char *cmdline);

/*
 * The same on one CPU, without time slices, once for each instruction from the first
 * operation's begin (SYS_CALL_BEGIN) to its end: the local timer interrupts before
 * it where it may.  Demands that all end well; returns how many runs it were.
 */
unsigned guest_preempt_everywhere(struct guest_run *run, const char *cmdline);

/* Events of KIND. */
size_t guest_count(const struct guest_run *run, enum event_kind kind);
/* The first one; NULL: none. */
const struct event *guest_event(
    const struct guest_run *run, enum event_kind kind);

/* Demands an end without a word; a panic whose text begins with PREFIX. */
void guest_assert_clean(const struct guest_run *run);
void guest_assert_panic(const struct guest_run *run, const char *prefix);

/*
 * Runs with the modules LEFT_OUT at boot, which name the probe driver: the program
 * loads, uses and unloads it twice.  Demands that each time it begins afresh.
 */
void guest_assert_fresh_module(struct guest_run *run, const char *left_out);

/* FNV-1a, as the kernel names its functions. */
uint32_t guest_hash(const char *name);

#endif
