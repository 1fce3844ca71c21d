/*
 * The answers of a correct driver: the values that it refuses, the steps that succeed, and
 * the numbers that operations fill in.
 */
#include <string.h>

#include "harness/manifest/model.h"

static bool
has_variant(const struct sequence_step *step, uint16_t variant)
{
	for (unsigned i = 0; i < step->variant_count; i++) {
		if (step->variant[i] == variant)
			return true;
	}
	return false;
}

static bool
same_values(const struct sequence_step *a, const struct sequence_step *b)
{
	for (unsigned i = 0; i < a->variant_count; i++) {
		if (!has_variant(b, a->variant[i]))
			return false;
	}
	return a->variant_count == b->variant_count;
}

/* The invalid value that STEP hands over, or NULL; *PLACE: where. */
static const struct value *
find_invalid(
    const struct op *op, const struct sequence_step *step, unsigned *place)
{
	for (unsigned i = 0; op->schema->refuses && i < step->variant_count;
	     i++) {
		const struct value *value = op_variant(
		    op, step->variant[i], place);

		if (value != NULL && value->invalid &&
		    step_reaches(op, step, *place))
			return value;
	}
	return NULL;
}

const char *
sequence_refused(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step)
{
	const struct sequence_step *at = &sequence->step[step];
	const struct op *op = &manifest->op[at->op];
	unsigned place;

	if (find_invalid(op, at, &place) != NULL)
		return op->place[place].name != NULL ? op->place[place].name
						     : "";
	for (size_t i = 0; i < manifest->refused_count; i++) {
		if (manifest->refused[i].op == at->op &&
		    same_values(at, &manifest->refused[i]))
			return "";
	}
	return NULL;
}

/* True if neither STEP nor an earlier step may run concurrently with another. */
static bool
is_alone(const struct manifest *manifest, const struct sequence *sequence,
    unsigned step)
{
	for (unsigned i = 0; i <= step; i++) {
		if (sequence->step[i].async &&
		    manifest->op[sequence->step[i].op].call < SCRIPT_LOCAL)
			return false;
	}
	return true;
}

/*
 * The states that hold before STEP, one of the first 64, if the steps do not overlap;
 * PERHAPS: also those that a call of several system calls may have given before it failed.
 */
static uint64_t
states_before(const struct manifest *manifest, const struct sequence *sequence,
    unsigned step, uint64_t failed, bool perhaps)
{
	uint64_t states = manifest->initial;

	for (unsigned i = 0; i < step; i++) {
		const struct op *op = &manifest->op[sequence->step[i].op];

		if (!(failed >> i & 1))
			states = (states & ~op->takes) | op->gives;
		else if (perhaps && op->call >= SCRIPT_LOCAL)
			states |= op->gives;
	}
	return states;
}

/* Of these, the states that an operation may have ended. */
static uint64_t
states_perhaps_gone(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step, uint64_t failed)
{
	uint64_t states = 0;

	for (unsigned i = 0; i < step; i++) {
		const struct op *op = &manifest->op[sequence->step[i].op];

		if (!(failed >> i & 1))
			states = (states & ~op->gives) | op->may_take;
	}
	return states;
}

/* The STATES that hold before STEP; false: it depends on other actors. */
static bool
find_states(const struct manifest *manifest, const struct sequence *sequence,
    unsigned step, uint64_t failed, uint64_t *states)
{
	if (step >= 64 || !is_alone(manifest, sequence, step))
		return false;
	for (unsigned i = 0; i < step; i++) {
		if (manifest->op[sequence->step[i].op].call < SCRIPT_LOCAL &&
		    sequence->step[i].actor != sequence->step[step].actor)
			return false;
	}
	*states = states_before(manifest, sequence, step, failed, true);
	return true;
}

const char *
sequence_guard(const struct manifest *manifest, const struct sequence *sequence,
    unsigned step, uint64_t failed, bool *holds)
{
	const struct op *op = &manifest->op[sequence->step[step].op];
	uint64_t states, guards, excludes;

	if ((op->guards | op->excludes) == 0 ||
	    !find_states(manifest, sequence, step, failed, &states))
		return NULL;
	guards = op->guards & ~states;
	excludes = op->excludes &
	    states_before(manifest, sequence, step, failed, false);
	*holds = guards == 0;
	if (guards == 0)
		guards = excludes;
	return guards == 0 ? NULL : manifest->state[__builtin_ctzll(guards)];
}

bool
sequence_is_traced(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step, uint64_t failed)
{
	if (manifest->traced == 0)
		return true;
	return step < 64 && is_alone(manifest, sequence, step) &&
	    (manifest->traced &
		~states_before(manifest, sequence, step, failed, false)) == 0;
}

/* The error that VALUES of a step cause: of one invalid value, or of a listed step. */
static uint32_t
error_of_values(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step)
{
	const struct sequence_step *at = &sequence->step[step];
	unsigned place;
	const struct value *value = find_invalid(
	    &manifest->op[at->op], at, &place);

	if (value != NULL && at->variant_count == 1 && value->error != 0)
		return value->error;
	return (value == NULL || at->variant_count == 1) &&
		sequence_refused(manifest, sequence, step) != NULL
	    ? manifest->schema->errors->invalid
	    : 0;
}

