/* Changed lives: with one more operation, with other values, joined with another life. */
#include <string.h>

#include "harness/manifest/model.h"

/* Inserts OP into LIFE before step POSITION. */
static void
insert(const struct manifest *manifest, const struct sequence *life,
    unsigned position, uint16_t op, struct sequence *sequence)
{
	struct sequence_step *step = &sequence->step[position];

	*sequence = *life;
	memmove(step + 1, step,
	    (life->count - position) * sizeof(sequence->step[0]));
	sequence->count++;
	*step = (struct sequence_step){ .op = op };
	while (!(manifest->op[op].actors >> step->actor & 1))
		step->actor++;
}

/* The next life with one more operation; false: no more. */
static bool
next_inserted(struct sequence_neighbours *at, struct sequence *sequence)
{
	const struct manifest *manifest = at->values.manifest;

	for (; at->first < at->values.life_count;
	     at->first++, at->position = 0) {
		const struct sequence *life = &at->values.life[at->first];

		for (; life->count < SCRIPT_STEPS_MAX &&
		     at->position <= life->count;
		     at->position++, at->op = 0) {
			while (at->op < manifest->op_count) {
				uint16_t op = (uint16_t)at->op++;

				if (manifest->op[op].schema->rare)
					continue;
				insert(
				    manifest, life, at->position, op, sequence);
				/* Drops the steps after the end of the program. */
				(void)sequence_repair(manifest, sequence);
				if (at->position < sequence->count &&
				    sequence->step[at->position].op == op)
					return true;
			}
		}
	}
	return false;
}

/* The next pair of lives: one without the step that ends the program, then another. */
static bool
next_joined(struct sequence_neighbours *at, struct sequence *sequence)
{
	while (at->joined < at->values.life_count * at->values.life_count) {
		size_t number = at->joined++;
		const struct sequence *second =
		    &at->values.life[number % at->values.life_count];

		*sequence = at->values.life[number / at->values.life_count];
		if (sequence->count != 0 &&
		    at->values.manifest
			->op[sequence->step[sequence->count - 1].op]
			.schema->ends)
			sequence->count--;
		if (sequence->count + second->count > SCRIPT_STEPS_MAX)
			continue;
		memcpy(sequence->step + sequence->count, second->step,
		    second->count * sizeof(sequence->step[0]));
		sequence->count += second->count;
		return true;
	}
	return false;
}

/*
 * Takes the values of the LEFT-th entry of STEPS that has STEP's operation and several
 * variants; false: no such entry.
 */
static bool
take_values(const struct sequence_step *steps, size_t count, size_t *left,
    struct sequence_step *step)
{
	for (size_t i = 0; i < count; i++) {
		/* Entries with one variant are covered by change_values(). */
		if (steps[i].op != step->op || steps[i].variant_count < 2 ||
		    (*left)-- != 0)
			continue;
		step->variant_count = steps[i].variant_count;
		memcpy(step->variant, steps[i].variant, sizeof(step->variant));
		return true;
	}
	return false;
}

/*
 * Changes STEP to values number NUMBER: a single variant, or the values of an accepted or
 * a refused step; false: no more.
 */
static bool
change_values(
    const struct manifest *manifest, size_t number, struct sequence_step *step)
{
	unsigned variants = manifest->op[step->op].variant_count;
	size_t left = number - variants;

	if (number < variants) {
		step->variant_count = 1;
		step->variant[0] = (uint16_t)(number + 1);
		return true;
	}
	return take_values(
		   manifest->accepted, manifest->accepted_count, &left, step) ||
	    take_values(
		manifest->refused, manifest->refused_count, &left, step);
}

bool
sequence_values_next(struct sequence_values *values, struct sequence *sequence)
{
	for (; values->at < values->life_count;
	     values->at++, values->step = 0) {
		const struct sequence *life = &values->life[values->at];

		for (; values->step < life->count;
		     values->step++, values->value = 0) {
			*sequence = *life;
			if (change_values(values->manifest, values->value++,
				&sequence->step[values->step]))
				return true;
		}
	}
	return false;
}

/* The first step of LIFE before which the states allow OP; life->count: none. */
static unsigned
first_place(
    const struct manifest *manifest, const struct sequence *life, size_t op)
{
	uint64_t states = manifest->initial;
	unsigned i = 0;

	while (i < life->count && (manifest->op[op].needs & ~states) != 0)
		states = step_states(manifest, &life->step[i++], states);
	return i;
}

/* The last such step, or the end of the life; not after the end of the program. */
static unsigned
last_place(
    const struct manifest *manifest, const struct sequence *life, size_t op)
{
	uint64_t states = manifest->initial;
	unsigned last = first_place(manifest, life, op);

	for (unsigned i = 0; i < life->count; i++) {
		if ((manifest->op[op].needs & ~states) == 0)
			last = i;
		if (manifest->op[life->step[i].op].schema->ends)
			return last;
		states = step_states(manifest, &life->step[i], states);
	}
	return (manifest->op[op].needs & ~states) == 0 ? life->count : last;
}

/* The next life with an operation that it does not contain, as late as it can be; false:
 * no more. */
static bool
next_late(struct sequence_neighbours *at, struct sequence *sequence)
{
	const struct manifest *manifest = at->values.manifest;

	for (; at->late_life < at->values.life_count;
	     at->late_life++, at->late_op = 0) {
		const struct sequence *life = &at->values.life[at->late_life];

		while (at->late_op < manifest->op_count) {
			uint16_t op = (uint16_t)at->late_op++;
			unsigned place = last_place(manifest, life, op);

			if (manifest->op[op].schema->rare ||
			    sequence_has_op(life, op) ||
			    life->count == SCRIPT_STEPS_MAX ||
			    place == first_place(manifest, life, op))
				continue;
			insert(manifest, life, place, op, sequence);
			(void)sequence_repair(manifest, sequence);
			return true;
		}
	}
	return false;
}

/* The next life with an operation that it does not contain, as it is or with a value;
 * false: no more. */
static bool
next_foreign(struct sequence_neighbours *at, struct sequence *sequence)
{
	const struct manifest *manifest = at->values.manifest;

	for (; at->foreign_life < at->values.life_count;
	     at->foreign_life++, at->foreign_op = 0) {
		const struct sequence *life =
		    &at->values.life[at->foreign_life];

		for (; at->foreign_op < manifest->op_count;
		     at->foreign_op++, at->foreign_value = 0) {
			uint16_t op = (uint16_t)at->foreign_op;
			unsigned place = first_place(manifest, life, op);

			if (manifest->op[op].schema->rare ||
			    sequence_has_op(life, op) || place == life->count ||
			    life->count == SCRIPT_STEPS_MAX)
				continue;
			insert(manifest, life, place, op, sequence);
			/* Value 0: as it is; not before all others. */
			if (at->foreign_value == 0 && place == 0)
				at->foreign_value++;
			if (at->foreign_value++ != 0 &&
			    !change_values(manifest, at->foreign_value - 2,
				&sequence->step[place]))
				continue;
			(void)sequence_repair(manifest, sequence);
			return true;
		}
	}
	return false;
}

bool
sequence_neighbours_next(
    struct sequence_neighbours *neighbours, struct sequence *sequence)
{
	return next_joined(neighbours, sequence) ||
	    next_late(neighbours, sequence) ||
	    next_foreign(neighbours, sequence) ||
	    sequence_values_next(&neighbours->values, sequence) ||
	    next_inserted(neighbours, sequence);
}
