/* Internals of the sequence generator.  Private to harness/manifest. */
#ifndef TOPAZ_HARNESS_MANIFEST_SEQUENCE_GENERATOR_H
#define TOPAZ_HARNESS_MANIFEST_SEQUENCE_GENERATOR_H

#include "harness/manifest/model.h"

/* Number of operations after a prefix that are tried in every combination. */
#define GENERATOR_SHORT_MAX 2u

/* An operation with one variant; 0: no variant. */
struct letter {
	uint16_t op, variant;
};

struct generator {
	const struct manifest *manifest;
	unsigned cpu_count;
	uint64_t seed;
	unsigned prefix_count;
	size_t letter_count;
	struct letter *letter;
};

/* Draws a sequence of up to STEPS_MAX steps after a prefix, from the seed and RANK. */
void generator_draw(const struct generator *generator, uint64_t rank,
    unsigned steps_max, struct sequence *sequence);

#endif
