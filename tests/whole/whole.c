#include "tests/whole/whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *driver_source;
static char folder[] = "whole-XXXXXX";

static void
remove_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	if (system(command) != 0)
		fprintf(stderr, "%s stays behind\n", folder);
}

void
whole_init(int argc, char **argv)
{
	driver_source = argc > 1 ? argv[1] : NULL;
	if (mkdtemp(folder) == NULL) {
		perror(folder);
		exit(1);
	}
	atexit(remove_folder);
}

const char *
whole_driver_source(void)
{
	if (driver_source == NULL || access(driver_source, R_OK) != 0) {
		print_message("no source of the driver here\n");
		skip();
	}
	return driver_source;
}

struct run_options
whole_options(const char *driver, const char *name)
{
	static char paths[8][WHOLE_PATH_BYTES];
	static unsigned next;
	char *path = paths[next++ % TZ_ARRAY_LEN(paths)];
	struct run_options options = run_defaults();

	snprintf(path, WHOLE_PATH_BYTES, "%s/%s", folder, name);
	options.driver = driver;
	options.output = path;
	options.rounds = 1;
	options.trace_kernel = true;
	options.trace_user = true;
	return options;
}

void
whole_run(const struct run_options *options, struct run_outcome *outcome)
{
	struct tz_error err = { "" };

	if (run_driver(options, outcome, &err) != 0)
		fail_msg("%s", err.text);
}

void
whole_verify(const struct run_options *options, struct verify_result *result)
{
	struct verify_options how = { .rows = VERIFY_ROWS_DEFAULT };
	struct run_outcome outcome;
	struct bundle *bundle;
	struct tz_error err = { "" };

	whole_run(options, &outcome);
	if (run_verdict(&outcome) != RUN_PASSED)
		fail_msg("run ended with %d: %s", (int)outcome.result.end,
		    outcome.result.text);
	if (bundle_open(options->output, &bundle, &err) != 0 ||
	    verify_bundle(bundle, &how, result, &err) != 0)
		fail_msg("%s", err.text);
	bundle_close(bundle);
}

void
whole_assert_match(
    const struct verify_result *result, size_t streams, uint64_t insns_min)
{
	if (!result->match)
		verify_print(result, stderr);
	assert_true(result->match);
	assert_int_equal(result->finding_count, 0);
	assert_int_equal(result->stream_count, streams);
	for (size_t i = 0; i < streams; i++) {
		const struct verify_stream *stream = &result->streams[i];

		assert_true(stream->expected >= insns_min);
		assert_int_equal(stream->decoded, stream->expected);
		assert_int_equal(stream->matched, stream->expected);
		assert_int_equal(stream->rows[ACCOUNT_WRITTEN],
		    stream->rows[ACCOUNT_REPORTED] +
			stream->rows[ACCOUNT_LOST] +
			stream->rows[ACCOUNT_TAIL]);
	}
}

bool
whole_equal(const char *name_a, const char *name_b)
{
	char command[4 * WHOLE_PATH_BYTES];

	snprintf(command, sizeof(command), "diff -r '%s/%s' '%s/%s' >&2",
	    folder, name_a, folder, name_b);
	return system(command) == 0;
}
