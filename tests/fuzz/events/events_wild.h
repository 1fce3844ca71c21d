/*
 * Events that belong to no program: of every kind, in any order, from anywhere to
 * anywhere.
 */
#ifndef TOPAZ_TESTS_FUZZ_EVENTS_EVENTS_WILD_H
#define TOPAZ_TESTS_FUZZ_EVENTS_EVENTS_WILD_H

#include "tests/fuzz/events/events_walk.h"
#include "tests/fuzz/fuzz.h"

/* One event, by INPUT, to both units of WALK. */
void wild_step(struct walk *walk, struct fuzz_input *input);

#endif
