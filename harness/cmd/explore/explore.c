/*
 * topaz explore: explores schedules and sequences; reports findings.
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

const struct argp cmd_explore_argp = { NULL, parse_one,
	"[DRIVER[/SCENARIO]|DRIVER[@CPUS][,LAYOUT]=STEPS]",
	"Runs DRIVER (insntrace) under every schedule with one deviation "
	"from the default schedule, or two, and generated sequences of its "
	"operations; judges every run and reports failures.",
	children, NULL, NULL };

int
cmd_explore(int argc, char **argv)
{
	struct campaign_input input = campaign_input_defaults();

	return campaign_main(&cmd_explore_argp, argc, argv, &input, NULL, NULL);
}
