/*
 * What a run showed, in a form that is compared and grouped: violations by cause.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_OUTCOME_H
#define TOPAZ_HARNESS_EXPLORE_OUTCOME_H

#include "harness/explore/runner.h"

#define OUTCOME_MAX CHECK_VIOLATION_MAX

enum outcome_how {
	OUTCOME_WHOLE,      /* to its end */
	OUTCOME_MERGED,     /* from an equal state on as the run before */
	OUTCOME_IMPOSSIBLE, /* a deviation is not possible there */
	OUTCOME_UNREACHED,  /* the run ended before a deviation */
	OUTCOME_UNMODELLED, /* ended by what the model lacks: no verdict */
};

struct outcome {
	enum outcome_how how;
	enum machine_end end; /* excused or not */
	unsigned count;
	struct outcome_violation {
		uint64_t cause; /* of check, place and kind of message */
		struct check_violation violation;
	} violation[OUTCOME_MAX];
	bool framework;   /* a module that is not the driver came to grief by
			     the failure of a call of its own: not judged */
	uint64_t failed;  /* operations that returned an error, one bit each */
	unsigned faulty;  /* in which a kernel function failed, plus 1 */
	uint64_t results; /* hash of what the operations returned */
	unsigned reports; /* how often it told of a loss or an error */
};

/* The verdict on the run that has just ended. */
void outcome_read(struct runner *runner, struct outcome *outcome);

/*
 * The cause of a violation: a hash of the check, the function and the message
 * without its numbers.
 */
uint64_t outcome_cause(
    struct runner *runner, const struct check_violation *violation);

/*
 * The innermost place in the driver on the stack of the CPU that ended the run; 0:
 * there is none.
 */
uint64_t outcome_driver_rip(struct runner *runner);

/*
 * Where the driver was at VIOLATION: its place, or of what came to grief the place of
 * the call; else the kernel's.  0: only the end of an operation shows it.
 */
uint64_t outcome_rip(
    struct runner *runner, const struct check_violation *violation);

/* Does a violation of ID mean that kernel or driver came to grief? */
bool outcome_is_crash(enum check_id id);
/* ... or that bytes went astray: where the CPU stood then means nothing. */
bool outcome_is_ledger(enum check_id id);

/*
 * Takes away a panic that is the framework's own; see struct outcome.  Adds a
 * violation, by the operation's name, where an operation succeeded in which a kernel function was made
 * to fail, and a later one fails that succeeds in BASE: a fault without a word.
 */
void outcome_judge_fault(
    struct runner *runner, struct outcome *outcome, const struct outcome *base);

bool outcome_has(const struct outcome *outcome, uint64_t cause);
/* Violations of OUTCOME that BASE lacks; 0: the deviations did no harm. */
unsigned outcome_beyond(
    const struct outcome *outcome, const struct outcome *base);

#endif
