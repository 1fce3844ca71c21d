/*
 * topaz export: writes a bundle in the format of another tool.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/cmd/cmd.h"
#include "harness/host/folder/output.h"
#include "traces/external/perf_export.h"

struct export_input {
	const char *dir, *output;
	bool perf_data;
};

enum { OPT_PERF_DATA = 256 };

static const struct argp_option export_argp_options[] = {
	{ "perf-data", OPT_PERF_DATA, NULL, 0,
	    "Write a perf.data, decoded with the code in DIR by: perf "
	    "script -i FILE --symfs DIR --itrace=i0ns",
	    0 },
	{ "output", 'o', "FILE", 0,
	    "The file to write (perf.data, which must not exist)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct export_input *input = state->input;

	switch (key) {
	case OPT_PERF_DATA:
		input->perf_data = true;
		return 0;
	case 'o':
		input->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (input->dir != NULL)
			argp_error(state, "one bundle at a time: %s", arg);
		input->dir = arg;
		return 0;
	case ARGP_KEY_END:
		if (input->dir == NULL)
			argp_error(state, "which bundle?");
		if (!input->perf_data)
			argp_error(state, "in which form? --perf-data");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cmd_export_argp = { export_argp_options, parse_one, "DIR",
	"Writes the traces of the bundle DIR for another tool.", NULL, NULL,
	NULL };

/* perf record also writes perf.data, so an existing one is not replaced by default. */
static int
claim(struct export_input *input, struct output **output, struct tz_error *err)
{
	if (input->output == NULL) {
		input->output = "perf.data";
		if (access(input->output, F_OK) == 0)
			return tz_error(err, TZ_EUSAGE,
			    "%s: exists: say with -o which file to write",
			    input->output);
	}
	return output_claim_file(input->output, output, err);
}

static int export(struct export_input *input, struct perf_export_result *result,
    struct tz_error *err)
{
	struct bundle *bundle = NULL;
	struct output *output = NULL;
	int error = bundle_open(input->dir, &bundle, err);

	if (error == 0)
		error = claim(input, &output, err);
	if (error == 0) {
		error = perf_export(bundle, output_new(output), result, err);
		if (error != 0)
			output_rename(output, err);
	}
	if (error == 0) {
		error = output_publish(output, err);
		output = NULL;
	}
	output_abandon(output);
	if (bundle != NULL)
		bundle_close(bundle);
	return error;
}

int
cmd_export(int argc, char **argv)
{
	struct export_input input = { .output = NULL };
	struct perf_export_result result;
	struct tz_error err;

	cmd_parse(&cmd_export_argp, argc, argv, &input);
	if (export(&input, &result, &err) != 0)
		return cmd_fail(&err);
	printf("%s: %" PRIu64 " bytes, %zu trace%s   (perf script -i %s "
	       "--symfs %s --itrace=i0ns)\n",
	    input.output, result.bytes, result.traces,
	    result.traces == 1 ? "" : "s", input.output, input.dir);
	return CMD_OK;
}
