/*
 * Processors that differ in features that a configuration may use.  Each configuration
 * of the manifest runs on a processor with every feature and on processors without one
 * of them; if the driver supports hybrid parts, also with several features missing on
 * one CPU only.  Intel PT itself, ToPA and XSAVES are features that the driver has to
 * detect: each life cycle also runs without each of them, on hybrid parts also with
 * the feature missing on one CPU.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_PROCESSORS_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_PROCESSORS_H

#include "harness/explore/runner/layout.h"
#include "harness/explore/runner/schedule.h"
#include "harness/manifest/manifest.h"

struct processors {
	/* life cycles to run, each from its first values */
	struct sequence_values lives;
	size_t number; /* index of the processor */
	/* that processor is in use; the next two are valid */
	bool open;
	bool whole;  /* life cycles run unchanged */
	bool differ; /* its CPUs differ */
	char words[TOKEN_WORDS_BYTES];
	struct cpu_set cpu_set;
	struct sequence_values values;
};

/* Starts with VALUES, none of which has been tried. */
void processors_begin(
    struct processors *processors, const struct sequence_values *values);

/*
 * Gives the next life cycle, with the values of the step that it is to test, on CPUS
 * CPUs with LAYOUT.  False: there are no more.
 */
bool processors_next(struct processors *processors, struct sequence *sequence,
    unsigned *cpus, char layout[TOKEN_WORDS_BYTES]);

#endif
