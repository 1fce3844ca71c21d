/*
 * The place of an address in the guest's sources, as findings and timelines show it.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_PLACE_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_PLACE_H

#include "harness/explore/runner/runner.h"
#include "harness/finding/finding.h"

/* The function and the line at VA; empty if VA is in none. */
void place_find(
    struct runner *runner, uint64_t va, struct finding_place *place);

/*
 * The line of the driver's own sources that RIP belongs to, and the function without
 * compiler suffixes (".part.0"); empty for 0.
 */
void place_find_own(
    struct runner *runner, uint64_t rip, struct finding_place *place);

#endif
