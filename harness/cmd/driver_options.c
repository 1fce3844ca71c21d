#include "harness/cmd/driver_options.h"

#include "harness/cmd/cmd.h"
#include "harness/load/build.h"

enum { OPT_SOURCE = 256, OPT_TREE, OPT_CC, OPT_CC_SECONDS, OPT_DRIVERS };

static const struct argp_option options[] = {
	{ "source", OPT_SOURCE, "FILE", 0,
	    "The driver's source, compiled unmodified", 0 },
	{ "freebsd-tree", OPT_TREE, "DIR", 0,
	    "A FreeBSD source tree: its hwt and pt files replace topaz's", 0 },
	{ "cc", OPT_CC, "COMPILER", 0, "Compiler of the driver (gcc)", 0 },
	{ "cc-seconds", OPT_CC_SECONDS, "N", 0,
	    "Processor time that the compiler may use for one source (5)", 0 },
	{ "drivers", OPT_DRIVERS, "DIR", 0,
	    "Look for the driver in DIR: DIR/DRIVER/driver.yaml", 0 },
	{ "verbose", 'v', NULL, 0, "Guest console to standard error", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct driver_input *input = state->input;
	uint64_t seconds;

	switch (key) {
	case OPT_SOURCE:
		input->source = arg;
		return 0;
	case OPT_TREE:
		input->tree = arg;
		return 0;
	case OPT_CC:
		input->cc = arg;
		return 0;
	case OPT_CC_SECONDS:
		seconds = cmd_number("cc-seconds", arg, CMD_THINGS);
		if (seconds < 1 || seconds > BUILD_SECONDS_MAX)
			cmd_bad_value("cc-seconds", arg, "1 to 3600");
		input->cc_seconds = (unsigned)seconds;
		return 0;
	case OPT_DRIVERS:
		input->drivers = arg;
		return 0;
	case 'v':
		input->verbose = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp driver_argp = { options, parse_one, NULL, NULL, NULL, NULL,
	NULL };
