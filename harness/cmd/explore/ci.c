/*
 * topaz ci: for a driver's own repository: explores all scenarios, every schedule with one
 * deviation, and generated sequences.  Fails on findings that are not in the baseline.
 */
#include "harness/cmd/cmd.h"
#include "harness/cmd/explore/campaign_options.h"

static const struct argp_child children[] = {
	{ &campaign_search_argp, 0, NULL, 0 },
	{ &campaign_merge_argp, 0, NULL, 0 },
	{ &campaign_pages_argp, 0, NULL, 0 },
	{ &campaign_report_argp, 0, CAMPAIGN_REPORT_HELP, 1 },
	{ &campaign_common_argp, 0, CAMPAIGN_COMMON_HELP, 2 },
	{ NULL, 0, NULL, 0 },
};

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	return campaign_hand_on(key, state->input, children, state);
}

const struct argp cmd_ci_argp = { NULL, parse_one, "[DRIVER]",
	"Explores DRIVER (insntrace) within a budget of schedules and "
	"writes findings.jsonl, junit.xml and findings.sarif.  With "
	"--baseline FILE it fails only on findings that are not in FILE.",
	children, NULL, NULL };

int
cmd_ci(int argc, char **argv)
{
	struct campaign_input input = campaign_input_defaults();

	input.options.effort = EFFORT_QUICK;
	return campaign_main(&cmd_ci_argp, argc, argv, &input, NULL, NULL);
}
