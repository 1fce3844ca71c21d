/*
 * Pairs of concurrent operations on one object.
 */
#include <string.h>

#include "harness/manifest/sequence/generator.h"

/* The states after step STEP of the life. */
static uint64_t
states_after(const struct sequence_pairs *pairs, unsigned step)
{
	uint64_t states = pairs->manifest->initial;
	unsigned i;

	for (i = 0; i <= step; i++)
		states = step_states(
		    pairs->manifest, &pairs->life->step[i], states);
	return states;
}

/* The actor that does OP while STEP runs; STEP's actor: no other actor is allowed. */
static uint8_t
other_actor(const struct op *op, const struct sequence_step *step)
{
	return op_actor(op, (uint8_t)((step->actor + 1) % SCRIPT_ACTORS));
}

/* True if the next operation and the next step use the same object. */
static bool
is_of_one_object(const struct sequence_pairs *pairs)
{
	const struct manifest *manifest = pairs->manifest;
	const struct sequence_step *step = &pairs->life->step[pairs->step];
	const struct op *of = &manifest->op[step->op];
	const struct op *op = &manifest->op[pairs->op];
	const struct sequence_step plain = { .op = (uint16_t)pairs->op };
	uint16_t slot;

	if (op->instance != of->instance ||
	    other_actor(op, step) == step->actor ||
	    (op->needs & ~states_after(pairs, pairs->step)) != 0)
		return false;
	for (slot = 0; slot < manifest->slot_count; slot++) {
		if (step_uses(of, step, slot) &&
		    (op->schema->ends || step_uses(op, &plain, slot)))
			return true;
	}
	return false;
}

static bool
is_valid(const struct op *op, unsigned variant)
{
	const struct sequence_step plain = { .op = 0 };
	const struct value *value;
	unsigned place;

	if (variant == 0 || !op->schema->configures)
		return variant == 0;
	value = op_variant(op, variant, &place);
	return !value->invalid && step_reaches(op, &plain, place);
}

/* Inserts the next operation, with VARIANT, into the life before the next step. */
static void
insert(const struct sequence_pairs *pairs, unsigned variant,
    struct sequence *sequence)
{
	const struct sequence *life = pairs->life;
	const struct op *op = &pairs->manifest->op[pairs->op];
	struct sequence_step *step = &sequence->step[pairs->step];

	*sequence = *life;
	memmove(step + 1, step,
	    (life->count - pairs->step) * sizeof(sequence->step[0]));
	sequence->count++;
	*step = (struct sequence_step){ .op = (uint16_t)pairs->op,
		.actor = other_actor(op, &life->step[pairs->step]),
		.async = true };
	if (variant != 0)
		step->variant[step->variant_count++] = (uint16_t)variant;
}

/* True if SEQUENCE still has both operations after sequence_repair(). */
static bool
has_both(const struct sequence_pairs *pairs, const struct sequence *sequence)
{
	const struct sequence_step *step = &sequence->step[pairs->step];

	return pairs->step + 1 < sequence->count && step[0].op == pairs->op &&
	    step[1].op == pairs->life->step[pairs->step].op;
}

bool
sequence_pairs_next(
    struct sequence_pairs *pairs, struct sequence *sequence, unsigned *first)
{
	const struct manifest *manifest = pairs->manifest;

	if (pairs->life->count == SCRIPT_STEPS_MAX)
		return false;
	for (; pairs->step < pairs->life->count; pairs->step++, pairs->op = 0) {
		for (; pairs->op < manifest->op_count;
		     pairs->op++, pairs->variant = 0) {
			const struct op *op = &manifest->op[pairs->op];

			if (!is_of_one_object(pairs))
				continue;
			while (pairs->variant <= op->variant_count) {
				unsigned variant = pairs->variant++;

				if (!is_valid(op, variant))
					continue;
				insert(pairs, variant, sequence);
				*first = pairs->step;
				sequence_repair(manifest, sequence);
				if (has_both(pairs, sequence))
					return true;
			}
		}
	}
	return false;
}
