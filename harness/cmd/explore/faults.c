/*
 * topaz faults: the result of every fault at every point.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/explore/campaign_options.h"
#include "harness/explore/search/faults.h"

/* The token of the finding of GROUP; "": GROUP was not described as a finding. */
static const char *
token_of(const struct campaign_report *report, const struct stats_group *group)
{
	for (size_t i = 0; group != NULL && i < report->summary->finding_count;
	     i++) {
		const struct finding *finding = &report->summary->finding[i];

		if (finding->cause == group->cause &&
		    finding->rank[0] == group->rank.area &&
		    finding->rank[1] == group->rank.first &&
		    finding->rank[2] == group->rank.second)
			return finding->token;
	}
	return "";
}

static void
print_row(
    const struct campaign_report *report, const struct fault_result *result)
{
	const struct stats_group *first = result->first_silent != NULL
	    ? result->first_silent
	    : result->first_broken;

	printf("%-12s %8" PRIu64 " %9" PRIu64 " %10" PRIu64 " %7" PRIu64
	       " %7" PRIu64 " %9" PRIu64 "  %s\n",
	    result->name, result->points, result->detected, result->tolerated,
	    result->silent, result->broken, result->framework,
	    token_of(report, first));
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
			print_row(report, &result);
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
		    token_of(report, result.first_silent), "first_broken",
		    token_of(report, result.first_broken));
		cmd_print_json_line(line);
	}
}

/* Selects all faults, unless the user names some. */
static int
choose_faults(struct campaign_input *input, struct tz_error *err)
{
	if (!input->options.kinds_named)
		input->options.kinds = deviation_kinds(DEVIATION_IN_FAULTS);
	if (faults_deviations(input->options.kinds) == 0)
		return tz_error(err, TZ_EUSAGE,
		    "--kinds: no fault among them; see: topaz list faults");
	return 0;
}

static void
print_results(const struct campaign *campaign,
    const struct campaign_report *report, bool json)
{
	if (json)
		print_json(campaign, report);
	else
		print_table(campaign, report);
}

enum { OPT_POINTS = 512 };

static const struct argp_option options[] = {
	{ "each-point", OPT_POINTS, NULL, 0,
	    "Try every point, whatever the budget", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const struct argp_child children[] = {
	{ &campaign_merge_argp, 0, NULL, 0 },
	{ &campaign_report_argp, 0, CAMPAIGN_REPORT_HELP, 1 },
	{ &campaign_common_argp, 0, CAMPAIGN_COMMON_HELP, 2 },
	{ NULL, 0, NULL, 0 },
};

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct campaign_input *input = state->input;

	(void)arg;
	if (key != OPT_POINTS)
		return campaign_hand_on(key, input, children, state);
	input->options.each_point = true;
	return 0;
}

const struct argp cmd_faults_argp = { options, parse_one,
	"[DRIVER[/SCENARIO]|DRIVER[@CPUS][,LAYOUT]=STEPS]",
	"Injects every fault (topaz list faults) at every point of "
	"DRIVER's (insntrace) scenarios, or at a sample of the points "
	"within the budget: detected, tolerated, silent, broken, or the "
	"framework's own.  --kinds selects faults, --each-point selects "
	"every point.",
	children, NULL, NULL };

int
cmd_faults(int argc, char **argv)
{
	struct campaign_input input = campaign_input_defaults();

	input.options.faults = true;
	input.output = "topaz.faults";
	input.pages = false;
	return campaign_main(
	    &cmd_faults_argp, argc, argv, &input, choose_faults, print_results);
}