uint32_t
sequence_error(const struct manifest *manifest, const struct sequence *sequence,
    unsigned step, uint64_t failed)
{
	const struct schema_errors *errors = manifest->schema->errors;
	const struct op *op = &manifest->op[sequence->step[step].op];
	uint64_t states, absent;

	if (errors == NULL ||
	    !find_states(manifest, sequence, step, failed, &states))
		return 0;
	if (((op->guards | op->needs) &
		states_perhaps_gone(manifest, sequence, step, failed)) != 0)
		return 0;
	absent = (op->guards | op->needs) & ~states;
	/* A state says that there is an object, not of which instance. */
	if (absent == 0)
		return op->instance == 0
		    ? error_of_values(manifest, sequence, step)
		    : 0;
	/* Which of two reasons is looked at first is the driver's. */
	return (absent & ~manifest->guarded) == 0 &&
		(absent & op->guards) != 0 &&
		sequence->step[step].variant_count == 0
	    ? errors->guarded
	    : 0;
}

/* True if STEP equals EXPECTED, or has values that the manifest accepts instead. */
static bool
is_as_good(const struct manifest *manifest, const struct sequence_step *step,
    const struct sequence_step *expected)
{
	size_t i = 0;

	if (step->op != expected->op || step->actor != expected->actor ||
	    step->async != expected->async)
		return false;
	if (same_values(step, expected))
		return true;
	while (i < manifest->accepted_count &&
	    (manifest->accepted[i].op != step->op ||
		!same_values(step, &manifest->accepted[i])))
		i++;
	return i < manifest->accepted_count;
}

bool
sequence_succeeds(const struct manifest *manifest,
    const struct sequence *sequence, unsigned cpu_count, const char *settings,
    unsigned step)
{
	for (size_t i = 0; i < manifest_scenario_count(manifest); i++) {
		const struct manifest_scenario *scenario =
		    &manifest->scenario[i];
		const struct sequence *good = &manifest->scenario_steps[i];
		unsigned same = 0;

		if (scenario->cpus != cpu_count ||
		    strcmp(scenario->settings, settings) != 0)
			continue;
		while (same <= step && same < good->count &&
		    is_as_good(
			manifest, &sequence->step[same], &good->step[same]))
			same++;
		if (same > step)
			return true;
	}
	return false;
}

/*
 * The one successful step before STEP with the operation NAME; sequence->count: none, or
 * more than one, or another whose configuration is of a buffer of its own.
 */
static unsigned
find_giver(const struct manifest *manifest, const struct sequence *sequence,
    unsigned step, uint64_t failed, const char *name)
{
	unsigned found = sequence->count;

	for (unsigned i = 0; i < step && i < 64; i++) {
		const struct op *op = &manifest->op[sequence->step[i].op];

		if ((failed >> i & 1) ||
		    (strcmp(op->name, name) != 0 && !op->schema->accumulates))
			continue;
		if (strcmp(op->name, name) != 0)
			return sequence->count;
		if (found != sequence->count)
			return sequence->count;
		found = i;
	}
	return found;
}

bool
sequence_answer(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step, uint64_t failed,
    unsigned cpu_count, unsigned index, struct manifest_answer *answer)
{
	const struct op *op = &manifest->op[sequence->step[step].op];
	const struct schema_answer *row;
	unsigned giver;

	if (index >= op->schema->answers_count)
		return false;
	row = &op->schema->answers[index];
	*answer = (struct manifest_answer){
		.name = row->name,
		.kind = ANSWER_UNKNOWN,
		.at = row->at,
		.bytes = row->bytes,
		.instance = op->instance,
		.per = row->per,
		.mask = row->mask != NULL ? *row->mask : UINT64_MAX,
		.bits = row->bits != NULL ? *row->bits : UINT64_MAX,
	};
	if (step >= 64 || !is_alone(manifest, sequence, step) ||
	    (op->needs &
		~states_before(manifest, sequence, step, failed, false)) != 0)
		return true;
	switch (row->is) {
	case SCHEMA_IS_VALUE:
	case SCHEMA_IS_CPUS:
		answer->kind = ANSWER_NUMBER;
		answer->number = row->is == SCHEMA_IS_CPUS ? cpu_count
							   : row->value;
		break;
	case SCHEMA_IS_GIVEN:
		giver = find_giver(manifest, sequence, step, failed, row->of);
		if (giver != sequence->count &&
		    step_number(&manifest->op[sequence->step[giver].op],
			&sequence->step[giver], row->name, &answer->number))
			answer->kind = ANSWER_NUMBER;
		break;
	case SCHEMA_IS_STATUS:
		answer->kind = ANSWER_STATUS;
		break;
	case SCHEMA_IS_WRITTEN:
		answer->kind = ANSWER_WRITTEN;
		break;
	}
	return true;
}
