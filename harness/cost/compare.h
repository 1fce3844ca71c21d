/* A model's figures compared with measured ones. */
#ifndef TOPAZ_HARNESS_COST_COMPARE_H
#define TOPAZ_HARNESS_COST_COMPARE_H

#include "emu/base/base.h"

struct compare_pair {
	double model, measured; /* both above 0 */
};

struct compare_result {
	double mean_error;   /* of |model - measured| / measured */
	double median_error; /* of the same */
	double within_tenth; /* part of the pairs with an error up to 0.1 */
	double tau;          /* Kendall's tau-b; 0: one side is constant */
};

/* |model - measured| / measured. */
double compare_error(const struct compare_pair *pair);

/* Compares COUNT > 0 pairs, and changes their order.  -TZ_EIO: no memory. */
int compare(struct compare_pair *pair, size_t count,
    struct compare_result *result, struct tz_error *err);

#endif
