/*
 * topaz new: makes a new driver's folder.
 */
#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/cmd/cmd.h"
#include "harness/load/paths.h"
#include "harness/scaffold.h"

struct new_input {
	const char *name; /* NULL: not given */
	const char *dir;
};

static const struct argp_option new_argp_options[] = {
	{ "output", 'o', "DIR", 0, "Make the folder NAME in DIR (.)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct new_input *input = state->input;

	switch (key) {
	case 'o':
		input->dir = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (input->name != NULL)
			argp_error(state, "one name at a time: %s", arg);
		input->name = arg;
		return 0;
	case ARGP_KEY_END:
		if (input->name == NULL)
			argp_error(state, "no NAME");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Prints the command lines for the next steps. */
static int
print_next(const struct new_input *input, struct tz_error *err)
{
	const char *const words[] = { "explore", input->name, "--drivers",
		input->dir };
	char line[2 * PATH_MAX];
	int error = cmd_quote((int)TZ_ARRAY_LEN(words),
	    (char *const *)(uintptr_t)words, line, sizeof(line), err);

	if (error != 0)
		return error;
	printf("%s/%s: a driver, its manifest, a test and a README\n"
	       "next: %s\n",
	    input->dir, input->name, line);
	return 0;
}

const struct argp cmd_new_argp = { new_argp_options, parse_one, "NAME",
	"Makes a folder NAME with a small, working Intel PT driver to "
	"start from: its source on the native kernel interface, "
	"driver.yaml with operations and scenarios, a test for CI and a "
	"README.  Existing files are not overwritten.",
	NULL, NULL, NULL };

int
cmd_new(int argc, char **argv)
{
	struct new_input input = { .dir = "." };
	char sample[PATH_MAX];
	struct paths paths;
	struct tz_error err;
	int error;

	cmd_parse(&cmd_new_argp, argc, argv, &input);
	error = paths_find(&paths, &err);
	if (error == 0 &&
	    snprintf(sample, sizeof(sample), "%s/sample", paths.drivers) >=
		(int)sizeof(sample))
		error = tz_error(
		    &err, TZ_EIO, "%s: path too long", paths.drivers);
	if (error == 0)
		error = scaffold_driver(sample, input.dir, input.name, &err);
	if (error == 0)
		error = print_next(&input, &err);
	paths_free(&paths);
	return error != 0 ? cmd_fail(&err) : CMD_OK;
}
