/*
 * topaz verify: the verdict of traces/verify/verify.h on a bundle, or that of
 * traces/external/external_decoder.h on the output of another decoder.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/trace/bundle_symbols.h"
#include "harness/host/input.h"
#include "traces/external/external_decoder.h"
#include "traces/verify/verify.h"

struct verify_input {
	const char *dir;
	uint32_t rows;
	bool json;
	const char *perf_data; /* in place of the bundle's; NULL: that */
	const char *decoded;   /* a list of instructions; "-": standard input */
	enum decoder_line_format format;
	uint32_t cpu;
};

enum {
	OPT_JSON = 256,
	OPT_PERF_DATA,
	OPT_EXPECT,
	OPT_DECODED,
	OPT_FORMAT,
	OPT_CPU
};

static const struct argp_option verify_argp_options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print the result as JSON", 0 },
	{ "expect", OPT_EXPECT, "ROW", 0,
	    "Bytes in this row of the accounting are no finding: overwritten, "
	    "unreported, prefix, stale (repeatable)",
	    0 },
	{ "perf-data", OPT_PERF_DATA, "FILE", 0,
	    "Compare FILE in place of the bundle's perf.data (topaz record)",
	    0 },
	{ "decoded", OPT_DECODED, "FILE", 0,
	    "Compare the instructions that another decoder printed into FILE "
	    "(-: standard input) with what was executed, in place of libipt's",
	    0 },
	{ "format", OPT_FORMAT, "perf|ptxed|plain", 0,
	    "Format of that list: perf (perf script, instruction samples), "
	    "ptxed, plain (one address per line); detected if not given",
	    0 },
	{ "cpu", OPT_CPU, "N", 0,
	    "Lines of that list without a CPU belong to CPU N (thread N, where "
	    "threads were traced); only CPU N is compared",
	    0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* Checks that options for --decoded are given only with it, and other options without. */
static void
check_input(const struct verify_input *input, struct argp_state *state)
{
	if (input->dir == NULL)
		argp_error(state, "which bundle?");
	if (input->decoded == NULL &&
	    (input->format != DECODER_LINE_ANY ||
		input->cpu != DECODER_LINE_NO_CPU))
		argp_error(state, "--format and --cpu are for --decoded");
	if (input->decoded != NULL &&
	    (input->json || input->rows != VERIFY_ROWS_DEFAULT))
		argp_error(
		    state, "--json and --expect do not go with --decoded");
}

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct verify_input *input = state->input;
	unsigned row;

	switch (key) {
	case OPT_JSON:
		input->json = true;
		return 0;
	case OPT_PERF_DATA:
		input->perf_data = arg;
		return 0;
	case OPT_EXPECT:
		for (row = 0; row < ACCOUNT_ROW_COUNT; row++)
			if (strcmp(arg, account_row_name(row)) == 0)
				break;
		if (row == ACCOUNT_ROW_COUNT) {
			fprintf(
			    stderr, "topaz: --expect %s: no such row\n", arg);
			exit(CMD_USAGE);
		}
		input->rows |= 1u << row;
		return 0;
	case OPT_DECODED:
		input->decoded = arg;
		return 0;
	case OPT_FORMAT:
		input->format = decoder_line_format_find(arg);
		if (input->format == DECODER_LINE_FORMATS)
			cmd_bad_value("format", arg, "perf, ptxed or plain");
		return 0;
	case OPT_CPU:
		input->cpu = (uint32_t)cmd_number("cpu", arg, CMD_THINGS);
		return 0;
	case ARGP_KEY_ARG:
		if (input->dir != NULL)
			argp_error(state, "one bundle at a time: %s", arg);
		input->dir = arg;
		return 0;
	case ARGP_KEY_END:
		check_input(input, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int
print_result(const struct verify_input *input,
    const struct verify_result *result, struct tz_error *err)
{
	char *text;

	if (result->stream_count == 0 && result->record_count == 0 &&
	    result->counter_count == 0) {
		fprintf(stderr, "topaz: %s: no trace in it\n", input->dir);
		return CMD_NOTHING;
	}
	if (!input->json) {
		verify_print(result, stdout);
	} else {
		text = verify_json(result);
		if (text == NULL) {
			(void)tz_error(err, TZ_EIO, "out of memory");
			return cmd_fail(err);
		}
		puts(text);
		free(text);
	}
	if (!result->match)
		return CMD_FINDING;
	return result->nothing ? CMD_UNJUDGED : CMD_OK;
}

/* A bundle of `topaz run --no-exec-log` has no execution log to compare with. */
static int
check_exec_log(const struct bundle *bundle, struct tz_error *err)
{
	bool any = false;
	int error = 0;

	for (unsigned i = 0; error == 0 && !any && i < bundle->info.cpu_count;
	     i++) {
		char name[BUNDLE_NAME_BYTES];
		FILE *file;

		error = bundle_open_exec_log(bundle, i, name, &file, err);
		if (error != 0)
			break;
		any = getc(file) != EOF;
		fclose(file);
	}
	if (error == 0 && !any)
		error = tz_error(err, TZ_EUSAGE,
		    "%s: it holds no execution log (topaz run --no-exec-log)",
		    bundle->path);
	return error;
}

/* Compares the list of another decoder with the execution log. */
static int
verify_list(const struct verify_input *input, const struct bundle *bundle,
    const struct symbolizer *symbolizer, struct tz_error *err)
{
	struct external_decoder_options options = { .symbolizer = symbolizer,
		.format = input->format,
		.id = input->cpu };
	bool own = strcmp(input->decoded, "-") == 0;
	FILE *file = stdin;
	struct external_decoder_result result;
	int error = own ? 0
			: input_open(input->decoded, INPUT_LIST, &file, err);
	int code;

	if (error != 0)
		return cmd_fail(err);
	error = external_decoder_verify(
	    bundle, file, input->decoded, &options, &result, err);
	if (!own)
		fclose(file);
	if (error != 0)
		return cmd_fail(err);
	external_decoder_print(&result, input->decoded, stdout);
	code = result.match ? CMD_OK : CMD_FINDING;
	external_decoder_result_free(&result);
	return code;
}

/* Compares libipt's decoding of the traces with the execution log. */
static int
verify_traces(const struct verify_input *input, const struct bundle *bundle,
    const struct symbolizer *symbolizer, struct tz_error *err)
{
	struct verify_options options = { .symbolizer = symbolizer,
		.perf_data = input->perf_data,
		.rows = input->rows };
	struct verify_result result;
	int code;

	if (verify_bundle(bundle, &options, &result, err) != 0)
		return cmd_fail(err);
	code = print_result(input, &result, err);
	verify_result_free(&result);
	return code;
}

const struct argp cmd_verify_argp = { verify_argp_options, parse_one, "DIR",
	"Decodes every trace of the bundle DIR with libipt and demands "
	"that it is what was executed; accounts for every byte.",
	NULL, NULL, NULL };

int
cmd_verify(int argc, char **argv)
{
	struct verify_input input = { .rows = VERIFY_ROWS_DEFAULT,
		.cpu = DECODER_LINE_NO_CPU };
	struct bundle_symbols *symbols = NULL;
	struct bundle *bundle = NULL;
	struct symbolizer symbolizer = { .name = bundle_symbols_name };
	struct tz_error err;
	int error, code;

	cmd_parse(&cmd_verify_argp, argc, argv, &input);
	error = bundle_open(input.dir, &bundle, &err);
	if (error == 0)
		error = check_exec_log(bundle, &err);
	if (error == 0)
		error = bundle_symbols_open(bundle, &symbols, &err);
	symbolizer.arg = symbols;
	if (error != 0)
		code = cmd_fail(&err);
	else if (input.decoded != NULL)
		code = verify_list(&input, bundle, &symbolizer, &err);
	else
		code = verify_traces(&input, bundle, &symbolizer, &err);
	bundle_symbols_close(symbols);
	if (bundle != NULL)
		bundle_close(bundle);
	return code;
}
