#include "harness/cmd/reencode/reencode_one.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/cmd/cmd.h"

static int
print_json(const char *name, const struct reencode_options *options,
    const struct reencode_result *result, struct tz_error *err)
{
	char *text = reencode_json(name, options, result);

	if (text == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	puts(text);
	free(text);
	return 0;
}

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

int
reencode_one(const char *name, const uint8_t *bytes, uint64_t count,
    struct memory_image *memory_image, const struct reencode_options *options,
    bool json, struct tz_error *err)
{
	struct reencode_result *result = malloc(sizeof(*result));
	int code;

	if (result == NULL) {
		(void)tz_error(err, TZ_EIO, "out of memory");
		return cmd_fail(err);
	}
	if (!json)
		printf("%s: %llu bytes, profile %s, compared: %s\n", name,
		    (unsigned long long)count, options->profile->name,
		    compare_form_name(options->form));
	if (reencode_trace(bytes, count, memory_image, options, result, err) !=
	    0) {
		free(result);
		return cmd_fail(err);
	}
	code = exit_code(result);
	if (!json)
		reencode_print(result, bytes, stdout);
	else if (print_json(name, options, result, err) != 0)
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
