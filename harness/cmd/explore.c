/*
 * topaz explore: schedules and sequences, findings and their reports.
 */
#include "harness/cmd/campaign_options.h"
#include "harness/cmd/cmd.h"

int
cmd_explore(int argc, char **argv)
{
	static const struct argp argp = { NULL, NULL,
		"[DRIVER[/SCENARIO]|DRIVER[@CPUS][,LAYOUT]=STEPS]",
		"Runs DRIVER (insntrace) under every schedule with one deviation "
		"from the base order, or two, and generated sequences of its "
		"operations; judges every run and reports what fails.",
		campaign_children, NULL, NULL };
	struct campaign_input input = campaign_input_defaults();

	return campaign_main(&argp, argc, argv, &input, NULL, NULL);
}
