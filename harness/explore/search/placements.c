#include "harness/explore/search/placements.h"

#include <stdlib.h>

#include "harness/explore/parts/campaign_area.h"

#define SAMPLE 24 /* schedules of each area */

/* The instructions that all schedules of AREA would execute, from those of a sample. */
static double
estimate(const struct campaign_area *area, const struct stats_area *sample)
{
	if (sample->done == 0)
		return 0;
	return (double)sample->insns / (double)sample->done *
	    (double)area->total;
}

int
placements_bound(struct campaign *campaign, uint32_t areas, uint64_t insns,
    struct tz_error *err)
{
	struct stats *stats = calloc(1, sizeof(*stats));
	double all = 0;
	int error;

	if (stats == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	for (uint32_t i = 0; i < areas; i++) {
		struct campaign_area *area = &campaign->area[i];

		if (area->total > SAMPLE)
			area->keep = TRIAL_KEEP_ALL / area->total * SAMPLE;
	}
	error = campaign_area_try(campaign, 0, areas, stats, err);
	for (uint32_t i = 0; i < areas; i++)
		all += estimate(&campaign->area[i], &stats->area[i]);
	for (uint32_t i = 0; i < areas; i++)
		campaign->area[i].keep = all > (double)insns
		    ? (uint64_t)((double)TRIAL_KEEP_ALL * (double)insns / all)
		    : TRIAL_KEEP_ALL;
	free(stats);
	return error;
}
