/*
 * Processors that differ in what a configuration may ask for: each configuration of the
 * manifest on a processor with every feature, and on ones that lack a feature each; where
 * the driver supports hybrid parts, also where one CPU alone lacks several.  What a
 * driver may need of any processor, Intel PT itself, ToPA or XSAVES, it has to look for:
 * each life comes where that is lacking.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_PROCESSORS_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_PROCESSORS_H

#include "harness/explore/runner/layout.h"
#include "harness/explore/runner/schedule.h"
#include "harness/manifest/manifest.h"

struct processors {
	struct sequence_values lives; /* none tried */
	size_t number;                /* of the processor */
	bool open;                    /* of it: */
	bool whole;                   /* lives come as they are */
	bool differ;                  /* its CPUs do */
	char words[TOKEN_WORDS_BYTES];
	struct cpu_set cpu_set;
	struct sequence_values values;
};

/* VALUES: of which none has been tried. */
void processors_begin(
    struct processors *processors, const struct sequence_values *values);

/*
 * The next life, with the step's values that it is there for, on CPUS CPUs with LAYOUT.
 * False: there is no more.
 */
bool processors_next(struct processors *processors, struct sequence *sequence,
    unsigned *cpus, char layout[TOKEN_WORDS_BYTES]);

#endif
