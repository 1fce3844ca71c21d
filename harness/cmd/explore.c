/*
 * topaz explore: schedules and sequences, findings and their reports.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness/cmd/campaign_options.h"
#include "harness/cmd/cmd.h"

static const struct argp_child children[] = { { &campaign_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 } };

static bool
is_exhaustive(const struct campaign *campaign)
{
	for (size_t i = 0; i < campaign->area_count; i++) {
		if (campaign->area[i].keep < TRIAL_KEEP_ALL ||
		    campaign->area[i].kind == AREA_RANDOM ||
		    campaign->area[i].kind == AREA_SEQUENCES)
			return false;
	}
	return !campaign->interrupted && !campaign->tally->overflow;
}

static int
exit_code(const struct campaign_input *input, const struct campaign *campaign,
    const struct campaign_report *report)
{
	uint64_t done = 0, unmodelled = 0;

	if (campaign_found(input, report))
		return CMD_FINDING;
	for (size_t i = 0; i < campaign->area_count; i++) {
		done += campaign->tally->area[i].done;
		unmodelled += campaign->tally->area[i].unmodelled;
	}
	if (done != 0 && unmodelled >= done)
		return CMD_UNMODELLED;
	if (input->require_exhaustive && !is_exhaustive(campaign))
		return CMD_BUDGET;
	return CMD_OK;
}

int
cmd_explore(int argc, char **argv)
{
	static const struct argp argp = { NULL, NULL,
		"[DRIVER[/SCENARIO]|DRIVER[@CPUS][,LAYOUT]=STEPS]",
		"Runs DRIVER (insntrace) under every schedule with one deviation "
		"from the base order, or two, and generated sequences of its "
		"operations; judges every run and reports what fails.",
		children, NULL, NULL };
	struct campaign_input input = campaign_input_defaults();
	struct campaign campaign = { .workshop = NULL };
	struct campaign_report report = { .story = NULL };
	struct workshop *workshop = NULL;
	struct tz_error err;
	int code;

	cmd_parse(&argp, argc, argv, &input);
	if (campaign_input_read(&input, &err) != 0 ||
	    campaign_do(&input, &workshop, &campaign, &report, &err) != 0 ||
	    campaign_print(&input, &report, &err) != 0)
		code = cmd_fail(&err);
	else
		code = exit_code(&input, &campaign, &report);
	if (report.unshown != 0)
		code = CMD_BUG;
	campaign_report_free(&report);
	campaign_close(&campaign);
	workshop_close(workshop);
	return code;
}
