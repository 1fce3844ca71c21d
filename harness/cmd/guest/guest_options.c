#include "harness/cmd/guest/guest_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/cmd.h"

#define LIMIT_DEFAULT UINT64_C(50000000000)
#define PROFILE       "icelake"

enum {
	OPT_PUT = 0x400,
	OPT_APPEND,
	OPT_PACKAGES,
	OPT_CPUS,
	OPT_MEMORY,
	OPT_PROFILE,
	OPT_ERRATA,
	OPT_COST,
	OPT_LIMIT,
};

static const struct argp_option guest_rows[] = {
	{ "put", OPT_PUT, "FILE[:DEST]", 0,
	    "Copy FILE and the shared objects that it needs into the guest, to "
	    "DEST (/NAME)",
	    0 },
	{ "append", OPT_APPEND, "TEXT", 0,
	    "Append TEXT to the kernel's command line", 0 },
	{ "packages", OPT_PACKAGES, "DIR", 0,
	    "Take busybox, perf and shared objects from packages unpacked in "
	    "DIR, and only then from this host",
	    0 },
	{ "cpus", OPT_CPUS, "N", 0, "CPUs (1)", 0 },
	{ "memory", OPT_MEMORY, "SIZE", 0, "RAM (512M)", 0 },
	{ "profile", OPT_PROFILE, "LIST", 0, CMD_PROFILE_HELP " (" PROFILE ")",
	    0 },
	{ "errata", OPT_ERRATA, "LIST", 0, CMD_ERRATA_HELP, 0 },
	{ "cost", OPT_COST, "1|model", 0, CMD_COST_HELP, 0 },
	{ "limit", OPT_LIMIT, "N", 0,
	    "Limit of instructions after boot (50000M)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

struct guest_options
guest_options_defaults(void)
{
	return (struct guest_options){ .guest = { .cpu_count = 1,
					   .memory_bytes = LINUX_GUEST_MEMORY,
					   .profile = PROFILE,
					   .cost = true,
					   .insns_max = LIMIT_DEFAULT } };
}

void
guest_options_free(struct guest_options *options)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(options->put_text); i++)
		free(options->put_text[i]);
}

/* "FILE[:DEST]" */
static void
parse_put(struct guest_options *options, const char *text)
{
	struct linux_guest_options *guest = &options->guest;
	const char *colon = strrchr(text, ':');
	size_t count = colon != NULL ? (size_t)(colon - text) : strlen(text);
	const char *name;
	char *copy;

	if (guest->put_count == LINUX_GUEST_FILES_MAX)
		cmd_bad_value("put", text, "too many files: 32 are possible");
	if (count == 0 ||
	    (colon != NULL && (colon[1] != '/' || colon[2] == '\0')))
		cmd_bad_value("put", text, "FILE or FILE:/DEST");
	copy = malloc(2 * count + 3);
	if (copy == NULL)
		cmd_bad_value("put", text, "out of memory");
	sprintf(copy, "%.*s", (int)count, text);
	name = strrchr(copy, '/');
	sprintf(copy + count + 1, "/%s", name != NULL ? name + 1 : copy);
	options->put_text[guest->put_count] = copy;
	guest->put[guest->put_count++] = (struct linux_guest_file){ copy,
		colon != NULL ? colon + 1 : copy + count + 1 };
}

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct guest_options *options = state->input;
	struct linux_guest_options *guest = &options->guest;
	uint64_t value;

	switch (key) {
	case OPT_PUT:
		parse_put(options, arg);
		return 0;
	case OPT_APPEND:
		guest->append = arg;
		return 0;
	case OPT_PACKAGES:
		guest->packages = arg;
		return 0;
	case OPT_CPUS:
		value = cmd_number("cpus", arg, CMD_THINGS);
		guest->cpu_count = value > UINT32_MAX ? UINT32_MAX
						      : (unsigned)value;
		return 0;
	case OPT_MEMORY:
		guest->memory_bytes = cmd_number("memory", arg, CMD_BYTES);
		return 0;
	case OPT_PROFILE:
		guest->profile = arg;
		return 0;
	case OPT_ERRATA:
		guest->errata = arg;
		return 0;
	case OPT_COST:
		guest->cost = cmd_cost_model(arg);
		return 0;
	case OPT_LIMIT:
		guest->insns_max = cmd_number("limit", arg, CMD_THINGS);
		options->limited = true;
		if (guest->insns_max == 0)
			cmd_bad_value("limit", arg, "at least 1");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp guest_options_argp = { guest_rows, parse_one, NULL,
	NULL, NULL, NULL, NULL };

const struct argp_child guest_options_children[] = {
	{ &guest_options_argp, 0, NULL, 0 }, { NULL, 0, NULL, 0 }
};
