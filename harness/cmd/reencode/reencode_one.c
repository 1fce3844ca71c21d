#include "harness/cmd/reencode/reencode_one.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/cmd/cmd.h"

static int
exit_code(const struct reencode_result *result)
{
	switch (result_verdict(result)) {
	case RESULT_EQUAL:
		return CMD_OK;
	case RESULT_NOTHING:
		return CMD_NOTHING;
	case RESULT_DIFFERS:
	case RESULT_CONTRADICTION:
	case RESULT_UNDECODED:
		break;
	}
	return CMD_FINDING;
}

/* The result in all forms that are wanted. */
static int
put(const char *name, const struct reencode_options *options,
    const struct reencode_result *result, const uint8_t *bytes,
    const struct reencode_output *output, struct tz_error *err)
{
	json_t *json;

	if (!output->json) {
		reencode_print(result, bytes, stdout);
	} else {
		json = reencode_json(name, options, result, false);
		if (json == NULL)
			return tz_error(err, TZ_EIO, "out of memory");
		cmd_print_json_line(json);
	}
	return output->page == NULL
	    ? 0
	    : reencode_page_add(output->page,
		  reencode_json(name, options, result, true), err);
}

int
reencode_one(const char *name, const uint8_t *bytes, uint64_t count,
    struct memory_image *memory_image, const struct reencode_options *options,
    const struct reencode_output *output, struct tz_error *err)
{
	struct reencode_result *result = malloc(sizeof(*result));
	struct reencode_options own = *options;
	struct reencode_progress progress;
	int code, error;

	if (result == NULL) {
		(void)tz_error(err, TZ_EIO, "out of memory");
		return cmd_fail(err);
	}
	if (!output->json)
		printf("%s: %llu bytes, profile %s, compared: %s\n", name,
		    (unsigned long long)count, options->profile->name,
		    compare_form_name(options->form));
	reencode_progress_begin(&progress, output->progress, name);
	own.long_excerpt = output->page != NULL;
	own.progress = progress.mode == CMD_PROGRESS_NONE
	    ? NULL
	    : reencode_progress_tell;
	own.progress_arg = &progress;
	error = reencode_trace(bytes, count, memory_image, &own, result, err);
	reencode_progress_end(&progress);
	if (error != 0) {
		free(result);
		return cmd_fail(err);
	}
	code = exit_code(result);
	if (put(name, options, result, bytes, output, err) != 0)
		code = cmd_fail(err);
	reencode_result_free(result);
	free(result);
	return code;
}

int
reencode_worse(int code, int other)
{
	return code == CMD_NOTHING || (other > code && other != CMD_NOTHING)
	    ? other
	    : code;
}
