/*
 * Sequences by number.  The exhaustive part is a mixed-radix count: sequences of
 * LENGTH letters, LENGTH ascending, after each prefix; a letter is an operation with at
 * most one variant.  Then come all pairs of concurrent operations, after each prefix.
 */
#include "harness/manifest/sequence/generator.h"

#include <stdlib.h>
#include <string.h>

#define DRAWN_STEPS_MAX 12u

struct generator *
generator_create(
    const struct manifest *manifest, unsigned cpu_count, uint64_t seed)
{
	struct generator *generator = calloc(1, sizeof(*generator));
	unsigned variant;
	size_t op;

	if (generator == NULL)
		return NULL;
	generator->manifest = manifest;
	generator->cpu_count = cpu_count;
	generator->seed = seed;
	generator->prefix_count = manifest->schema->prefixes_count;
	if (generator->prefix_count == 0)
		generator->prefix_count = 1;
	for (op = 0; op < manifest->op_count; op++)
		generator->letter_count += 1 + manifest->op[op].variant_count;
	generator->letter = calloc(
	    generator->letter_count + 1, sizeof(struct letter));
	if (generator->letter == NULL) {
		free(generator);
		return NULL;
	}
	generator->letter_count = 0;
	for (op = 0; op < manifest->op_count; op++) {
		if (manifest->op[op].schema->rare)
			continue;
		for (variant = 0; variant <= manifest->op[op].variant_count;
		     variant++)
			generator->letter[generator->letter_count++] =
			    (struct letter){ (uint16_t)op, (uint16_t)variant };
	}
	return generator;
}

void
generator_destroy(struct generator *generator)
{
	if (generator != NULL)
		free(generator->letter);
	free(generator);
}

/* The number of ranks of sequences of LENGTH letters, over all prefixes. */
static uint64_t
length_ranks(const struct generator *generator, unsigned length)
{
	uint64_t ranks = generator->prefix_count;

	while (length-- > 0)
		ranks *= generator->letter_count;
	return ranks;
}

static uint64_t
pair_ranks(const struct generator *generator)
{
	uint64_t ops = generator->manifest->op_count;

	return generator->prefix_count * ops * ops;
}

uint64_t
generator_exhaustive(const struct generator *generator)
{
	uint64_t ranks = pair_ranks(generator);
	unsigned length;

	for (length = 0; length <= GENERATOR_SHORT_MAX; length++)
		ranks += length_ranks(generator, length);
	return ranks;
}

static void
add_letter(struct sequence *sequence, struct letter letter, uint8_t actor)
{
	struct sequence_step *step = &sequence->step[sequence->count++];

	*step = (struct sequence_step){ .op = letter.op, .actor = actor };
	if (letter.variant != 0)
		step->variant[step->variant_count++] = letter.variant;
}

static void
letters_at(const struct generator *generator, unsigned length, uint64_t rank,
    struct sequence *sequence)
{
	uint64_t divisor = 1;
	unsigned i;

	for (i = 1; i < length; i++)
		divisor *= generator->letter_count;
	for (i = 0; i < length; i++) {
		struct letter letter =
		    generator->letter[rank / divisor % generator->letter_count];

		add_letter(sequence, letter,
		    op_actor(&generator->manifest->op[letter.op], 0));
		if (i + 1 < length)
			divisor /= generator->letter_count;
	}
}

static bool
step_equal(const struct sequence_step *a, const struct sequence_step *b)
{
	return a->op == b->op && a->actor == b->actor && a->async == b->async &&
	    a->variant_count == b->variant_count &&
	    memcmp(a->variant, b->variant,
		a->variant_count * sizeof(a->variant[0])) == 0;
}

/* True if letters_at() makes such a STEP. */
static bool
is_letter(const struct generator *generator, const struct sequence_step *step)
{
	const struct op *op = &generator->manifest->op[step->op];

	return !step->async && step->variant_count <= 1 &&
	    step->actor == op_actor(op, 0);
}

/*
 * The first (length, prefix), as LENGTH * prefixes + prefix, at which the exhaustive part
 * has SEQUENCE; UINT64_MAX: SEQUENCE is not in the exhaustive part.
 */
static uint64_t
first_naming(const struct generator *generator, const struct sequence *sequence)
{
	uint64_t best = UINT64_MAX;
	unsigned prefix, i;

	for (prefix = 0; prefix < generator->prefix_count; prefix++) {
		const struct sequence *head =
		    &generator->manifest->prefix[prefix];
		uint64_t naming;

		if (head->count > sequence->count ||
		    sequence->count - head->count > GENERATOR_SHORT_MAX)
			continue;
		for (i = 0; i < sequence->count; i++) {
			const struct sequence_step *step = &sequence->step[i];

			if (i < head->count ? !step_equal(step, &head->step[i])
					    : !is_letter(generator, step))
				break;
		}
		naming = (uint64_t)(sequence->count - head->count) *
			generator->prefix_count +
		    prefix;
		if (i == sequence->count && naming < best)
			best = naming;
	}
	return best;
}

/* A pair of concurrent operations; false: one of them is rare. */
static bool
pair_at(
    const struct generator *generator, uint64_t rank, struct sequence *sequence)
{
	const struct manifest *manifest = generator->manifest;
	uint64_t ops = manifest->op_count;
	struct letter first = { (uint16_t)(rank / ops % ops), 0 };
	struct letter second = { (uint16_t)(rank % ops), 0 };
	uint8_t actor = op_actor(&manifest->op[first.op], 0);

	if (manifest->op[first.op].schema->rare ||
	    manifest->op[second.op].schema->rare)
		return false;
	*sequence = manifest->prefix[rank / ops / ops];
	add_letter(sequence, first, actor);
	sequence->step[sequence->count - 1].async = true;
	add_letter(sequence, second,
	    op_actor(&manifest->op[second.op],
		(uint8_t)((actor + 1) % SCRIPT_ACTORS)));
	return true;
}

static bool
short_at(
    const struct generator *generator, uint64_t rank, struct sequence *sequence)
{
	uint64_t ranks = 0, letters;
	unsigned length, prefix;

	for (length = 0; length <= GENERATOR_SHORT_MAX; length++) {
		ranks = length_ranks(generator, length);
		if (rank < ranks)
			break;
		rank -= ranks;
	}
	if (length > GENERATOR_SHORT_MAX) {
		return pair_at(generator, rank, sequence);
	}
	letters = ranks / generator->prefix_count;
	prefix = (unsigned)(rank / letters);
	*sequence = generator->manifest->prefix[prefix];
	letters_at(generator, length, rank % letters, sequence);
	return sequence->count != 0 &&
	    first_naming(generator, sequence) ==
	    (uint64_t)length * generator->prefix_count + prefix;
}

bool
generator_at(
    struct generator *generator, uint64_t rank, struct sequence *sequence)
{
	struct sequence copy;

	if (rank < generator_exhaustive(generator)) {
		if (!short_at(generator, rank, sequence))
			return false;
		copy = *sequence;
		return sequence_repair(generator->manifest, &copy) == 0;
	}
	generator_draw(generator, rank, DRAWN_STEPS_MAX, sequence);
	return sequence->count != 0 &&
	    first_naming(generator, sequence) == UINT64_MAX;
}
