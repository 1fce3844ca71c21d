/*
 * topaz explore: schedules and sequences, findings and their reports.
 */
#include "harness/cmd/campaign_options.h"
#include "harness/cmd/cmd.h"

const struct argp cmd_explore_argp = { NULL, NULL,
	"[DRIVER[/SCENARIO]|DRIVER[@CPUS][,LAYOUT]=STEPS]",
	"Runs DRIVER (insntrace) under every schedule with one deviation "
	"from the base order, or two, and generated sequences of its "
	"operations; judges every run and reports what fails.",
	campaign_children, NULL, NULL };

int
cmd_explore(int argc, char **argv)
{
	struct campaign_input input = campaign_input_defaults();

	return campaign_main(&cmd_explore_argp, argc, argv, &input, NULL, NULL);
}
