/*
 * Kendall's tau-b by Knight's method: sorted by one side, the exchanges of a merge sort by
 * the other side are the discordant pairs.
 */
#include "harness/cost/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double
compare_error(const struct compare_pair *pair)
{
	return fabs(pair->model - pair->measured) / pair->measured;
}

static int
order_of(double a, double b)
{
	return (a > b) - (a < b);
}

static int
by_model(const void *a, const void *b)
{
	const struct compare_pair *x = a, *y = b;
	int order = order_of(x->model, y->model);

	return order != 0 ? order : order_of(x->measured, y->measured);
}

static int
by_measured(const void *a, const void *b)
{
	const struct compare_pair *x = a, *y = b;

	return order_of(x->measured, y->measured);
}

static int
by_number(const void *a, const void *b)
{
	return order_of(*(const double *)a, *(const double *)b);
}

/* Pairs of elements that IS_EQUAL, all of which are neighbours. */
static double
count_ties(const struct compare_pair *pair, size_t count,
    bool (*is_equal)(
	const struct compare_pair *a, const struct compare_pair *b))
{
	double ties = 0;
	size_t run = 1;

	for (size_t i = 1; i <= count; i++) {
		if (i < count && is_equal(&pair[i - 1], &pair[i])) {
			run++;
			continue;
		}
		ties += (double)run * (double)(run - 1) / 2;
		run = 1;
	}
	return ties;
}

static bool
same_model(const struct compare_pair *a, const struct compare_pair *b)
{
	return order_of(a->model, b->model) == 0;
}

static bool
same_measured(const struct compare_pair *a, const struct compare_pair *b)
{
	return order_of(a->measured, b->measured) == 0;
}

static bool
same_both(const struct compare_pair *a, const struct compare_pair *b)
{
	return same_model(a, b) && same_measured(a, b);
}

/* Sorts by the measured side; returns the exchanges of neighbours that it takes. */
static double
count_exchanges(
    struct compare_pair *pair, struct compare_pair *room, size_t count)
{
	double exchanges = 0;

	for (size_t width = 1; width < count; width *= 2) {
		for (size_t low = 0; low < count; low += 2 * width) {
			size_t middle = low + width < count ? low + width
							    : count;
			size_t high = low + 2 * width < count ? low + 2 * width
							      : count;
			size_t left = low, right = middle;

			for (size_t to = low; to < high; to++) {
				if (right == high ||
				    (left < middle &&
					pair[left].measured <=
					    pair[right].measured)) {
					room[to] = pair[left++];
					continue;
				}
				exchanges += (double)(middle - left);
				room[to] = pair[right++];
			}
		}
		memcpy(pair, room, count * sizeof(*pair));
	}
	return exchanges;
}

static double
find_tau(struct compare_pair *pair, struct compare_pair *room, size_t count)
{
	double all = (double)count * (double)(count - 1) / 2;
	double model, measured, both, discordant, scale;

	qsort(pair, count, sizeof(*pair), by_model);
	model = count_ties(pair, count, same_model);
	both = count_ties(pair, count, same_both);
	discordant = count_exchanges(pair, room, count);
	qsort(pair, count, sizeof(*pair), by_measured);
	measured = count_ties(pair, count, same_measured);
	scale = sqrt((all - model) * (all - measured));
	return scale > 0
	    ? (all - model - measured + both - 2 * discordant) / scale
	    : 0;
}

int
compare(struct compare_pair *pair, size_t count, struct compare_result *result,
    struct tz_error *err)
{
	struct compare_pair *room = malloc(count * sizeof(*room));
	double *error = malloc(count * sizeof(*error)), sum = 0;
	size_t within = 0;

	TZ_ASSERT(count > 0);
	if (room == NULL || error == NULL) {
		free(room);
		free(error);
		return tz_error(err, TZ_EIO, "out of memory");
	}
	for (size_t i = 0; i < count; i++) {
		error[i] = compare_error(&pair[i]);
		sum += error[i];
		within += error[i] <= 0.1;
	}
	qsort(error, count, sizeof(*error), by_number);
	*result = (struct compare_result){
		.mean_error = sum / (double)count,
		.median_error = (error[(count - 1) / 2] + error[count / 2]) / 2,
		.within_tenth = (double)within / (double)count,
		.tau = find_tau(pair, room, count),
	};
	free(room);
	free(error);
	return 0;
}
