/*
 * topaz ci: all scenarios, every schedule of one deviation, generated sequences, for
 * a driver's own repository: fails on what the baseline does not know.
 */
#include "harness/cmd/campaign_options.h"
#include "harness/cmd/cmd.h"

const struct argp cmd_ci_argp = { NULL, NULL, "[DRIVER]",
	"Explores DRIVER (insntrace) within a budget of schedules and "
	"writes findings.jsonl, junit.xml and findings.sarif.  With "
	"--baseline FILE only findings that FILE lacks make it fail.",
	campaign_children, NULL, NULL };

int
cmd_ci(int argc, char **argv)
{
	struct campaign_input input = campaign_input_defaults();

	input.options.effort = EFFORT_QUICK;
	return campaign_main(&cmd_ci_argp, argc, argv, &input, NULL, NULL);
}
