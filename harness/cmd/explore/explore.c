/*
 * topaz explore: explores schedules and sequences; reports findings.
 */
#include <string.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/explore/campaign_options.h"
#include "harness/explore/linux/linux_findings.h"

static const struct argp_child children[] = {
	{ &campaign_search_argp, 0, NULL, 0 },
	{ &campaign_merge_argp, 0, NULL, 0 },
	{ &campaign_pages_argp, 0, NULL, 0 },
	{ &campaign_report_argp, 0, CAMPAIGN_REPORT_HELP, 1 },
	{ &campaign_common_argp, 0, CAMPAIGN_COMMON_HELP, 2 },
	{ &linux_argp, 0, LINUX_OPTIONS_HELP, 3 },
	{ NULL, 0, NULL, 0 },
};

#define LINUX_CHILD 5 /* the index above */

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct campaign_input *input = state->input;
	error_t error = campaign_hand_on(key, input, children, state);

	(void)arg;
	if (key == ARGP_KEY_INIT)
		state->child_inputs[LINUX_CHILD] = &input->linux_guest;
	return error;
}

const struct argp cmd_explore_argp = { NULL, parse_one,
	"[DRIVER[/SCENARIO]|DRIVER[@CPUS][,LAYOUT]=STEPS]",
	"Runs DRIVER (insntrace) under every schedule with one deviation "
	"from the default schedule, or two, and generated sequences of its "
	"operations; judges every run and reports failures.  DRIVER linux-pt "
	"is the Intel PT driver of a stock Linux kernel, which is booted.",
	children, NULL, NULL };

int
cmd_explore(int argc, char **argv)
{
	struct campaign_input input = campaign_input_defaults();
	struct tz_error err;

	if (campaign_parse(&cmd_explore_argp, argc, argv, &input, &err) != 0)
		return cmd_fail(&err);
	if (input.argument != NULL && strcmp(input.argument, LINUX_DRIVER) == 0)
		return campaign_explore_linux(&input);
	if (input.linux_guest.given) {
		(void)tz_error(&err, TZ_EUSAGE,
		    "--kernel, --run and --packages are only for linux-pt");
		return cmd_fail(&err);
	}
	return campaign_finish(&input, NULL, NULL);
}
