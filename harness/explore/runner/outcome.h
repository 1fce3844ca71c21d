/*
 * The verdict on a run, in a form that is compared and grouped: violations by cause.
 *
 * A cause is the place where the driver went wrong: function and line of the
 * innermost of the driver's functions, the function that the kernel had called, and
 * the object concerned.  Where no function of the driver was running, it is the
 * operation in which the violation showed; ../describe/identity.h then finds the place.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_OUTCOME_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_OUTCOME_H

#include "harness/explore/runner/runner.h"

#define OUTCOME_MAX CHECK_VIOLATION_MAX

enum outcome_how {
	OUTCOME_WHOLE,      /* to its end */
	OUTCOME_MERGED,     /* from an equal state on as the run before */
	OUTCOME_IMPOSSIBLE, /* a deviation is not possible there */
	OUTCOME_UNREACHED,  /* the run ended before a deviation */
};

struct outcome {
	enum outcome_how how;
	enum machine_end end; /* excused or not */
	unsigned count;
	struct outcome_violation {
		uint64_t cause; /* of the violation that it follows from */
		uint64_t own;   /* its own; .cause: it follows from none */
		struct check_violation violation;
	} violation[OUTCOME_MAX];
	uint64_t unjudged[REASON_COUNT]; /* rows, one bit each */
	bool framework;   /* a module that is not the driver panicked because a
			   call of its own was made to fail: not judged */
	uint64_t failed;  /* operations that returned an error, one bit each */
	unsigned faulty;  /* in which a kernel function failed, plus 1 */
	uint64_t results; /* hash of what the operations returned */
	unsigned reports; /* how often it reported a loss or an error */
};

/* The verdict on the run that has just ended. */
void outcome_read(struct runner *runner, struct outcome *outcome);

/* The cause of VIOLATION alone, whatever it follows from. */
uint64_t outcome_cause(
    struct runner *runner, const struct check_violation *violation);

/* A number for the family of row ID, or for the row where its family joins none. */
uint64_t outcome_family(enum check_id id);

/* Adds a violation that no event shows; it follows from none. */
void outcome_add(struct runner *runner, struct outcome *outcome,
    const struct check_violation *violation);

/* Is VIOLATION a reason why the run could not be judged? */
bool outcome_is_unjudged(const struct check_violation *violation);
/* Could the run be judged to its end? */
bool outcome_is_judged(const struct outcome *outcome);

/* Does a violation of ID mean that the kernel or the driver cannot go on? */
bool outcome_is_crash(enum check_id id);

/*
 * Removes a panic that is the framework's own; see struct outcome.  Adds a violation
 * where an operation succeeded in which a kernel function was made to fail, and a
 * later one fails that succeeds in BASE.
 */
void outcome_judge_fault(
    struct runner *runner, struct outcome *outcome, const struct outcome *base);

bool outcome_has(const struct outcome *outcome, uint64_t cause);
/* Violations of OUTCOME that BASE does not have, whatever they follow from. */
unsigned outcome_beyond(
    const struct outcome *outcome, const struct outcome *base);

#endif
