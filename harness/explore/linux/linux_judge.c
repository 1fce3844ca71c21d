/* The verdict on a run. */
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "harness/explore/linux/linux_console.h"
#include "harness/explore/linux/linux_run_internal.h"

/* A number that is the same for the same mistake, whatever the schedule. */
static uint64_t
cause_of(const struct linux_run *run, const struct check_violation *violation)
{
	uint64_t offset, seed = outcome_family(violation->id);
	const char *name = linux_code_name(
	    run->code, violation->site.rip, &offset);

	if (check_info(violation->id)->family == FAMILY_CRASH)
		seed ^= offset << 16;
	seed = XXH3_64bits_withSeed(name, strlen(name), seed);
	return XXH3_64bits_withSeed(
	    violation->object, strlen(violation->object), seed);
}

static void
add(const struct linux_run *run, struct outcome *outcome,
    const struct check_violation *violation)
{
	struct outcome_violation *to = &outcome->violation[outcome->count];

	if (outcome->count == OUTCOME_MAX) {
		outcome->unjudged[REASON_VIOLATIONS] |= CHECK_BIT(
		    violation->id);
		return;
	}
	to->violation = *violation;
	to->own = to->cause = cause_of(run, violation);
	for (unsigned i = 0; i < outcome->count; i++) {
		if (check_is_symptom(
			violation, &outcome->violation[i].violation)) {
			to->cause = outcome->violation[i].cause;
			break;
		}
	}
	outcome->count++;
}

/* The kernel's own messages, up to the first one that is the end of it. */
static void
add_messages(const struct linux_run *run, struct outcome *outcome)
{
	check_rows excused = check_unjudged(run->check, REASON_EXCUSED);
	struct linux_message message;
	size_t count, at = 0;
	const char *text = linux_run_console(run, &count);

	while (linux_console_next(text, count, &at, &message)) {
		struct check_violation violation = { .id = message.id,
			.step = CHECK_NO_STEP,
			.stream = CHECK_NO_STREAM };
		struct linux_range function = linux_code_function(
		    run->code, message.function);

		if (function.begin != 0)
			violation.site.rip = violation.site.entry =
			    function.begin + message.offset;
		snprintf(
		    violation.text, sizeof(violation.text), "%s", message.text);
		snprintf(violation.object, sizeof(violation.object), "%.40s:%d",
		    message.file, message.line);
		if (message.file[0] == '\0')
			violation.object[0] = '\0';
		if ((excused >> message.id & 1) == 0)
			add(run, outcome, &violation);
		if (message.deadly)
			return;
	}
}

/* How the run ended, in the words that harness/check judges. */
static struct machine_result
result_of(struct linux_run *run, bool *waits)
{
	struct machine_result result = run->state.result;
	int status = linux_guest_window(run->guest)->status;

	*waits = false;
	if (linux_run_has_exited(run)) {
		result.end = MACHINE_EXIT;
		result.code = status;
		return result;
	}
	switch (run->state.end) {
	case LINUX_GUEST_SLICE:
		result.end = MACHINE_LIMIT;
		*waits = true;
		break;
	case LINUX_GUEST_EXITED:
	case LINUX_GUEST_OFF:
	case LINUX_GUEST_BOOTED:
	case LINUX_GUEST_DEAD:
	case LINUX_GUEST_LIMIT:
	case LINUX_GUEST_STOPPED:
		break;
	}
	return result;
}

static void
judge(struct linux_run *run, struct outcome *outcome)
{
	bool waits;
	struct machine_result result = result_of(run, &waits);

	*outcome = (struct outcome){ .how = OUTCOME_WHOLE, .end = result.end };
	add_messages(run, outcome);
	if (result.end == MACHINE_EXIT)
		linux_perf_end(
		    &run->now.perf, run->machine, result.cpu, run->check);
	/* After an oops nothing else is the kernel's own doing. */
	if (!run->now.deadly)
		check_end(run->check, &result, waits);
	for (size_t i = 0; i < check_count(run->check); i++)
		add(run, outcome, check_at(run->check, i));
	for (unsigned i = 0; i < REASON_COUNT; i++)
		outcome->unjudged[i] |= check_unjudged(
		    run->check, (enum check_reason)i);
}

bool
linux_run_judge(struct linux_run *run, const struct schedule *schedule,
    struct outcome *outcome)
{
	enum linux_run_end end = LINUX_RUN_STOP;

	*outcome = (struct outcome){ .how = OUTCOME_UNREACHED };
	for (unsigned i = 0; i < schedule->count; i++) {
		const struct deviation *deviation = &schedule->deviation[i];

		end = linux_run_go(run, deviation->cpu, deviation->insns);
		if (end != LINUX_RUN_STOP)
			return end != LINUX_RUN_CUT;
		if (linux_run_insns_of(run, deviation->cpu) != deviation->insns)
			return true;
		if (!linux_run_inject(run, deviation)) {
			outcome->how = OUTCOME_IMPOSSIBLE;
			return true;
		}
	}
	end = linux_run_go(run, 0, UINT64_MAX);
	if (end == LINUX_RUN_CUT)
		return false;
	judge(run, outcome);
	return true;
}
