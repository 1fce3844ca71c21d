/*
 * topaz ci: all scenarios, every schedule of one deviation, generated sequences, for
 * a driver's own repository: fails on what the baseline does not know.
 */
#include <stdio.h>

#include "harness/cmd/campaign_options.h"
#include "harness/cmd/cmd.h"

static const struct argp_child children[] = { { &campaign_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 } };

int
cmd_ci(int argc, char **argv)
{
	static const struct argp argp = { NULL, NULL, "[DRIVER]",
		"Explores DRIVER (insntrace) within a budget of schedules and "
		"writes findings.jsonl, junit.xml and findings.sarif.  With "
		"--baseline FILE only findings that FILE lacks make it fail.",
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
		code = campaign_found(&input, &report) ? CMD_FINDING : CMD_OK;
	if (report.unshown != 0)
		code = CMD_BUG;
	campaign_report_free(&report);
	campaign_close(&campaign);
	workshop_close(workshop);
	return code;
}
