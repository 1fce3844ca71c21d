/*
 * explore, faults and ci from the command line to the exit code.
 */
#include "harness/cmd/cmd.h"
#include "harness/cmd/explore/campaign_options.h"
#include "harness/explore/parts/campaign_part.h"

int
campaign_parse(const struct argp *argp, int argc, char **argv,
    struct campaign_input *input, struct tz_error *err)
{
	/* Before the parser reorders the arguments. */
	int error = cmd_quote(
	    argc, argv, input->command, sizeof(input->command), err);

	if (error == 0)
		cmd_parse(argp, argc, argv, input);
	return error;
}

int
campaign_finish(struct campaign_input *input, campaign_choose choose,
    campaign_before before)
{
	struct campaign campaign = { .build_cache = NULL };
	struct campaign_report report = { .timeline = NULL };
	struct build_cache *build_cache = NULL;
	struct tz_error err;
	int error, code;

	error = choose != NULL ? choose(input, &err) : 0;
	if (error == 0)
		error = campaign_input_read(input, &err);
	if (error == 0)
		error = campaign_do(
		    input, &build_cache, &campaign, &report, &err);
	if (error == 0 && before != NULL)
		before(&campaign, &report, input->json);
	if (error == 0)
		error = campaign_print(input, &report, &err);
	code = error != 0 ? cmd_fail_of(error, &err)
			  : report.summary->exit_code;
	campaign_report_free(&report);
	campaign_close(&campaign);
	build_cache_close(build_cache);
	return code;
}

int
campaign_main(const struct argp *argp, int argc, char **argv,
    struct campaign_input *input, campaign_choose choose,
    campaign_before before)
{
	struct tz_error err;

	if (campaign_parse(argp, argc, argv, input, &err) != 0)
		return cmd_fail(&err);
	return campaign_finish(input, choose, before);
}
