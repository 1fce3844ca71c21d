/*
 * Where topaz finds its own files: the list topaz.files, which stands beside
 * the executable in a build folder and under share/topaz once installed.  No
 * environment variable says otherwise.
 *
 * Its lines: "source DIR" (holds harness/kpi/ and driver/), "kernel OS FILE"
 * (the guest kernel with that OS's interface), "program NAME FILE" and "tool NAME
 * FILE" (a program of the host); relative to the list where they do not start with a
 * slash.
 */
#ifndef TOPAZ_HARNESS_LOAD_PATHS_H
#define TOPAZ_HARNESS_LOAD_PATHS_H

#include "harness/load/boot.h"

#define PATHS_KERNELS_MAX  8
#define PATHS_PROGRAMS_MAX 32
#define PATHS_TOOLS_MAX    4

struct paths {
	char *source;
	char *drivers; /* folder that holds NAME/driver.yaml: source/driver */
	struct boot_part kernel[PATHS_KERNELS_MAX]; /* named by OS */
	size_t kernel_count;
	struct boot_part program[PATHS_PROGRAMS_MAX];
	size_t program_count;
	struct boot_part tool[PATHS_TOOLS_MAX];
	size_t tool_count;
};

/*
 * -TZ_ENOENT: there is no list; -TZ_EFORMAT: a line of it is none of the above;
 * -TZ_EIO: no memory.  To be freed also after an error.
 */
int paths_find(struct paths *paths, struct tz_error *err);

/* The kernel for that OS, or NULL. */
const char *paths_kernel(const struct paths *paths, const char *os);
/* That tool, or NULL: it is not a part of this topaz. */
const char *paths_tool(const struct paths *paths, const char *name);
void paths_free(struct paths *paths);

#endif
