/*
 * The exit code of an exploration.
 */
#include "harness/cmd/cmd.h"
#include "harness/cmd/explore/campaign_options.h"
#include "harness/explore/parts/campaign_part.h"

bool
campaign_found(
    const struct campaign_input *input, const struct campaign_report *report)
{
	struct report_comparison comparison;

	if (input->baseline == NULL)
		return report->summary->finding_count != 0;
	report_baseline_compare(
	    &report->baseline, report->summary, &comparison);
	return comparison.new_count != 0;
}

/*
 * True if AREA belongs to the requested depth: all schedules with up to that many
 * deviations, of the subject that the user named or of each scenario.  Generated sequences
 * and random schedules do not belong to it; they are always a sample.
 */
static bool
is_asked(const struct campaign *campaign, const struct campaign_area *area)
{
	if (area->kind == AREA_FAULT)
		return true;
	if (area->kind != AREA_ONE &&
	    (area->kind != AREA_TWO || campaign->options.depth < 2))
		return false;
	return campaign->options.subject != NULL ||
	    campaign->entries.at[area->entry].name[0] != '\0';
}

static bool
is_exhaustive(const struct campaign *campaign)
{
	size_t asked = 0;

	for (size_t i = 0; i < campaign->area_count; i++) {
		const struct campaign_area *area = &campaign->area[i];

		if (!is_asked(campaign, area))
			continue;
		asked++;
		if (area->keep < TRIAL_KEEP_ALL || area->each_max != 0 ||
		    !campaign_part_ended(campaign, i))
			return false;
	}
	return asked != 0 && !campaign->stats->overflow;
}

int
campaign_exit_code(const struct campaign_input *input,
    const struct campaign *campaign, const struct campaign_report *report)
{
	const struct finding_summary *summary = report->summary;

	if (report->unshown != 0)
		return CMD_BUG;
	if (campaign->parts.interrupted)
		return CMD_BUDGET;
	if (summary->finding_count != summary->judged_count)
		return CMD_UNJUDGED;
	if (campaign_found(input, report))
		return CMD_FINDING;
	if (report_is_cut(report->summary) || report->interrupted ||
	    (input->require_exhaustive && !is_exhaustive(campaign)))
		return CMD_BUDGET;
	return CMD_OK;
}
