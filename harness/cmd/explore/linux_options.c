#include "harness/cmd/explore/linux_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/boot/image/kernel_package.h"
#include "harness/cmd/cmd.h"

#define PROFILE "icelake"

enum { OPT_KERNEL = 0x300, OPT_RUN, OPT_PACKAGES, OPT_PATCH };

static const struct argp_option linux_options[] = {
	{ "kernel", OPT_KERNEL, "FILE", 0,
	    "The kernel: a bzImage, a vmlinux, or a .deb or .rpm with "
	    "one " KERNEL_PACKAGE_HELP,
	    0 },
	{ "run", OPT_RUN, "SCRIPT", 0,
	    "The scenario: a shell script that records with intel_pt (perf "
	    "with an AUX buffer of 16 KiB)",
	    0 },
	{ "packages", OPT_PACKAGES, "DIR", 0,
	    "Take busybox, perf and shared objects from packages unpacked in "
	    "DIR, and only then from this host",
	    0 },
	/* For tests: a mistake that the kernel does not have. */
	{ "patch", OPT_PATCH, "FUNCTION=OLD:NEW", OPTION_HIDDEN,
	    "Change the bytes of a function at the mark", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/*
 * Hexadecimal digits to BYTES, ".." to a bit in ANY; returns how many bytes, 0: bad.
 */
static uint32_t
parse_bytes(const char *text, size_t length, uint8_t bytes[LINUX_PATCH_BYTES],
    uint32_t *any)
{
	if (length == 0 || length % 2 != 0 || length > 2 * LINUX_PATCH_BYTES)
		return 0;
	for (size_t i = 0; i < length / 2; i++) {
		unsigned value = 0;

		if (strncmp(text + 2 * i, "..", 2) == 0)
			*any |= UINT32_C(1) << i;
		else if (sscanf(text + 2 * i, "%2x", &value) != 1)
			return 0;
		bytes[i] = (uint8_t)value;
	}
	return (uint32_t)(length / 2);
}

static void
parse_patch(struct linux_input *input, const char *text)
{
	struct linux_patch *patch = &input->patch[input->patches];
	const char *equals = strchr(text, '=');
	const char *colon = equals != NULL ? strchr(equals, ':') : NULL;
	uint32_t any = 0;

	if (input->patches == LINUX_PATCHES_MAX)
		cmd_bad_value("patch", text, "too many patches");
	if (colon == NULL || sscanf(text, "%63[^=]", patch->function) != 1)
		cmd_bad_value("patch", text, "not FUNCTION=OLD:NEW");
	patch->count = parse_bytes(
	    equals + 1, (size_t)(colon - equals - 1), patch->old, &patch->any);
	if (patch->count == 0 ||
	    parse_bytes(colon + 1, strlen(colon + 1), patch->with, &any) !=
		patch->count ||
	    any != patch->any)
		cmd_bad_value("patch", text,
		    "OLD and NEW are as many bytes, 1 to 24, in hexadecimal or "
		    "..");
	input->patches++;
}

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct linux_input *input = state->input;

	switch (key) {
	case OPT_KERNEL:
		input->kernel = arg;
		break;
	case OPT_RUN:
		input->script = arg;
		break;
	case OPT_PACKAGES:
		input->packages = arg;
		break;
	case OPT_PATCH:
		parse_patch(input, arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	input->given = true;
	return 0;
}

const struct argp linux_argp = { linux_options, parse_one, NULL, NULL, NULL,
	NULL, NULL };

int
linux_input_open(struct linux_input *input,
    const struct linux_run_options *options, struct linux_run **run,
    struct tz_error *err)
{
	int error = linux_run_open(options, run, err);

	if (error == 0 && input->patches != 0)
		error = linux_run_patch(
		    *run, input->patch, input->patches, err);
	return error;
}

int
linux_input_read(struct linux_input *input, const char *profile,
    const char *errata, struct linux_run_options *options, struct tz_error *err)
{
	int error = 0;

	if (input->kernel == NULL) {
		error = kernel_package_find(input->found, err);
		input->kernel = input->found;
	}
	*options = (struct linux_run_options){ .scenario = input->script,
		.guest = { .kernel = input->kernel,
		    .packages = input->packages,
		    .profile = profile != NULL ? profile : PROFILE,
		    .errata = errata,
		    .cpu_count = 1,
		    .memory_bytes = LINUX_GUEST_MEMORY } };
	return error;
}
