/*
 * topaz ci: all scenarios, every schedule of one deviation, generated sequences, for
 * a driver's own repository: fails on what the baseline does not know.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/campaign_options.h"
#include "harness/cmd/cmd.h"
#include "harness/report/report.h"

static const struct argp_child children[] = { { &campaign_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 } };

/* Against the baseline: what counts is what is new.  Its file may be missing, where
 * one is to be written. */
static int
compare(const struct campaign_input *input,
    const struct campaign_report *report, struct tz_error *err)
{
	struct report_baseline baseline = { .count = 0 };
	struct report_comparison comparison;
	int code;

	if (input->baseline == NULL)
		return report->summary->finding_count != 0 ? CMD_FINDING
							   : CMD_OK;
	if (report_baseline_read(input->baseline, &baseline, err) != 0) {
		report_baseline_free(&baseline);
		return cmd_fail(err);
	}
	report_baseline_compare(&baseline, report->summary, &comparison);
	code = comparison.new_count != 0 ? CMD_FINDING : CMD_OK;
	if (report_text_comparison(stdout, &baseline, report->summary, err) !=
	    0)
		code = cmd_fail(err);
	report_baseline_free(&baseline);
	return code;
}

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
		code = compare(&input, &report, &err);
	campaign_report_free(&report);
	campaign_close(&campaign);
	workshop_close(workshop);
	return code;
}
