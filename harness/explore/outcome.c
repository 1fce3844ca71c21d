#include "harness/explore/outcome.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#define FRAMES_MAX 32

/* Without what differs from run to run: numbers, in any base. */
static void
strip_numbers(const char *text, char *out, size_t out_size)
{
	size_t used = 0;

	while (*text != '\0' && used + 1 < out_size) {
		if (isdigit((unsigned char)*text)) {
			while (isxdigit((unsigned char)*text) || *text == 'x')
				text++;
			out[used++] = '#';
			continue;
		}
		out[used++] = *text++;
	}
	out[used] = '\0';
}

/* What became of bytes: where the CPU stood when it showed means nothing. */
bool
outcome_is_ledger(enum check_id id)
{
	return id >= CHECK_REPORTED_UNWRITTEN && id <= CHECK_LOST_EXCESS;
}

uint64_t
outcome_cause(struct runner *runner, const struct check_violation *violation)
{
	const char *name = check_info(violation->id)->name;
	char text[CHECK_TEXT_BYTES];
	struct symbol_place place;
	uint64_t hash;

	strip_numbers(violation->text, text, sizeof(text));
	hash = XXH3_64bits(name, strlen(name));
	hash = XXH3_64bits_withSeed(text, strlen(text), hash);
	if (!runner_in_driver(runner, violation->rip) ||
	    outcome_is_ledger(violation->id))
		return hash;
	symbols_find(runner_symbols(runner), violation->rip, NULL, &place);
	if (place.name == NULL)
		return hash;
	return XXH3_64bits_withSeed(place.name, strlen(place.name), hash);
}

struct frame_walk {
	struct runner *runner;
	unsigned cpu;
	uint64_t rip; /* the innermost in the driver; 0: none yet */
};

static bool
read_guest(void *arg, uint64_t va, void *bytes, size_t count)
{
	const struct frame_walk *walk = arg;

	return machine_read(runner_machine(walk->runner), walk->cpu,
	    (struct gva){ va }, bytes, count);
}

static void
look_at_frame(void *arg, unsigned level, uint64_t rip)
{
	struct frame_walk *walk = arg;

	/* A return address stands after its call. */
	rip -= level != 0;
	if (walk->rip == 0 && runner_in_driver(walk->runner, rip))
		walk->rip = rip;
}

uint64_t
outcome_driver_rip(struct runner *runner)
{
	const struct machine_result *end = runner_result(runner);
	struct frame_walk walk = { .runner = runner, .cpu = end->cpu };

	symbols_backtrace(
	    end->rip, end->rbp, FRAMES_MAX, read_guest, look_at_frame, &walk);
	return walk.rip;
}

uint64_t
outcome_rip(struct runner *runner, const struct check_violation *violation)
{
	uint64_t rip;

	if (runner_in_driver(runner, violation->rip) &&
	    !outcome_is_ledger(violation->id))
		return violation->rip;
	if (!outcome_is_crash(violation->id))
		return 0;
	rip = outcome_driver_rip(runner);
	return rip != 0 ? rip : violation->rip;
}

void
outcome_read(struct runner *runner, struct outcome *outcome)
{
	const struct check *check = runner_check(runner);

	outcome->how = runner_result(runner)->end == MACHINE_UNMODELLED
	    ? OUTCOME_UNMODELLED
	    : OUTCOME_WHOLE;
	outcome->end = runner_result(runner)->end;
	outcome->count = 0;
	outcome->framework = false;
	for (size_t i = 0; i < check_count(check) && i < OUTCOME_MAX; i++) {
		struct outcome_violation *to =
		    &outcome->violation[outcome->count++];

		to->violation = *check_at(check, i);
		to->cause = outcome_cause(runner, &to->violation);
	}
	runner_report(runner, &outcome->results, &outcome->reports,
	    &outcome->failed, &outcome->faulty);
}

bool
outcome_is_crash(enum check_id id)
{
	return id >= CHECK_PAGE_FAULT && id <= CHECK_PROGRESS;
}

/* An operation that succeeded all the same: was it right to? */
static void
judge_silence(
    struct runner *runner, struct outcome *outcome, const struct outcome *base)
{
	uint64_t later = outcome->failed & ~base->failed;
	struct outcome_violation *to = &outcome->violation[outcome->count];

	if (outcome->faulty == 0 || outcome->count == OUTCOME_MAX ||
	    (outcome->failed >> (outcome->faulty - 1) & 1) != 0)
		return;
	/* In two steps: the 64th operation has none after it. */
	later = later >> (outcome->faulty - 1) >> 1;
	if (later == 0)
		return;
	*to = (struct outcome_violation){
		.violation = { .id = CHECK_FAULT_SILENT,
		    .step = CHECK_NO_STEP },
	};
	snprintf(to->violation.text, sizeof(to->violation.text),
	    "%s succeeded, in which a kernel function failed; later operations "
	    "fail",
	    runner_step_name(runner, outcome->faulty - 1));
	to->cause = outcome_cause(runner, &to->violation);
	outcome->count++;
}

/*
 * A panic is another module's where only its calls were made to fail and the driver
 * was not at work; not one that BASE ends with, too.
 */
static void
drop_framework(
    struct runner *runner, struct outcome *outcome, const struct outcome *base)
{
	unsigned kept = 0;

	if (outcome->end != MACHINE_PANIC || !runner_framework_failed(runner) ||
	    outcome_driver_rip(runner) != 0)
		return;
	for (unsigned i = 0; i < outcome->count; i++) {
		const struct outcome_violation *one = &outcome->violation[i];

		if (outcome_is_crash(one->violation.id) &&
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
	drop_framework(runner, outcome, base);
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
