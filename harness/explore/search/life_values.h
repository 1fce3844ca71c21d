/*
 * Life cycles with the values of one step changed: whether the step then asks for other
 * MSR values, and on how many CPUs its success can be judged.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_LIFE_VALUES_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_LIFE_VALUES_H

#include "harness/manifest/manifest.h"

/*
 * True if the changed step of SEQUENCE, the last result of VALUES, configures and asks
 * for other MSR values than the life cycle's own step.
 */
bool life_value_asks(
    const struct sequence_values *values, const struct sequence *sequence);

/*
 * The smallest number of CPUs with which the life cycle's step has to succeed.  CPUS_MAX
 * if the step need not succeed with any smaller number.
 */
unsigned life_value_cpus(
    const struct sequence_values *values, unsigned cpus_max);

/*
 * The next life cycle with values that ask for no other MSR values: sizes, numbers and
 * flags that only the driver looks at.  False: there are no more.
 */
bool life_value_next(struct sequence_values *values, struct sequence *sequence);

#endif
