#include "harness/cmd/reencode/reencode_one.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/cmd/cmd.h"

static const char *
form_name(enum compare_form form)
{
	static const char *const names[] = { [COMPARE_CANONICAL] = "canonical",
		[COMPARE_STRICT] = "strict",
		[COMPARE_BYTES] = "bytes" };

	return names[form];
}

int
reencode_one(const char *name, const uint8_t *bytes, uint64_t count,
    struct memory_image *memory_image, const struct reencode_options *options,
    struct tz_error *err)
{
	struct reencode_result *result = malloc(sizeof(*result));
	int code = CMD_OK;

	if (result == NULL) {
		(void)tz_error(err, TZ_EIO, "out of memory");
		return cmd_fail(err);
	}
	printf("%s: %llu bytes, profile %s, compared: %s\n", name,
	    (unsigned long long)count, options->profile->name,
	    form_name(options->form));
	if (reencode_trace(bytes, count, memory_image, options, result, err) !=
	    0) {
		free(result);
		return cmd_fail(err);
	}
	reencode_print(result, bytes, stdout);
	if (result->nothing)
		code = CMD_NOTHING;
	else if (!result->equal)
		code = CMD_FINDING;
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
