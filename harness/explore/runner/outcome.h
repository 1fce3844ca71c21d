/*
 * The verdict on a run, in a form that is compared and grouped: violations by cause.
 *
 * A cause is the place where the driver went wrong: function and line of the innermost
 * driver function, the driver function that the kernel had called, and the object
 * concerned.  If no driver function was running, the cause is the operation during
 * which the violation was observed; ../describe/identity.h then finds the place.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_OUTCOME_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_OUTCOME_H

#include "harness/explore/runner/runner.h"

#define OUTCOME_MAX CHECK_VIOLATION_MAX

enum outcome_how {
	OUTCOME_WHOLE, /* ran to its end */
	/* reached a state of an earlier run, and ended there */
	OUTCOME_MERGED,
	OUTCOME_IMPOSSIBLE, /* a deviation is not possible at its boundary */
	OUTCOME_UNREACHED,  /* the run ended before a deviation */
};

struct outcome {
	enum outcome_how how;
	enum machine_end end; /* excused or not */
	unsigned count;
	struct outcome_violation {
		/* cause of the violation that this one is a symptom of */
		uint64_t cause;
		/* its own cause; equal to .cause if it is no symptom */
		uint64_t own;
		struct check_violation violation;
	} violation[OUTCOME_MAX];
	check_rows unjudged[REASON_COUNT];
	/* another module than the driver panicked because its own call was made to
	 * fail: not judged */
	bool framework;
	uint64_t failed; /* operations that returned an error, one bit each */
	/* operation in which a kernel function failed, plus 1 */
	unsigned faulty;
	uint64_t results; /* hash of what the operations returned */
	unsigned reports; /* losses or errors that the driver reported */
	bool untraced;    /* decode_check.h: there was nothing to compare */
};

/* The verdict on the run that has just ended. */
void outcome_read(struct runner *runner, struct outcome *outcome);

/* A number for the family of row ID, or for the row itself if its family is ALONE. */
uint64_t outcome_family(enum check_id id);

/* Adds a violation that no event shows; it is a symptom of no other. */
void outcome_add(struct runner *runner, struct outcome *outcome,
    const struct check_violation *violation);

/* True if VIOLATION is a reason why the run could not be judged. */
bool outcome_is_unjudged(const struct check_violation *violation);
/* True if the run could be judged to its end. */
bool outcome_is_judged(const struct outcome *outcome);

/* True if the kernel or the driver cannot continue after a violation of ID. */
bool outcome_is_crash(enum check_id id);

/*
 * Removes a panic of the framework itself; see struct outcome.  Adds a violation if an
 * operation succeeded although a kernel function was made to fail in it, and a later
 * operation fails that succeeds in BASE.
 */
void outcome_judge_fault(
    struct runner *runner, struct outcome *outcome, const struct outcome *base);

bool outcome_has(const struct outcome *outcome, uint64_t cause);
/* The number of violations of OUTCOME that BASE does not have, symptoms included. */
unsigned outcome_beyond(
    const struct outcome *outcome, const struct outcome *base);

#endif
