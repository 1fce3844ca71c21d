/*
 * Where topaz finds its own files: the list topaz.files, which is beside the executable
 * in a build folder and under share/topaz after installation.  No environment variable
 * overrides it.
 *
 * Its lines: "source DIR" (holds harness/kpi/ and driver/), "kernel OS FILE"
 * (the guest kernel with that OS's interface), "program NAME FILE" and "tool NAME
 * FILE" (a program of the host).  A path that does not start with a slash is relative to
 * the list.
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
 * -TZ_ENOENT: no list; -TZ_EFORMAT: a line of the list is none of the above; -TZ_EIO: no
 * memory.  The caller frees PATHS also after an error.
 */
int paths_find(struct paths *paths, struct tz_error *err);

/* The guest kernel for OS, or NULL. */
const char *paths_kernel(const struct paths *paths, const char *os);
/* The path of the tool NAME; NULL: this topaz was built without it. */
const char *paths_tool(const struct paths *paths, const char *name);
void paths_free(struct paths *paths);

#endif
