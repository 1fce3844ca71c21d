/*
 * explore, faults and ci from the command line to the exit code.
 */
#include "harness/cmd/cmd.h"
#include "harness/cmd/explore/campaign_options.h"
#include "harness/explore/parts/campaign_part.h"

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

int
campaign_main(const struct argp *argp, int argc, char **argv,
    struct campaign_input *input, campaign_choose choose,
    campaign_before before)
{
	struct campaign campaign = { .build_cache = NULL };
	struct campaign_report report = { .timeline = NULL };
	struct build_cache *build_cache = NULL;
	struct tz_error err;
	int error, code;

	/* Before the parser reorders the arguments. */
	error = cmd_quote(
	    argc, argv, input->command, sizeof(input->command), &err);
	if (error != 0)
		return cmd_fail(&err);
	cmd_parse(argp, argc, argv, input);
	error = choose != NULL ? choose(input, &err) : 0;
	if (error == 0)
		error = campaign_input_read(input, &err);
	if (error == 0)
		error = campaign_do(
		    input, &build_cache, &campaign, &report, &err);
	if (error == 0 && before != NULL)
		before(&campaign, &report, input->json);
	if (error == 0)
		error = campaign_print(input, &report, &err);
	code = error != 0 ? cmd_fail_of(error, &err)
			  : report.summary->exit_code;
	campaign_report_free(&report);
	campaign_close(&campaign);
	build_cache_close(build_cache);
	return code;
}
