/*
 * The options of explore and replay for the driver linux-pt: a booted kernel.
 */
#ifndef TOPAZ_HARNESS_CMD_EXPLORE_LINUX_OPTIONS_H
#define TOPAZ_HARNESS_CMD_EXPLORE_LINUX_OPTIONS_H

#include <argp.h>

#include "harness/explore/linux/linux_run.h"
#include "harness/host/folder/tree.h"

#define LINUX_PATCHES_MAX 8

struct linux_input {
	const char *kernel, *script, *packages; /* or NULL */
	struct linux_patch patch[LINUX_PATCHES_MAX];
	unsigned patches;
	bool given; /* one of the options was */
	char found[TREE_PATH_BYTES];
};

/* Child of a command's argp; its input is a struct linux_input. */
extern const struct argp linux_argp;
#define LINUX_OPTIONS_HELP "Only for linux-pt, a booted kernel:"

/*
 * The options of a run.  PROFILE and ERRATA: of emu/profile/cpu_set.h, or NULL.  Without
 * --kernel, the newest Debian package in the cache.  -TZ_ENOENT: there is none.
 */
int linux_input_read(struct linux_input *input, const char *profile,
    const char *errata, struct linux_run_options *options,
    struct tz_error *err);

/* linux_run_open(), with the patches of INPUT.  *RUN must be closed also after an error. */
int linux_input_open(struct linux_input *input,
    const struct linux_run_options *options, struct linux_run **run,
    struct tz_error *err);

#endif
