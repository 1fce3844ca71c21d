/*
 * The areas of a campaign: one scenario or sequence at one depth each; they are
 * surveyed in the default schedule, and run in parts.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_PARTS_CAMPAIGN_AREA_H
#define TOPAZ_HARNESS_EXPLORE_PARTS_CAMPAIGN_AREA_H

#include "harness/explore/parts/campaign_state.h"

/* Adds an area; NULL: too many. */
struct campaign_area *campaign_area_add(
    struct campaign *campaign, enum area_kind kind, uint32_t entry);

/*
 * Runs the default schedule of AREA's entry and fills in its counts.  Errors as of
 * campaign_entry_runner() and trial_open().
 */
int campaign_area_survey(struct campaign *campaign, struct campaign_area *area,
    struct tz_error *err);

/* Areas [BEGIN, END), and which of their schedules to run; NAME is for progress. */
struct campaign_areas {
	const char *name;
	uint32_t begin, end;
	enum {
		CAMPAIGN_AREA_ALL,
		CAMPAIGN_AREA_FIRST, /* a sample of those with one deviation */
		CAMPAIGN_AREA_REST,
	} which;
};

/*
 * Runs schedules of AREAS in all jobs, in one part or several.  Errors as of
 * campaign_part_run().
 */
int campaign_area_run(struct campaign *campaign,
    const struct campaign_areas *areas, struct tz_error *err);

/*
 * Runs all schedules of areas [BEGIN, END), of all shards, and counts them in STATS, not
 * in the campaign's statistics.  They are not resumed, and not reported.
 */
int campaign_area_try(struct campaign *campaign, uint32_t begin, uint32_t end,
    struct stats *stats, struct tz_error *err);

#endif
