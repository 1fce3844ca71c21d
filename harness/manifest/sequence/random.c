/* Random and mutated sequences; most of their operations are allowed by the states. */
#include <string.h>

#include "harness/manifest/sequence/generator.h"

/* SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
 * Generators", 2014). */
static uint64_t
next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static unsigned
below(uint64_t *state, uint64_t limit)
{
	return (unsigned)(next(state) % limit);
}

static bool
one_in(uint64_t *state, unsigned n)
{
	return below(state, n) == 0;
}

/*
 * Draws an operation that STATES allow; one time in eight perhaps one that they do not,
 * unless it is strict.  If 64 tries find none, the last one.
 */
static uint16_t
draw_op(const struct manifest *manifest, uint64_t states, uint64_t *random)
{
	bool any = one_in(random, 8);
	unsigned tries;
	uint16_t op = 0;

	for (tries = 0; tries < 64; tries++) {
		op = (uint16_t)below(random, manifest->op_count);
		if (manifest->op[op].schema->rare)
			continue;
		/* Steps after the end of the program would be lost. */
		if (manifest->op[op].schema->ends && !one_in(random, 8))
			continue;
		if ((manifest->op[op].needs & ~states) == 0)
			break;
		if (any && !manifest->op[op].schema->strict)
			break;
	}
	return op;
}

/*
 * Adds a variant for a value that has none yet; three in four are valid.  If 16 tries
 * find none, adds nothing.
 */
static void
draw_variant(const struct op *op, struct sequence_step *step, uint64_t *random)
{
	bool want_valid = !one_in(random, 4);
	unsigned tries, number, place, i;

	if (op->variant_count == 0)
		return;
	for (tries = 0; tries < 16; tries++) {
		const struct value *value;
		bool taken = false;

		number = 1 + below(random, op->variant_count);
		value = op_variant(op, number, &place);
		for (i = 0; i < step->variant_count; i++) {
			unsigned other;

			op_variant(op, step->variant[i], &other);
			taken = taken || other == place;
		}
		if (taken || value->invalid == want_valid ||
		    !step_reaches(op, step, place))
			continue;
		step->variant[step->variant_count++] = (uint16_t)number;
		return;
	}
}

static void
draw_variants(const struct op *op, struct sequence_step *step, uint64_t *random)
{
	unsigned count = one_in(random, 2) ? 0 : 1 + below(random, 2);

	step->variant_count = 0;
	while (count-- > 0)
		draw_variant(op, step, random);
}

static void
draw_actor(const struct generator *generator, struct sequence_step *step,
    uint64_t *random)
{
	uint8_t actor = 0;

	if (one_in(random, 4))
		actor = (uint8_t)below(random,
		    generator->cpu_count > 1 ? generator->cpu_count : 2);
	step->actor = op_actor(&generator->manifest->op[step->op],
	    (uint8_t)(actor % SCRIPT_ACTORS));
	step->async = one_in(random, 6);
}

static struct sequence_step
draw_step(const struct generator *generator, uint64_t states, uint64_t *random)
{
	const struct manifest *manifest = generator->manifest;
	struct sequence_step step = {
		.op = draw_op(manifest, states, random),
	};

	draw_variants(&manifest->op[step.op], &step, random);
	draw_actor(generator, &step, random);
	return step;
}

void
generator_draw(const struct generator *generator, uint64_t rank,
    unsigned steps_max, struct sequence *sequence)
{
	const struct manifest *manifest = generator->manifest;
	uint64_t random = generator->seed;
	uint64_t states = manifest->initial;
	unsigned count, i;

	/* Two rounds, so that adjacent ranks give unrelated sequences. */
	random = next(&random) ^ rank;
	random = next(&random);
	*sequence = manifest->prefix[below(&random, generator->prefix_count)];
	for (i = 0; i < sequence->count; i++)
		states = step_states(manifest, &sequence->step[i], states);
	count = 3 + below(&random, steps_max - 2);
	if (manifest->op_count == 0)
		return;
	while (count-- > 0 && sequence->count < SCRIPT_STEPS_MAX) {
		struct sequence_step *step = &sequence->step[sequence->count++];

		*step = draw_step(generator, states, &random);
		states = step_states(manifest, step, states);
	}
	sequence_repair(manifest, sequence);
}

static uint64_t
states_before(const struct manifest *manifest, const struct sequence *sequence,
    unsigned step)
{
	uint64_t states = manifest->initial;
	unsigned i;

	for (i = 0; i < step; i++)
		states = step_states(manifest, &sequence->step[i], states);
	return states;
}

static void
insert_step(const struct generator *generator, struct sequence *sequence,
    uint64_t *random)
{
	unsigned at = below(random, sequence->count + 1u);

	if (sequence->count == SCRIPT_STEPS_MAX)
		return;
	memmove(&sequence->step[at + 1], &sequence->step[at],
	    (sequence->count - at) * sizeof(sequence->step[0]));
	sequence->count++;
	sequence->step[at] = draw_step(generator,
	    states_before(generator->manifest, sequence, at), random);
}

/* Makes one change; SEQUENCE may be empty. */
static void
change(const struct generator *generator, struct sequence *sequence,
    uint64_t *random)
{
	const struct manifest *manifest = generator->manifest;
	unsigned what = below(random, 8), at;
	struct sequence_step *step;

	if (what < 3 || sequence->count == 0) {
		insert_step(generator, sequence, random);
		return;
	}
	at = below(random, sequence->count);
	step = &sequence->step[at];
	switch (what) {
	case 3:
		sequence_drop(manifest, sequence, at, sequence);
		break;
	case 4:
	case 5:
		draw_variants(&manifest->op[step->op], step, random);
		break;
	case 6:
		draw_actor(generator, step, random);
		break;
	default:
		if (at + 1 < sequence->count) {
			struct sequence_step other = step[1];

			step[1] = step[0];
			step[0] = other;
		}
		break;
	}
}

void
generator_mutate(struct generator *generator, const struct sequence *from,
    uint64_t seed, struct sequence *to)
{
	uint64_t random = generator->seed;
	unsigned count;

	random = next(&random) ^ seed;
	random = next(&random);
	*to = *from;
	if (generator->manifest->op_count == 0)
		return;
	for (count = 1 + below(&random, 3); count > 0; count--)
		change(generator, to, &random);
	sequence_repair(generator->manifest, to);
}
