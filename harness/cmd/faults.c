/*
 * topaz faults: what becomes of every fault at every point.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "harness/cmd/campaign_options.h"
#include "harness/cmd/cmd.h"
#include "harness/explore/describe.h"
#include "harness/explore/faults.h"

static const struct argp_child children[] = { { &campaign_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 } };

/* The token of the finding that GROUP became; "" where it is described no more. */
static const char *
token_of(const struct campaign *campaign, const struct campaign_report *report,
    const struct tally_group *group)
{
	size_t index;

	if (group == NULL)
		return "";
	index = (size_t)(group - campaign->tally->group);
	return index < report->summary->finding_count
	    ? report->summary->finding[index].token
	    : "";
}

static void
print_row(const struct campaign *campaign, const struct campaign_report *report,
    const struct fault_result *result)
{
	const struct tally_group *first = result->first_silent != NULL
	    ? result->first_silent
	    : result->first_broken;

	printf("%-12s %8" PRIu64 " %9" PRIu64 " %10" PRIu64 " %7" PRIu64
	       " %7" PRIu64 " %9" PRIu64 "  %s\n",
	    result->name, result->points, result->detected, result->tolerated,
	    result->silent, result->broken, result->framework,
	    token_of(campaign, report, first));
}

static void
print_table(
    const struct campaign *campaign, const struct campaign_report *report)
{
	struct fault_result result;
	struct fault_row row;

	printf("%-12s %8s %9s %10s %7s %7s %9s  %s\n", "FAULT", "points",
	    "detected", "tolerated", "silent", "broken", "framework",
	    "first silent, or else broken");
	for (size_t i = 0; fault_at(i, &row); i++) {
		faults_result(campaign, i, &result);
		if (result.points != 0)
			print_row(campaign, report, &result);
	}
}

static void
print_json(
    const struct campaign *campaign, const struct campaign_report *report)
{
	struct fault_result result;
	struct fault_row row;

	for (size_t i = 0; fault_at(i, &row); i++) {
		json_t *line;

		faults_result(campaign, i, &result);
		line = json_pack(
		    "{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s,"
		    " s:s}",
		    "schema", 1, "kind", "fault", "name", result.name, "points",
		    (json_int_t)result.points, "detected",
		    (json_int_t)result.detected, "tolerated",
		    (json_int_t)result.tolerated, "silent",
		    (json_int_t)result.silent, "broken",
		    (json_int_t)result.broken, "framework",
		    (json_int_t)result.framework, "first_silent",
		    token_of(campaign, report, result.first_silent),
		    "first_broken",
		    token_of(campaign, report, result.first_broken));
		json_dumpf(line, stdout, JSON_SORT_KEYS | JSON_COMPACT);
		putchar('\n');
		json_decref(line);
	}
}

/* All faults, unless the user names some. */
static void
choose_kinds(struct campaign_input *input)
{
	uint32_t schedules = campaign_defaults().kinds;

	input->options.faults = true;
	input->options.kinds_only = input->options.kinds != schedules;
	if (!input->options.kinds_only)
		input->options.kinds = UINT32_MAX << ACT_NMI;
}

int
cmd_faults(int argc, char **argv)
{
	static const struct argp argp = { NULL, NULL,
		"[DRIVER[/SCENARIO]|DRIVER[@CPUS][,LAYOUT]=STEPS]",
		"Causes every fault (topaz list faults) at every point of "
		"DRIVER's (insntrace) scenarios: detected, tolerated, silent, "
		"broken, or the framework's own.  --kinds chooses faults.",
		children, NULL, NULL };
	struct campaign_input input = campaign_input_defaults();
	struct campaign campaign = { .workshop = NULL };
	struct campaign_report report = { .story = NULL };
	struct workshop *workshop = NULL;
	struct tz_error err;
	int code = CMD_OK;

	input.output = "topaz.faults";
	input.pages = false;
	cmd_parse(&argp, argc, argv, &input);
	choose_kinds(&input);
	if (campaign_input_read(&input, &err) != 0 ||
	    campaign_do(&input, &workshop, &campaign, &report, &err) != 0) {
		code = cmd_fail(&err);
	} else {
		if (input.json)
			print_json(&campaign, &report);
		else
			print_table(&campaign, &report);
		if (campaign_print(&input, &report, &err) != 0)
			code = cmd_fail(&err);
	}
	if (code == CMD_OK && campaign_found(&input, &report))
		code = CMD_FINDING;
	campaign_report_free(&report);
	campaign_close(&campaign);
	workshop_close(workshop);
	return code;
}
