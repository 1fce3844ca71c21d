#include "harness/explore/search/pairs.h"

#include <math.h>
#include <stdlib.h>

#include "harness/explore/parts/campaign_area.h"

/* Finding the places after a first deviation takes as long as this many schedules. */
#define SECONDS_TO_FIRSTS 4
/* The maximum factor by which a sample is enlarged. */
#define TIMES_MAX 100

static void
scale(struct campaign_area *area, double times)
{
	double keep = (double)area->keep * times;

	area->keep = keep < (double)TRIAL_KEEP_ALL ? (uint64_t)keep
						   : TRIAL_KEEP_ALL;
}

/*
 * Estimates how many pairs there are with a first sample, and scales the sample to
 * BUDGET. A second deviation is tried only up to where the run merges with another one,
 * and not every first deviation has kinds that pairs consist of, so there are fewer
 * pairs than the product.  Every shard runs the whole first sample, because all must
 * select the same pairs; its results are not counted.
 */
static int
fit(struct campaign *campaign, uint32_t begin, uint64_t budget,
    struct tz_error *err)
{
	struct stats *stats = calloc(1, sizeof(*stats));
	uint32_t end = (uint32_t)campaign->area_count;
	uint64_t done = 1;
	double times;
	int error;

	if (stats == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = campaign_area_try(campaign, begin, end, stats, err);
	for (uint32_t i = begin; i < end; i++)
		done += stats->area[i].done;
	free(stats);
	times = (double)budget / (double)done;
	for (uint32_t i = begin; i < end; i++)
		scale(
		    &campaign->area[i], times < TIMES_MAX ? times : TIMES_MAX);
	return error;
}

int
pairs_add(struct campaign *campaign, uint32_t entries, uint64_t budget,
    struct tz_error *err)
{
	const struct campaign_options *options = &campaign->options;
	bool all = options->depth != 1 && options->budget == 0;
	uint32_t begin = (uint32_t)campaign->area_count;
	double each = (double)budget / entries;
	double firsts = sqrt(each / SECONDS_TO_FIRSTS);

	for (uint32_t i = 0; i < entries; i++) {
		struct campaign_area *area = campaign_area_add(
		    campaign, AREA_TWO, i);

		if (area == NULL)
			return tz_error(err, TZ_EUSAGE, "too many scenarios");
		if (!options->kinds_named)
			area->kinds &= deviation_kinds(DEVIATION_IN_PAIRS);
		area->endless = campaign->area[i].endless;
		if (all)
			continue;
		area->each_max = (uint64_t)(firsts * SECONDS_TO_FIRSTS) + 1;
		scale(area, firsts / (double)(campaign->area[i].total + 1));
	}
	return all ? 0 : fit(campaign, begin, budget, err);
}
