/*
 * topaz verify: the verdict of traces/verify.h on a bundle.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/bundle_symbols.h"
#include "harness/cmd/cmd.h"
#include "traces/verify.h"

struct verify_input {
	const char *dir;
	uint32_t rows;
	bool json;
};

enum { OPT_JSON = 256, OPT_EXPECT };

static const struct argp_option verify_argp_options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print the result as JSON", 0 },
	{ "expect", OPT_EXPECT, "ROW", 0,
	    "Bytes in this row of the accounting are no finding: overwritten, "
	    "unreported, prefix, stale (again for each further one)",
	    0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct verify_input *input = state->input;
	unsigned row;

	switch (key) {
	case OPT_JSON:
		input->json = true;
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
	case ARGP_KEY_ARG:
		if (input->dir != NULL)
			argp_error(state, "one bundle at a time: %s", arg);
		input->dir = arg;
		return 0;
	case ARGP_KEY_END:
		if (input->dir == NULL)
			argp_error(state, "which bundle?");
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

	if (result->stream_count == 0) {
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
	return result->match ? CMD_OK : CMD_FINDING;
}

/* A bundle of `topaz run --no-truth` leaves nothing to compare with. */
static int
check_truth(const struct bundle *bundle, struct tz_error *err)
{
	size_t count = 0;
	unsigned i;
	int error = 0;

	for (i = 0; error == 0 && count == 0 && i < bundle->info.cpu_count;
	     i++) {
		uint32_t *words;

		error = bundle_read_truth(bundle, i, &words, &count, err);
		if (error == 0)
			free(words);
	}
	if (error == 0 && count == 0)
		error = tz_error(err, TZ_EUSAGE,
		    "%s: it holds no truth (topaz run --no-truth)",
		    bundle->path);
	return error;
}

int
cmd_verify(int argc, char **argv)
{
	static const struct argp argp = { verify_argp_options, parse_one, "DIR",
		"Decodes every trace of the bundle DIR with libipt and demands "
		"that it is what was executed; accounts for every byte.",
		NULL, NULL, NULL };
	struct verify_input input = { .rows = VERIFY_ROWS_DEFAULT };
	struct bundle_symbols *symbols = NULL;
	struct bundle *bundle = NULL;
	struct verify_result result = { .stream_count = 0 };
	struct symbolizer symbolizer = { .name = bundle_symbols_name };
	struct verify_options options = { .symbolizer = &symbolizer };
	struct tz_error err;
	int error, code;

	cmd_parse(&argp, argc, argv, &input);
	options.rows = input.rows;
	error = bundle_open(input.dir, &bundle, &err);
	if (error == 0)
		error = check_truth(bundle, &err);
	if (error == 0)
		error = bundle_symbols_open(bundle, &symbols, &err);
	symbolizer.arg = symbols;
	if (error == 0)
		error = verify_bundle(bundle, &options, &result, &err);
	if (error == 0) {
		code = print_result(&input, &result, &err);
		verify_result_free(&result);
	} else {
		code = cmd_fail(&err);
	}
	bundle_symbols_close(symbols);
	if (bundle != NULL)
		bundle_close(bundle);
	return code;
}
