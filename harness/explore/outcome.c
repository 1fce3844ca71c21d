#include "harness/explore/outcome.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

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

void
outcome_read(struct runner *runner, struct outcome *outcome)
{
	const struct check *check = runner_check(runner);

	outcome->how = runner_result(runner)->end == MACHINE_UNMODELLED
	    ? OUTCOME_UNMODELLED
	    : OUTCOME_WHOLE;
	outcome->end = runner_result(runner)->end;
	outcome->count = 0;
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

void
outcome_judge_fault(
    struct runner *runner, struct outcome *outcome, const struct outcome *base)
{
	uint64_t later = outcome->failed & ~base->failed;
	struct outcome_violation *to = &outcome->violation[outcome->count];

	if (outcome->faulty == 0 || outcome->count == OUTCOME_MAX ||
	    (outcome->failed >> (outcome->faulty - 1) & 1) != 0)
		return;
	later &= ~(TZ_BIT(outcome->faulty) - 1);
	if (later == 0)
		return;
	*to = (struct outcome_violation){
		.violation = { .id = CHECK_FAULT_SILENT,
		    .step = (uint16_t)(outcome->faulty - 1) },
	};
	snprintf(to->violation.text, sizeof(to->violation.text),
	    "a kernel function failed and the operation succeeded; later ones "
	    "fail");
	to->cause = outcome_cause(runner, &to->violation) ^ outcome->faulty;
	outcome->count++;
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
