#include "harness/explore/runner/outcome.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

bool
outcome_is_unjudged(const struct check_violation *violation)
{
	return check_info(violation->id)->family == FAMILY_UNJUDGED;
}

bool
outcome_is_judged(const struct outcome *outcome)
{
	for (unsigned i = 0; i < outcome->count; i++) {
		if (outcome_is_unjudged(&outcome->violation[i].violation))
			return false;
	}
	return true;
}

bool
outcome_is_crash(enum check_id id)
{
	return id >= CHECK_PAGE_FAULT && id <= CHECK_PROGRESS;
}

uint64_t
outcome_family(enum check_id id)
{
	switch (check_info(id)->family) {
	case FAMILY_CRASH:
	case FAMILY_LIFETIME:
	case FAMILY_LOSS:
		return check_info(id)->family;
	case FAMILY_ALONE:
	case FAMILY_SETUP:
	case FAMILY_UNJUDGED:
		break;
	}
	return UINT64_C(256) + id;
}

/* The own cause of VIOLATION, also if it is a symptom of another. */
static uint64_t
cause_of(struct runner *runner, const struct check_violation *violation)
{
	const char *step = "";
	uint64_t words[] = {
		outcome_family(violation->id),
		runner_place_key(runner, violation->site.rip),
		runner_function_key(runner, violation->site.entry),
		runner_place_key(runner, violation->object_va),
	};
	uint64_t hash = XXH3_64bits(words, sizeof(words));

	if (violation->site.rip == 0 && violation->step != CHECK_NO_STEP)
		step = runner_step_name(runner, violation->step);
	hash = XXH3_64bits_withSeed(step, strlen(step), hash);
	return XXH3_64bits_withSeed(
	    violation->object, strlen(violation->object), hash);
}

/*
 * The cause that the violation numbered INDEX is a symptom of: the first that
 * explains it.
 */
static uint64_t
root_of(const struct outcome *outcome, unsigned index)
{
	for (unsigned i = 0; i < index; i++) {
		if (check_is_symptom(&outcome->violation[index].violation,
			&outcome->violation[i].violation))
			return outcome->violation[i].cause;
	}
	return outcome->violation[index].own;
}

void
outcome_add(struct runner *runner, struct outcome *outcome,
    const struct check_violation *violation)
{
	struct outcome_violation *to;

	if (outcome->count == OUTCOME_MAX) {
		outcome->unjudged[REASON_VIOLATIONS] |= CHECK_BIT(
		    violation->id);
		return;
	}
	to = &outcome->violation[outcome->count];
	to->violation = *violation;
	to->own = cause_of(runner, violation);
	to->cause = root_of(outcome, outcome->count++);
}

void
outcome_read(struct runner *runner, struct outcome *outcome)
{
	const struct check *check = runner_check(runner);
	const struct runner_report *report = runner_report(runner);

	*outcome = (struct outcome){ .how = OUTCOME_WHOLE,
		.end = runner_result(runner)->end };
	for (size_t i = 0; i < check_count(check); i++)
		outcome_add(runner, outcome, check_at(check, i));
	for (unsigned i = 0; i < REASON_COUNT; i++)
		outcome->unjudged[i] |= check_unjudged(
		    check, (enum check_reason)i);
	outcome->results = report->results;
	outcome->reports = report->reports;
	outcome->failed = report->failed;
	outcome->faulty = report->fault.step;
}

/* Checks an operation that succeeded although a kernel function failed. */
static void
judge_silence(
    struct runner *runner, struct outcome *outcome, const struct outcome *base)
{
	uint64_t later = outcome->failed & ~base->failed;
	struct check_violation violation = {
		.id = CHECK_FAULT_SILENT,
		.step = (uint16_t)(outcome->faulty - 1),
		.stream = CHECK_NO_STREAM,
		.site = runner_report(runner)->fault.site,
	};

	if (outcome->faulty == 0 ||
	    (outcome->failed >> (outcome->faulty - 1) & 1) != 0)
		return;
	/* Two shifts, because a shift by 64, for the 64th operation, is undefined. */
	later = later >> (outcome->faulty - 1) >> 1;
	if (later == 0)
		return;
	snprintf(violation.text, sizeof(violation.text),
	    "%s succeeded, in which a kernel function failed; later operations "
	    "fail",
	    runner_step_name(runner, outcome->faulty - 1));
	outcome_add(runner, outcome, &violation);
}

/*
 * Without a driver function on the stack, a panic is another module's if only that
 * module's calls were made to fail, and an endless wait is another module's if any call
 * was: the driver had returned.  Not if BASE ends in the same way.
 */
static void
drop_framework(struct outcome *outcome, const struct outcome *base)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < outcome->count; i++) {
		const struct outcome_violation *one = &outcome->violation[i];

		if (outcome_is_crash(one->violation.id) &&
		    one->violation.site.rip == 0 &&
		    !outcome_has(base, one->cause))
			outcome->framework = true;
		else
			outcome->violation[kept++] = *one;
	}
	outcome->count = kept;
}

void
outcome_judge_fault(
    struct runner *runner, struct outcome *outcome, const struct outcome *base)
{
	const struct runner_report *report = runner_report(runner);

	if (outcome->end == MACHINE_PANIC
		? report->fault.framework && !report->fault.driver
		: report->fault.framework || report->fault.driver)
		drop_framework(outcome, base);
	judge_silence(runner, outcome, base);
}

bool
outcome_has(const struct outcome *outcome, uint64_t cause)
{
	for (unsigned i = 0; i < outcome->count; i++) {
		if (outcome->violation[i].cause == cause)
			return true;
	}
	return false;
}

unsigned
outcome_beyond(const struct outcome *outcome, const struct outcome *base)
{
	unsigned count = 0;

	for (unsigned i = 0; i < outcome->count; i++)
		count += !outcome_has(base, outcome->violation[i].cause);
	return count;
}
