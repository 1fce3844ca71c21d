/*
 * What commands share at both ends: options, numbers, errors for invalid values, quoting
 * of the whole line for a shell; messages and JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/cmd/cmd.h"
#include "harness/host/shell.h"

void
cmd_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	char name[32];
	error_t error;

	snprintf(name, sizeof(name), "topaz %s", argv[0]);
	argv[0] = name;
	argp_err_exit_status = CMD_USAGE;
	error = argp_parse(argp, argc, argv, 0, NULL, input);
	if (error != 0) {
		fprintf(stderr, "%s: %s\n", name, strerror(error));
		exit(CMD_USAGE);
	}
}

int
cmd_fail(const struct tz_error *err)
{
	fprintf(stderr, "topaz: %s\n", err->text);
	return CMD_USAGE;
}

int
cmd_fail_of(int error, const struct tz_error *err)
{
	int code = cmd_fail(err);

	if (error == -TZ_ESTOP)
		return CMD_BUDGET;
	return error == -TZ_EBUG ? CMD_BUG : code;
}

static void
print_json(json_t *json, size_t layout)
{
	json_dumpf(json, stdout, JSON_SORT_KEYS | layout);
	putchar('\n');
	json_decref(json);
}

void
cmd_print_json(json_t *json)
{
	print_json(json, JSON_INDENT(2));
}

void
cmd_print_json_line(json_t *json)
{
	print_json(json, JSON_COMPACT);
}

enum cmd_progress
cmd_progress(const char *text)
{
	static const char *const names[] = {
		[CMD_PROGRESS_AUTO] = "auto",
		[CMD_PROGRESS_BAR] = "bar",
		[CMD_PROGRESS_LINES] = "lines",
		[CMD_PROGRESS_NONE] = "none",
	};

	for (unsigned i = 0; i < TZ_ARRAY_LEN(names); i++)
		if (strcmp(text, names[i]) == 0)
			return (enum cmd_progress)i;
	cmd_bad_value("progress", text, "auto, bar, lines or none");
}

bool
cmd_cost_model(const char *text)
{
	bool model = strcmp(text, "model") == 0;

	if (!model && strcmp(text, "1") != 0)
		cmd_bad_value("cost", text, "1 or model");
	return model;
}

void
cmd_bad_value(const char *option, const char *value, const char *want)
{
	fprintf(stderr, "topaz: --%s %s: %s\n", option, value, want);
	exit(CMD_USAGE);
}

uint64_t
cmd_number(const char *option, const char *text, unsigned kilo)
{
	uint64_t unit = 1;
	uintmax_t value;
	char *end;

	errno = 0;
	value = strtoumax(text, &end, 0);
	if (*end == 'K' || *end == 'k')
		unit = kilo;
	else if (*end == 'M' || *end == 'm')
		unit = (uint64_t)kilo * kilo;
	else if (*end == 'G' || *end == 'g')
		unit = (uint64_t)kilo * kilo * kilo;
	if (unit != 1)
		end++;
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-' ||
	    value > UINT64_MAX / unit)
		cmd_bad_value(option, text, "not a number");
	return value * unit;
}

int
cmd_quote(int argc, char *const *argv, char *text, size_t text_size,
    struct tz_error *err)
{
	char *line = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&line, &bytes);
	bool fits;

	if (file == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	fputs("topaz", file);
	for (int i = 0; i < argc; i++)
		shell_put_word(file, argv[i]);
	if (fclose(file) != 0) {
		free(line);
		return tz_error(err, TZ_EIO, "out of memory");
	}
	fits = bytes < text_size;
	if (fits)
		memcpy(text, line, bytes + 1);
	free(line);
	if (!fits)
		return tz_error(err, TZ_EUSAGE,
		    "the command is too long to be stored with the findings: "
		    "%zu bytes, not %zu",
		    bytes, text_size - 1);
	return 0;
}
